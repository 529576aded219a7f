// What gateways say about themselves and read about each other. Written without change rows.
// docs/state.md#several-gateways.

import { setTimeout as sleep } from 'node:timers/promises';
import { Op, type Transaction } from 'sequelize';
import type { Database } from '../database/database.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import { plainSelect, shortSelect } from '../storage/select.ts';
import { latestStored, within } from '../storage/stored-time.ts';
import { parseSqlTime, sqlTime } from '../storage/time.ts';
import type { Revision } from '../storage/tracking.ts';
import type { Gateway } from '../tables/gateway.ts';

/** What a gateway says of itself with each beat. */
export interface Heartbeat {
  seenAt: Date;
  appliedRevision: Revision;
  /** Left out: unchanged. */
  clockFloor?: Date;
}

/** What a gateway says of itself at its start. */
export interface GatewayStart {
  readonly id: string;
  readonly name: string;
  readonly startedAt: Date;
  /** Its settings that are no secret, JSON. */
  readonly settings?: string;
  readonly publicKey?: string;
  /** Null or left out: not known yet. */
  readonly egress?: GatewayEgress | null;
}

/** How packets of devices leave a gateway, and why. */
export interface GatewayEgress {
  readonly way: 'tun' | 'sockets' | 'none';
  readonly reason: string | null;
}

/**
 * How much later the next clock floor is than that of this start, and than the clock. Until the
 * first beat, which sets a later one, each device gets a few initiations, and the timestamp of each
 * is one step of 17 ms greater.
 */
const START_FLOOR_MS = 10_000;

/**
 * Enters a gateway that starts, or its new start. Returns the row with the clock floor of this
 * start. A later one is written already: this start may end before its first beat.
 */
export async function registerGateway(database: Database, gateway: GatewayStart): Promise<Gateway> {
  const { Gateway: gateways } = database.models;
  const { id, name, startedAt, settings = null, publicKey = null, egress = null } = gateway;
  const start = {
    name,
    started_at: startedAt,
    seen_at: startedAt,
    settings,
    public_key: publicKey,
    schema_step: database.lastStep,
    ...columnsOf(egress),
  };
  return rerunOnConflict(database, async () => {
    const before = (await gateways.findByPk(id))?.clock_floor ?? null;
    const greatestMs = Math.max(before?.getTime() ?? 0, startedAt.getTime());
    const clockFloor = new Date(greatestMs + START_FLOOR_MS);
    const values = { id, ...start, applied_revision: 0, clock_floor: clockFloor };
    await gateways.upsert(values, { fields: Object.keys(values) as (keyof typeof values)[] });
    const row = await gateways.findByPk(id, { rejectOnEmpty: true });
    return row.set('clock_floor', before);
  });
}

/** Records that a gateway lives and what it obeys; false when nobody registered it. */
export async function recordHeartbeat(
  database: Database,
  gatewayId: string,
  beat: Heartbeat,
): Promise<boolean> {
  const values = {
    seen_at: beat.seenAt,
    applied_revision: beat.appliedRevision,
    ...(beat.clockFloor === undefined ? {} : { clock_floor: beat.clockFloor }),
  };
  return rerunOnConflict(database, async () => {
    const where = { id: gatewayId };
    const [count] = await database.models.Gateway.update(values, { where });
    // MySQL counts only rows that differ: an equal beat is found by looking.
    return count > 0 || (await database.models.Gateway.count({ where })) > 0;
  });
}

/** Records how packets of devices leave a gateway that was entered before it knew. */
export async function recordEgress(
  database: Database,
  gatewayId: string,
  egress: GatewayEgress,
): Promise<void> {
  const where = { id: gatewayId };
  await rerunOnConflict(database, () =>
    database.models.Gateway.update(columnsOf(egress), { where }),
  );
}

function columnsOf(egress: GatewayEgress | null) {
  return { egress: egress?.way ?? null, egress_reason: egress?.reason ?? null };
}

/** Ids of the other gateways that were seen since a time. */
export async function readOtherGateways(
  database: Database,
  gatewayId: string,
  seenSince: Date,
): Promise<string[]> {
  // There are few gateways, so the main thread reads it on SQLite, as each beat does.
  const rows = await database.sequelize.query<{ id: string }>(
    'SELECT id FROM gateways WHERE id <> $gatewayId AND seen_at >= $since',
    { ...shortSelect(), bind: { gatewayId, since: sqlTime(database.kind, seenSince) } },
  );
  return rows.map(({ id }) => id);
}

/**
 * Records that a backup of the database was made and read back. It is a backup for all gateways, so
 * each of them learns of it.
 */
export async function recordBackup(database: Database, madeAt: Date): Promise<void> {
  await rerunOnConflict(database, () =>
    database.models.Gateway.update({ last_backup_at: madeAt }, { where: {} }),
  );
}

/** When the database was backed up last; null: not since its gateways are there. */
export async function readLastBackup(database: Database): Promise<Date | null> {
  const [row] = await database.sequelize.query<{ at: string | Date | null }>(
    'SELECT MAX(last_backup_at) AS at FROM gateways',
    shortSelect(),
  );
  return row?.at == null ? null : parseSqlTime(row.at);
}

/** The gateways that were seen within a time; the one that started last comes first. */
export function readGateways(
  database: Database,
  aliveMs: number,
  nowMs: number = Date.now(),
): Promise<Gateway[]> {
  return database.models.Gateway.findAll({
    where: { seen_at: within(aliveMs, nowMs) },
    order: [['started_at', 'DESC']],
  });
}

/** Gateways say every 5 seconds that they run; one that is late for a moment runs too. */
export const GATEWAY_ALIVE_MS = 60_000;

/** Whether another gateway runs. */
export async function hasOtherRunning(
  database: Database,
  gatewayId: string,
  nowMs: number = Date.now(),
): Promise<boolean> {
  const [since, latest] = [
    new Date(nowMs - GATEWAY_ALIVE_MS),
    latestStored(nowMs, GATEWAY_ALIVE_MS),
  ];
  const rows = await database.sequelize.query(
    'SELECT id FROM gateways WHERE id <> $id AND seen_at > $since AND seen_at <= $latest LIMIT 1',
    {
      ...shortSelect(),
      bind: {
        id: gatewayId,
        since: sqlTime(database.kind, since),
        latest: sqlTime(database.kind, latest),
      },
    },
  );
  return rows.length > 0;
}

/** A part of all gateways that are not forgotten, in the order of their ids. */
export function listGateways(
  database: Database,
  { afterId, limit }: { afterId: string | null; limit: number },
): Promise<Gateway[]> {
  return database.models.Gateway.findAll({
    ...(afterId === null ? {} : { where: { id: { [Op.gt]: afterId } } }),
    order: [['id', 'ASC']],
    limit,
  });
}

/**
 * Deletes the gateways that were not seen since a time; returns how many. One stays while it has
 * connections that are not ended, and while its next start needs its clock floor.
 */
export async function forgetGateways(
  database: Database,
  { seenBefore, now }: { seenBefore: Date; now: Date },
): Promise<number> {
  const open = await database.sequelize.query<{ id: string }>(
    'SELECT DISTINCT gateway_id AS id FROM connections WHERE disconnected_at IS NULL',
    plainSelect(),
  );
  const where = {
    id: { [Op.notIn]: open.map(({ id }) => id) },
    seen_at: { [Op.lt]: seenBefore },
    clock_floor: { [Op.or]: [null, { [Op.lt]: now }] },
  };
  return rerunOnConflict(database, () => database.models.Gateway.destroy({ where }));
}

/** Gateways beat every 5 seconds, and look at the clock once a second. */
const WATCH_MS = 7_000;

/** Thrown when a gateway serves a database that is to be changed under nobody's eyes. */
export class GatewayRunsError extends Error {
  override name = 'GatewayRunsError';
}

/**
 * Throws GatewayRunsError when a gateway serves this database: one whose heartbeat moves while we
 * look, so that no clock matters, nor how long ago one stopped. Returns a function that throws when
 * one has been heard since. A database that never had a gateway is not kept waiting.
 */
export async function watchGateways(
  database: Database,
  watchMs = WATCH_MS,
): Promise<() => Promise<void>> {
  const before = await readBeats(database);
  const assertUnused = async (): Promise<void> => {
    const moved = [...(await readBeats(database))].filter(([id, beat]) => before.get(id) !== beat);
    if (moved.length > 0)
      throw new GatewayRunsError(
        `A gateway runs on this database (${moved.map(([id]) => id).join(', ')}), and nothing ` +
          'was changed; stop all gateways of it first',
      );
  };
  const untilMs = performance.now() + watchMs;
  while (before.size > 0 && performance.now() < untilMs) {
    await sleep(Math.min(250, watchMs));
    await assertUnused();
  }
  return assertUnused;
}

/** What each gateway said last, as one text. */
async function readBeats(database: Database): Promise<Map<string, string>> {
  const rows = await database.models.Gateway.findAll({
    attributes: ['id', 'started_at', 'seen_at'],
  });
  return new Map(
    rows.map(({ id, started_at, seen_at }) => [id, `${started_at.getTime()} ${seen_at.getTime()}`]),
  );
}

/**
 * Records which API token a gateway's environment asks for, null for none; returns what all
 * gateways ask for that were seen within a time, this one included.
 */
export async function claimBootstrapToken(
  database: Database,
  gatewayId: string,
  { sha256, forMs, now }: { sha256: string | null; forMs: number; now: Date },
  transaction: Transaction,
): Promise<ReadonlySet<string>> {
  const { Gateway: gateways } = database.models;
  const where = { id: gatewayId };
  await gateways.update({ bootstrap_sha256: sha256 }, { where, transaction });
  const rows = await gateways.findAll({
    attributes: ['bootstrap_sha256'],
    where: { seen_at: within(forMs, now), bootstrap_sha256: { [Op.ne]: null } },
    transaction,
  });
  const claimed = rows.map((row) => row.bootstrap_sha256);
  return new Set([...claimed, sha256].filter((hash) => hash !== null));
}
