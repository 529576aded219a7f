// `postern status`: whether all is well, in ten lines: the gateways of the database, who is online,
// and what is wrong. What the doctor looks for on the host and in the network is left to the
// doctor.

import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  currentRevision,
  type Database,
  listGateways,
  readDevices,
  readFleetStatus,
  readUsers,
  searchIds,
} from '../../models/index.ts';
import { failed, type Finding } from '../installation/doctor/finding.ts';
import { rows as findingsOfRows } from '../installation/doctor/rows.ts';
import { readiness } from '../installation/doctor/serving.ts';
import type { Config } from '../../config/index.ts';
import { commandLine } from '../kit/process/command-line.ts';
import { localSocketPath } from '../kit/process/local-socket-path.ts';
import type { ShownGateway } from '../kit/records/fields.ts';
import { showGateway, stateOf } from '../kit/records/gateways.ts';
import type { Readiness } from '../observe/gateway-state.ts';
import { serviceRules } from '../observe/service-rules.ts';
import { askSocket } from './ask-socket.ts';
import type { CommandName } from './grammar.ts';
import type { Command, Given, Outcome, Run } from './run.ts';
import { listed } from './screen.ts';

/** With the line of labels and that of devices. */
const LINES_MAX = 10;
/** Lines of gateways, if there are problems for the others. */
const GATEWAY_LINES = 4;
const GATEWAYS_READ = 10_000;
/** Devices that are named. */
const NAMED = 10;
/** A gateway looks for changes each second, and says then what it obeys. */
const LOOK_AGAIN_MS = 2_500;
/** A gateway that hangs is no reason to wait for long. */
const ANSWER_MS = 5_000;

/** The command. */
export const statusCommands: Partial<Record<CommandName, Run>> = { status };

async function status({ config, database, rooms }: Given, _command: Command): Promise<Outcome> {
  const context = await (await rooms()).context();
  const { recall, services } = context;
  const rules = { configuration: await recall.configuration(), config: services.config };
  const gateways = await gatewaysAtRest(database);
  const problems = [
    ...gatewayProblems(gateways),
    ...(await problemsHere(config, services.config)),
    ...(await findingsOfRows(database, services.config)),
  ]
    .filter(({ level }) => level !== 'ok')
    .toSorted((a, b) => Number(b.level === 'failed') - Number(a.level === 'failed'));
  const service = serviceRules(rules);
  const fleet = await readFleetStatus(database, service);
  const latest = await latestOnline(database, service);
  const isWell = problems.every(({ level }) => level !== 'failed');
  const devices = { all: fleet.devices, online: fleet.online };
  const lines = [
    ...shortened(gateways.map(gatewayLine), GATEWAY_LINES, (more) => [
      'gateway',
      '',
      `${more} more: ${commandLine('gateway list')}`,
    ]),
    ['devices', `${devices.online} of ${devices.all} online`, namesIn(latest, devices.online)],
  ];
  lines.push(
    ...shortened(problems.map(problemLine), LINES_MAX - 1 - lines.length, (more) => [
      'problem',
      '',
      `${more} more: ${commandLine('doctor')}`,
    ]),
  );
  if (problems.length === 0) lines.push(['problems', 'none', '']);
  return {
    ...listed(
      [
        ['what', 'fixed'],
        ['state', 'state'],
        ['which', 'text'],
      ],
      lines,
    ),
    data: { well: isWell, gateways, devices, online: latest, problems },
    ...(isWell ? {} : { isBad: true }),
  };
}

/** A gateway, its state and, of one that stopped, since when. */
interface GatewayStatus extends Pick<ShownGateway, 'id' | 'name' | 'seen_at'> {
  readonly state: ReturnType<typeof stateOf>;
}

/** Those that run first. One that is about to obey the last write is waited for. */
async function gatewaysAtRest(database: Database): Promise<GatewayStatus[]> {
  const found = await readGateways(database);
  if (found.every(({ state }) => state !== 'behind')) return found;
  await sleep(LOOK_AGAIN_MS);
  return readGateways(database);
}

async function readGateways(database: Database): Promise<GatewayStatus[]> {
  const revision = await currentRevision(database);
  const found = await listGateways(database, { afterId: null, limit: GATEWAYS_READ });
  const seen = { revision, nowMs: Date.now(), here: null };
  const all = found.map((row) => {
    const shown = showGateway(row, seen);
    const { id, name, seen_at } = shown;
    return { id, name, state: stateOf(shown), seen_at };
  });
  const rank = { behind: 0, 'up to date': 1, stopped: 2 };
  return all.toSorted((a, b) => rank[a.state] - rank[b.state]);
}

function gatewayProblems(gateways: readonly GatewayStatus[]): Finding[] {
  const check = 'gateway';
  const behind = gateways.filter(({ state }) => state === 'behind');
  if (gateways.every(({ state }) => state === 'stopped'))
    return [failed(check, 'no gateway runs on this database', 'start one')];
  return behind.map(({ name }) =>
    failed(
      check,
      `${name} does not obey the last writes yet`,
      'its log says why; look whether it reaches the database',
    ),
  );
}

/** What the gateway of this host says of itself; nothing where none runs here. */
async function problemsHere(own: Config, config: Config): Promise<Finding[]> {
  const path = localSocketPath(own);
  if (!existsSync(path)) return [];
  try {
    const question = { method: 'GET', path: '/readyz' } as const;
    const answer = await askSocket(path, question, AbortSignal.timeout(ANSWER_MS));
    return readiness(JSON.parse(await text(answer)) as Readiness, config);
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException;
    // A gateway that was killed leaves its socket.
    if (code === 'ECONNREFUSED' || code === 'ENOENT') return [];
    const said = name === 'TimeoutError' ? `for ${ANSWER_MS / 1_000} s` : `(${code ?? name})`;
    return [
      failed(
        'gateway',
        `the gateway here does not answer ${said} at ${path}`,
        'look at its log, and whether this account may open the socket',
      ),
    ];
  }
}

/** A device that is online. */
interface OnlineDevice {
  readonly id: string;
  readonly owner: string;
  readonly name: string;
  readonly latest_handshake: string | null;
}

/** Those whose handshake is the latest. */
async function latestOnline(
  database: Database,
  service: ReturnType<typeof serviceRules>,
): Promise<OnlineDevice[]> {
  const wish = { text: '', state: 'online', order: 'handshake', isDescending: true };
  const ids = await searchIds(database, 'devices', { ...wish, service, offset: 0, limit: NAMED });
  const devices = await readDevices(database, { ids });
  const owners = await readUsers(database, { ids: devices.map(({ user_id: id }) => id) });
  const emails = new Map(owners.map(({ id, email }) => [id, email]));
  return ids.flatMap((id) => {
    const device = devices.find((one) => one.id === id);
    if (device === undefined) return [];
    const { name, user_id, latest_handshake } = device;
    const owner = emails.get(user_id) ?? '';
    return [{ id, owner, name, latest_handshake: latest_handshake?.toISOString() ?? null }];
  });
}

function gatewayLine({ name, state, seen_at }: GatewayStatus): string[] {
  return ['gateway', state, state === 'stopped' ? `${name}, seen last at ${seen_at}` : name];
}

function namesIn(latest: readonly OnlineDevice[], online: number): string {
  const names = latest.map(({ owner, name }) => `${owner}/${name}`).join(', ');
  return online > latest.length && names !== '' ? `${names}, …` : names;
}

function problemLine({ level, check, message }: Finding): string[] {
  return ['problem', level, `${check}: ${message}`];
}

/** So many lines at most; the last one says how many more there are. */
function shortened(
  lines: readonly string[][],
  most: number,
  moreLine: (more: number) => string[],
): string[][] {
  if (lines.length <= most) return [...lines];
  return [...lines.slice(0, most - 1), moreLine(lines.length - most + 1)];
}
