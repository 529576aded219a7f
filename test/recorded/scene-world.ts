// The world in which scenes of commands are recorded and replayed: a fresh database with the records
// of world.ts for each, a folder with files, and, where the scene says so, a gateway that runs.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { openSettings } from '../../config/index.ts';
import { openLocalSocket } from '../../lib/kit/http/local-socket.ts';
import { localSocketPath } from '../../lib/kit/process/local-socket-path.ts';
import { showEntry } from '../../lib/kit/records/audit.ts';
import {
  currentRevision,
  NO_REVISION,
  type Database,
  readAuditEntries,
  readOrCreateConfiguration,
  recordHeartbeat,
  registerGateway,
} from '../../models/index.ts';
import { configOf, serverOn } from '../support/api/server.ts';
import { openPlace, type TestDatabaseKind } from '../support/database/databases.ts';
import type { Ended } from '../support/gateway/obeyed-command.ts';
import { Bindings } from './placeholders.ts';
import { type Scene, type Typed, wordsOf } from './scene.ts';
import type { Transport } from './transports.ts';
import { fillIn, ids, openProviders, servicesOf, settingsOf } from './world.ts';

const FILES = join(import.meta.dirname, 'documents');
/** All addresses have one width, so that columns of tables have one too. */
const POOL = { WIREGUARD_IPV4_NETWORK: '100.64.0.0/29', WIREGUARD_IPV6_NETWORK: 'fd00::/125' };
const BEAT_MS = 30;
/** More than one line writes. */
const ENTRIES_READ = 500;

/** A test, or what ends things as one does. */
type Ending = Pick<ExecutionContext, 'teardown'>;

/** A scene that is about to be played. */
export interface OpenScene {
  readonly database: Database;
  /** What the environment of each line says. */
  readonly settings: Readonly<Record<string, string>>;
  /** Where files of the scene are. */
  readonly folder: string;
  /** What is special about it. */
  readonly world: Scene['world'];
  readonly ending: Ending;
}

/** What a line came to. */
export interface Result extends Ended {
  /** The entries of the audit trail that it wrote. */
  readonly audit: readonly string[];
}

/** One line of a scene, as it went now. */
export interface PlayedLine {
  readonly typed: Typed;
  readonly result: Result;
  /** How many entries of the audit trail name a request, because a gateway wrote them. */
  readonly ofRequests: number;
  readonly bindings: Bindings;
  readonly folder: string;
}

/** Whether a scene is the same on databases of a kind. */
export function isFor({ world }: Scene, kind: TestDatabaseKind): boolean {
  return (world['database'] ?? kind) === kind;
}

/** Runs the lines of a scene, each when the one before was looked at. */
export async function* playScene(
  scene: Scene,
  kind: TestDatabaseKind,
  transport: Transport,
): AsyncGenerator<PlayedLine> {
  const ends: (() => unknown)[] = [];
  const ending: Ending = { teardown: (end) => void ends.unshift(end) };
  try {
    const { open, bindings } = await openScene(ending, scene.world, kind);
    const run = await transport.open(open);
    const trail = new Trail(open.database);
    await trail.news();
    for (const typed of scene.typed) {
      const words = wordsOf(typed.line).map((word) => bindings.fill(word));
      if (words.shift() !== 'postern') throw new Error(`"${typed.line}" does not run postern`);
      const ended = await run(words, bindings.fill(typed.stdin));
      const { audit, ofRequests } = await trail.news();
      const result = { ...ended, audit };
      yield { typed, result, ofRequests, bindings, folder: open.folder };
    }
  } finally {
    for (const end of ends) await end();
  }
}

async function openScene(
  ending: Ending,
  world: Scene['world'],
  kind: TestDatabaseKind,
): Promise<{ open: OpenScene; bindings: Bindings }> {
  const t = ending as ExecutionContext;
  const folder = mkdtempSync(join(tmpdir(), 'postern-scene-'));
  ending.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const { database, place } = await openPlace(t, kind);
  const bindings = new Bindings();
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir, { mode: 0o700 });
  const key = `${place.encryptionKey.toString('base64')}\n`;
  writeFileSync(join(dataDir, 'encryption.key'), key, { mode: 0o600 });
  bindings.bind('folder', folder);
  bindings.bind('database', place.url);
  if (kind === 'sqlite') bindings.bind('database-folder', dirname(place.url.slice(7)));
  const { origin } = await openProviders(ending);
  bindings.bind('providers', origin);
  for (const file of readdirSync(FILES)) {
    const text = readFileSync(join(FILES, file), 'utf8');
    writeFileSync(join(folder, file), text.replaceAll('ORIGIN', origin));
  }
  await fillIn(database);
  // A gateway makes it at its first start; without one, the first command does that asks for it.
  if (world['configuration'] !== 'none') await readOrCreateConfiguration(database);
  const own = Object.entries(settingsOf(world)).map(([name, value]) => [
    name,
    bindings.fill(value),
  ]);
  const settings = {
    DATA_DIR: dataDir,
    DATABASE_URL: place.url,
    // With SQLite it is in the folder of data, where `keys rotate` can change it.
    ...(kind === 'sqlite' ? {} : { DATABASE_ENCRYPTION_KEY: key.trim() }),
    EXTERNAL_URL: 'https://vpn.example.com',
    ...POOL,
    ...(Object.fromEntries(own) as Record<string, string>),
  };
  const open = { database, settings, folder, world, ending };
  const { gateway = 'none' } = world;
  if (gateway !== 'none') await openGateway(ending, open, gateway);
  return { open, bindings };
}

/** A gateway at its socket; `obeys` says that all that is written is in force at once there. */
async function openGateway(
  ending: Ending,
  { database, settings, world }: OpenScene,
  does: string,
): Promise<void> {
  const config = configOf({ API_RATE_LIMIT: '0', ...settings });
  const served = servicesOf(world);
  const { server, services } = await serverOn(database, {}, { ...served, config });
  await server.initialize();
  const { log, counters } = services;
  const path = localSocketPath(config);
  ending.teardown(await openLocalSocket({ log, counters, path, server: server.listener }));
  await registerGateway(database, {
    id: ids.gateway,
    name: 'gateway-1',
    startedAt: new Date(),
    settings: JSON.stringify(openSettings(config)),
    publicKey: services.serverPublicKey,
  });
  // Its width is that of a column.
  const where = { id: ids.gateway };
  await database.models.Gateway.update({ schema_step: '0015-gateway-schema' }, { where });
  const beat = async (): Promise<void> => {
    const appliedRevision = does === 'obeys' ? await currentRevision(database) : NO_REVISION;
    await recordHeartbeat(database, ids.gateway, { seenAt: new Date(), appliedRevision });
  };
  await beat();
  let isOver = false;
  const beating = (async () => {
    while (!isOver) {
      await sleep(BEAT_MS);
      await beat();
    }
  })();
  ending.teardown(async () => {
    isOver = true;
    await beating;
  });
}

/** The audit trail, as it grows. */
class Trail {
  readonly #database: Database;
  readonly #known = new Set<string>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** The entries that came, without their ids, times and requests. */
  async news(): Promise<Pick<PlayedLine, 'ofRequests'> & Pick<Result, 'audit'>> {
    const entries = await readAuditEntries(this.#database, { limit: ENTRIES_READ });
    const fresh = entries.filter(({ id }) => !this.#known.has(id));
    for (const { id } of fresh) this.#known.add(id);
    const ofRequests = fresh.filter(({ request_id: id }) => id !== null).length;
    const audit = fresh.map((entry) => {
      const { actor, kind, action, record_id, changes, user_id, email, token_id, address } =
        showEntry(entry);
      const who = Object.entries({ user_id, email, token_id, address })
        .filter(([, value]) => value !== null)
        .map(([name, value]) => ` ${name}=${String(value)}`);
      return `${String(actor)}${who.join('')}: ${String(kind)} ${String(action)} ${String(record_id)} ${JSON.stringify(changes)}`;
    });
    return { audit, ofRequests };
  }
}
