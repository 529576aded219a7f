// Decides why a device cannot connect, or why nothing passes, by what gateways remember of it. It
// reads facts and decides by them alone. docs/api.md#why-a-device-cannot-connect lists the
// findings.

import type {
  Attempt,
  InsideSeen,
  Trace,
  UnknownKey,
  UnknownSender,
  UnknownSenders,
} from '../../../dataplane/index.ts';
import type { Connection } from '../../../models/index.ts';
import type { Bar } from '../../domain/devices/bars.ts';
import { ONLINE_MS } from '../presence.ts';
import { type Elsewhere, elsewhereOf, type LastSeen } from '../whereabouts.ts';

/** What a finding is made of. */
export interface Facts {
  readonly nowMs: number;
  readonly gatewayId: string;
  readonly trace: Trace;
  /** Null: no gateway saw it. */
  readonly seen: LastSeen | null;
  /** Its last three connections to any gateway, the latest first. */
  readonly connections: readonly SeenConnection[];
  /** Whether other gateways run. */
  readonly hasOthers: boolean;
  readonly strangers: UnknownSenders;
  /** Whether its owner has used up the quota, so that nothing passes. */
  readonly isOverQuota: boolean;
}

/** A connection to any gateway, as the rows say. */
export type SeenConnection = Pick<Connection, 'connectedAt' | 'reason' | 'remoteIp' | 'remotePort'>;

/** Somebody unknown who sent from the address of the device, or shortly ago. */
export type Stranger = UnknownSender | UnknownKey;

/** A finding, with the facts that it rests on. */
export type Found =
  | { readonly code: Bar }
  | ({ readonly code: 'elsewhere' } & Elsewhere)
  | { readonly code: 'key_used_twice'; readonly attempts: readonly Pick<Attempt, 'endpoint'>[] }
  | { readonly code: 'connected' | 'nothing_inside' | 'quota_exceeded' }
  | { readonly code: 'wrong_inner_address'; readonly wrong: Wrong }
  | { readonly code: 'inner_packets_too_big'; readonly tooBig: TooBig }
  | { readonly code: 'inner_packets_refused'; readonly refused: Refused }
  | { readonly code: FailedCode; readonly attempt: Attempt }
  | { readonly code: 'key_not_registered' | 'other_gateway_key'; readonly stranger: Stranger }
  | {
      readonly code: 'nothing_arrived';
      /** When the device was heard last; null: nobody knows. */
      readonly lastMs: number | null;
      /** The gateway begins handshakes with the device, and the device does not answer. */
      readonly initiated: Attempt | null;
      /** Null: there is no other gateway. */
      readonly away: Away | null;
    };

/** What is known of a device at other gateways, where nothing arrives here. */
export interface Away {
  /** The other gateway with which it made its latest handshake; null: there is none. */
  readonly last: Pick<LastSeen, 'gatewayName' | 'isRunning'> | null;
  /** Whether other gateways run. */
  readonly hasOthers: boolean;
}

type Wrong = NonNullable<InsideSeen['wrongSource']>;
type TooBig = NonNullable<InsideSeen['tooBig']>;
type Refused = NonNullable<InsideSeen['refused']>;
type FailedCode = 'dated_before' | 'not_confirmed' | 'under_way' | 'handshake_refused';

/** The longest time that a successful handshake takes. */
const UNDER_WAY_MS = 5_000;
/** Trouble that is older does not say why a connected device has trouble now. */
const LATELY_MS = 60_000;
/** Several sources that alternate within this time are several devices. */
const ALTERNATING_MS = 300_000;
/**
 * A device that sent so many packets that are too big, since a handshake, is not searching for the
 * right size.
 */
const MANY_TOO_BIG = 10;
/** What every system sends into every network now and then. */
const NOISE = ['inner_destination_reserved', 'inner_source_reserved'];

/** What is wrong with a device that is served, or that all is well. */
export function findingOf(facts: Facts): Found {
  return (
    usedAtSeveral(facts) ??
    elsewhereIn(facts) ??
    usedTwice(facts) ??
    onlineFinding(facts) ??
    offlineFinding(facts)
  );
}

/** Strangers that sent within the last so many milliseconds, the latest first. */
export function latelyUnknown({ keys, otherGateway }: UnknownSenders, sinceMs: number): Stranger[] {
  return [...keys, ...otherGateway]
    .filter(({ lastAtMs }) => lastAtMs >= sinceMs)
    .toSorted((a, b) => b.lastAtMs - a.lastAtMs);
}

// ---- elsewhere, twice ----------------------------------------------------------------------

function elsewhereIn(facts: Facts): Found | null {
  const elsewhere = elsewhereOf(facts);
  return elsewhere === null ? null : { code: 'elsewhere', ...elsewhere };
}

/** Two devices with one key take the session from each other, again and again. */
function usedTwice({ nowMs, trace }: Facts): Found | null {
  const answered = trace.attempts.filter(
    ({ kind, confirmedAtMs }) => kind === 'answered' && confirmedAtMs !== null,
  );
  const last = answered.slice(-3);
  const [a, b, c] = last;
  if (a === undefined || b === undefined || c === undefined) return null;
  const isSoon = c.lastAtMs - a.lastAtMs < ALTERNATING_MS && nowMs - c.lastAtMs < ONLINE_MS;
  const isLast = isSoon && !hasFailedSince(c.lastAtMs, trace, nowMs);
  return isLast && alternates(last) ? { code: 'key_used_twice', attempts: last } : null;
}

/**
 * Two devices with one key at several gateways: each takes the connection from the other one. No
 * gateway sees the handshakes of both, but the connections of all are in the rows.
 */
function usedAtSeveral({ nowMs, trace, connections }: Facts): Found | null {
  const [c, b, a] = connections;
  if (a === undefined || b === undefined || c === undefined) return null;
  if (a.reason !== 'elsewhere' || b.reason !== 'elsewhere') return null;
  const isSoon =
    c.connectedAt - a.connectedAt < ALTERNATING_MS && nowMs - c.connectedAt < ONLINE_MS;
  const attempts = [a, b, c].map(({ remoteIp: address, remotePort: port }) => ({
    endpoint: address === null || port === null ? null : { address, port },
  }));
  const isLast = isSoon && !hasFailedSince(c.connectedAt, trace, nowMs);
  return isLast && alternates(attempts) ? { code: 'key_used_twice', attempts } : null;
}

/** Whether a handshake failed after that time: if so, this is the present trouble. */
function hasFailedSince(atMs: number, trace: Trace, nowMs: number): boolean {
  const failed = lastFailure(trace, nowMs);
  return failed !== null && failed.code !== 'under_way' && failed.attempt.lastAtMs > atMs;
}

/** Whether three handshakes came from two known places in turn. */
function alternates(three: readonly Pick<Attempt, 'endpoint'>[]): boolean {
  const [a, b, c] = three.map(({ endpoint }) =>
    endpoint === null ? null : `${endpoint.address} ${endpoint.port}`,
  );
  return a !== null && b !== null && a === c && a !== b;
}

// ---- connected -----------------------------------------------------------------------------

function onlineFinding({ nowMs, trace, isOverQuota }: Facts): Found | null {
  const { latestHandshakeMs, inside } = trace;
  if (latestHandshakeMs === null || nowMs - latestHandshakeMs >= ONLINE_MS) return null;
  const failed = lastFailure(trace, nowMs);
  const aliveMs = Math.max(latestHandshakeMs, inside.passedAtMs ?? 0);
  if (failed !== null && failed.code !== 'under_way') {
    const { lastAtMs } = failed.attempt;
    if (lastAtMs > aliveMs + 1_000 && nowMs - lastAtMs < LATELY_MS) return failed;
  }
  return isOverQuota ? { code: 'quota_exceeded' } : insideFinding(inside, nowMs);
}

function insideFinding(
  { passedAtMs, wrongSource, tooBig, refused }: InsideSeen,
  nowMs: number,
): Found {
  const isQuietBefore = (atMs: number): boolean =>
    passedAtMs === null || atMs - passedAtMs > LATELY_MS;
  const isLate = (atMs: number): boolean => nowMs - atMs < ONLINE_MS;
  if (wrongSource !== null && isLate(wrongSource.atMs) && isQuietBefore(wrongSource.atMs))
    return { code: 'wrong_inner_address', wrong: wrongSource };
  if (tooBig !== null && nowMs - tooBig.atMs < LATELY_MS && tooBig.count >= MANY_TOO_BIG)
    return { code: 'inner_packets_too_big', tooBig };
  if (refused !== null && isLate(refused.atMs) && !NOISE.includes(refused.reason))
    if (passedAtMs === null || refused.atMs - passedAtMs > ONLINE_MS)
      return { code: 'inner_packets_refused', refused };
  return { code: passedAtMs === null ? 'nothing_inside' : 'connected' };
}

// ---- not connected -------------------------------------------------------------------------

function offlineFinding(facts: Facts): Found {
  const { nowMs, trace, seen, strangers } = facts;
  const failed = lastFailure(trace, nowMs);
  const lastMs = lastHeard(facts);
  // Others may be behind the same address; the handshake of the device itself says more than
  // theirs.
  const triedMs = Math.max((failed?.attempt.lastAtMs ?? -LATELY_MS) + LATELY_MS, lastMs ?? 0);
  const addresses = [...trace.attempts.map(({ endpoint }) => endpoint?.address), seen?.address];
  const [stranger] = latelyUnknown(strangers, triedMs + 1).filter(({ endpoint }) =>
    addresses.includes(endpoint.address),
  );
  if (stranger !== undefined)
    return {
      code: 'publicKey' in stranger ? 'key_not_registered' : 'other_gateway_key',
      stranger,
    };
  if (failed !== null && failed.attempt.lastAtMs >= (lastMs ?? 0)) return failed;
  const initiated = trace.attempts.findLast(isUnanswered) ?? null;
  return { code: 'nothing_arrived', lastMs, initiated, away: awayIn(facts, lastMs) };
}

function awayIn({ gatewayId, seen, hasOthers }: Facts, lastMs: number | null): Away | null {
  const isLast = seen !== null && seen.gatewayId !== gatewayId && seen.handshakeMs === lastMs;
  const last = isLast ? { gatewayName: seen.gatewayName, isRunning: seen.isRunning } : null;
  return last === null && !hasOthers ? null : { last, hasOthers };
}

function lastHeard({ trace, seen }: Facts): number | null {
  const times = trace.attempts.map(({ confirmedAtMs }) => confirmedAtMs ?? 0);
  const atMs = Math.max(0, ...times, trace.latestHandshakeMs ?? 0, seen?.handshakeMs ?? 0);
  return atMs === 0 ? null : atMs;
}

/** The last handshake that the device began and that came to nothing; null: there is none. */
function lastFailure(
  { attempts }: Trace,
  nowMs: number,
): { code: FailedCode; attempt: Attempt } | null {
  const attempt = attempts.findLast((one) => !isUnanswered(one) && !isCopy(one));
  if (attempt === undefined || attempt.confirmedAtMs !== null) return null;
  return { code: failureOf(attempt, nowMs), attempt };
}

function failureOf({ kind, reason, count, lastAtMs }: Attempt, nowMs: number): FailedCode {
  if (kind === 'answered')
    return count === 1 && nowMs - lastAtMs < UNDER_WAY_MS ? 'under_way' : 'not_confirmed';
  if (reason === 'initiation_replayed') return 'dated_before';
  // The device answered the gateway with another preshared key.
  return reason === 'response_invalid' ? 'not_confirmed' : 'handshake_refused';
}

function isUnanswered({ kind, confirmedAtMs }: Attempt): boolean {
  return kind === 'initiated' && confirmedAtMs === null;
}

/**
 * Whether the message is a copy of one that came before: networks and strangers make such copies.
 */
function isCopy({ reason, datedMs, latestDatedMs }: Attempt): boolean {
  return reason === 'initiation_replayed' && datedMs !== null && datedMs === latestDatedMs;
}
