// Says why a device cannot connect, or that all is well: exactly one finding, what to do next, and
// the facts behind the finding. Rows are asked first; then the gateway of this process says what it
// remembers.

import type {
  Ask,
  Attempt,
  InsideSeen,
  UnknownSender,
  UnknownSenders,
} from '../../../dataplane/index.ts';
import {
  type Database,
  type Device,
  readConnections,
  readUsers,
  type UserRow,
} from '../../../models/index.ts';
import { barOf } from '../../domain/devices/bars.ts';
import type { SessionRules } from '../../domain/devices/vpn-session.ts';
import { readLastSeen, readOthersRunning } from '../whereabouts.ts';
import { readQuotaState } from '../../reconcile/quota-state.ts';
import type { EffectiveConfiguration } from '../../kit/records/effective-configuration.ts';
import { showTime, showTimeOrNull } from '../../kit/records/shown.ts';
import type { Diagnosis, ShownAttempt, ShownInside, ShownSender } from './fields.ts';
import { findingOf, type Found, latelyUnknown, type Stranger } from './finding.ts';
import { advice, type FindingCode, findingText, offByOwner, timeOf } from './words.ts';

/** What the gateway of this process remembers. */
export interface DiagnosingGateway {
  /** The id of the gateway. */
  readonly id: string;
  readonly ask: Ask;
  /** How long a device has been connected to it, in ms; null: it is not. */
  readonly connectedForMs: (publicKey: string) => number | null;
}

/** What a diagnosis is made from. */
export interface DiagnosedFrom extends SessionRules {
  readonly database: Database;
  readonly gateway: DiagnosingGateway;
  readonly configuration: SessionRules['configuration'] &
    Pick<EffectiveConfiguration, 'default_quota'>;
}

/** What is asked of the row of a device. */
export type Diagnosed = Pick<
  Device,
  'id' | 'public_key' | 'user_id' | 'disabled_at' | 'disabled_by' | 'expires_at'
>;

/** Unknown senders are shown beside a device that does not connect for so long. */
const STRANGERS_MS = 10 * 60_000;
const STRANGERS = 5;
/** Findings of devices that are not heard; then unknown senders may be theirs. */
const UNHEARD: readonly FindingCode[] = [
  'nothing_arrived',
  'key_not_registered',
  'other_gateway_key',
];

/** Says what is wrong with a device at the gateway of this process. */
export async function diagnose(
  from: DiagnosedFrom,
  device: Diagnosed,
  nowMs: number = Date.now(),
): Promise<Diagnosis> {
  const { database, gateway } = from;
  const [[owner], trace] = await Promise.all([
    readUsers(database, { ids: [device.user_id] }),
    gateway.ask('diagnose', device.public_key),
  ]);
  const bar = barOf(from, device, owner);
  const strangers = await gateway.ask('unknownSenders');
  const owners = await devicesOfKeys(database, strangers);
  // The key of another device, which is not served, is not the key of this one.
  const nobodys = {
    ...strangers,
    keys: strangers.keys.filter((one) => !owners.has(one.publicKey)),
  };
  const found: Found =
    bar !== null
      ? { code: bar }
      : trace === null
        ? { code: 'not_served' }
        : findingOf({
            nowMs,
            gatewayId: gateway.id,
            trace,
            seen: await readLastSeen(database, device.id, nowMs),
            connections: await readConnections(database, device.id, 3),
            hasOthers: (await readOthersRunning(database, gateway.id, nowMs)).length > 0,
            strangers: nobodys,
            isOverQuota: await isOverQuota(from, owner, nowMs),
          });
  const connectedForMs = gateway.connectedForMs(device.public_key);
  return {
    code: found.code,
    ...(found.code === 'device_off' && device.disabled_by === 'owner'
      ? offByOwner
      : { text: findingText(found), advice: advice[found.code] }),
    connected_since: connectedForMs === null ? null : showTime(new Date(nowMs - connectedForMs)),
    attempts: trace === null ? [] : trace.attempts.map(showAttempt).toReversed(),
    inside: trace === null ? null : showInside(trace.inside),
    unknown_senders: UNHEARD.includes(found.code)
      ? latelyUnknown(strangers, nowMs - STRANGERS_MS)
          .slice(0, STRANGERS)
          .map((one) => showSender(one, owners))
      : [],
    connected_gateway_id: found.code === 'elsewhere' ? found.gatewayId : null,
    gateway_id: gateway.id,
  };
}

/** By public key: the devices that have keys of unknown senders, because they are not served. */
export async function devicesOfKeys(
  database: Database,
  { keys }: UnknownSenders,
): Promise<ReadonlyMap<string, string>> {
  if (keys.length === 0) return new Map();
  const rows = await database.models.Device.findAll({
    attributes: ['id', 'public_key'],
    where: { public_key: keys.map(({ publicKey }) => publicKey) },
  });
  return new Map(rows.map(({ id, public_key }) => [public_key, id]));
}

async function isOverQuota(
  { database, configuration }: DiagnosedFrom,
  owner: UserRow | undefined,
  nowMs: number,
): Promise<boolean> {
  if (owner === undefined) return false;
  return (await readQuotaState(database, owner, configuration, nowMs)).isUsedUp;
}

// ---- what is shown -------------------------------------------------------------------------

function showAttempt(attempt: Attempt): ShownAttempt {
  const { kind, reason, endpoint, count, confirmedAtMs } = attempt;
  return {
    outcome: outcomeOf(attempt),
    begun_by: kind === 'initiated' || reason === 'response_invalid' ? 'gateway' : 'device',
    reason,
    remote_ip: endpoint?.address ?? null,
    remote_port: endpoint?.port ?? null,
    count,
    first_at: showTime(new Date(attempt.firstAtMs)),
    last_at: showTime(new Date(attempt.lastAtMs)),
    confirmed_at: showMs(confirmedAtMs),
    dated_at: showMs(attempt.datedMs),
    latest_dated_at: showMs(attempt.latestDatedMs),
  };
}

function outcomeOf({ kind, confirmedAtMs }: Attempt): ShownAttempt['outcome'] {
  if (kind === 'refused') return 'refused';
  if (confirmedAtMs !== null) return 'confirmed';
  return kind === 'initiated' ? 'no_answer' : 'unconfirmed';
}

function showInside({ sinceMs, passedAtMs, largest, ...seen }: InsideSeen): ShownInside {
  const { refused, wrongSource, tooBig } = seen;
  return {
    since: showTime(new Date(sinceMs)),
    passed_at: showMs(passedAtMs),
    largest,
    refused_reason: refused?.reason ?? null,
    refused_at: showMs(refused?.atMs ?? null),
    wrong_source: wrongSource?.address ?? null,
    wrong_source_count: wrongSource?.count ?? 0,
    wrong_source_at: showMs(wrongSource?.atMs ?? null),
    too_big_bytes: tooBig?.bytes ?? null,
    too_big_count: tooBig?.count ?? 0,
    too_big_at: showMs(tooBig?.atMs ?? null),
  };
}

/** An unknown sender, as it is shown; `owners`: the devices that have keys of such senders. */
export function showSender(
  sender: Stranger | UnknownSender,
  owners: ReadonlyMap<string, string>,
): ShownSender {
  const { endpoint, count, firstAtMs, lastAtMs } = sender;
  const key = 'publicKey' in sender ? sender.publicKey : null;
  return {
    public_key: key,
    device_id: key === null ? null : (owners.get(key) ?? null),
    remote_ip: endpoint.address,
    remote_port: endpoint.port,
    count,
    first_at: showTime(new Date(firstAtMs)),
    last_at: showTime(new Date(lastAtMs)),
  };
}

function showMs(ms: number | null): string | null {
  return showTimeOrNull(ms === null ? null : timeOf(ms));
}
