// A migration while gateways of an earlier version run. Gateways that say which schema they know
// notice a later one and obey only what ends. Gateways of 1.0.0 do not look: they would take a rule
// for a group as one for everybody. So the migration waits until they end, and is given up if they
// go on.

import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, type GatewayBeside, readGatewaysBeside } from '../../../models/index.ts';
import type { Log } from '../../kit/process/log.ts';

/** How a migration waits; replaced in tests by shorter times. */
export interface BesideTimes {
  /** A gateway that was not seen for so long does not run: beats come every 5 seconds. */
  readonly aliveMs: number;
  /** How long a start waits for gateways to stop. */
  readonly waitMs: number;
  readonly stepMs: number;
}

const TIMES: BesideTimes = { aliveMs: 15_000, waitMs: 60_000, stepMs: 500 };

/** Who is about to migrate. */
export interface Migrating {
  /** A start waits; a command does not. */
  readonly isStart: boolean;
  /** The gateway that starts: its row is of before. Null for a command. */
  readonly gatewayId: string | null;
  /** MIGRATE_BESIDE_OLDER. */
  readonly isAllowed: boolean;
  readonly log: Log;
}

/** Thrown where a gateway runs that would misunderstand a migrated database. */
export class OlderGatewaysError extends Error {
  override name = 'OlderGatewaysError';
}

/** Resolves when the migration may begin, and says who runs beside it; else rejects. */
export async function waitForOlder(
  database: Database,
  { isStart, gatewayId, isAllowed, log }: Migrating,
  times: BesideTimes = TIMES,
): Promise<void> {
  const beats = new Beats(times.aliveMs);
  const look = async (): Promise<GatewayBeside[]> => {
    const rows = await readGatewaysBeside(database);
    return beats.running(rows.filter(({ id }) => id !== gatewayId));
  };
  const untilMs = performance.now() + times.waitMs;
  let running = await look();
  for (let isSaid = false; !isAllowed && older(running).length > 0; running = await look()) {
    // A command that follows a stop at once waits until it is clear that nobody beats any more.
    if (isStart ? performance.now() >= untilMs : older(running).some(({ id }) => beats.moved(id)))
      throw new OlderGatewaysError(sentence(older(running)));
    if (!isSaid && isStart)
      log.warn(
        { gateways: namesOf(older(running)) },
        `gateways of an earlier version run; this start waits ${times.waitMs / 1_000} s for them to stop before it migrates the database`,
      );
    isSaid = true;
    await sleep(times.stepMs);
  }
  const ignored = older(running);
  if (ignored.length > 0)
    log.warn(
      { gateways: namesOf(ignored) },
      'the database is migrated while gateways run that do not see it (MIGRATE_BESIDE_OLDER): rules may widen access there until they are upgraded',
    );
  const telling = running.filter(({ schema_step: step }) => step !== null);
  if (telling.length > 0)
    log.warn(
      { gateways: namesOf(telling) },
      'the database is migrated while gateways of an earlier version run; until they are upgraded they obey only what disables, deletes or ends',
    );
}

/** When each gateway was seen to beat, by our own clock: theirs may be wrong. */
class Beats {
  readonly #aliveMs: number;
  readonly #seen = new Map<string, { atMs: number; untilMs: number; hasMoved: boolean }>();

  constructor(aliveMs: number) {
    this.#aliveMs = aliveMs;
  }

  /** The gateways that run, of those that have rows. */
  running(rows: readonly GatewayBeside[]): GatewayBeside[] {
    const now = performance.now();
    for (const { id, seen_at } of rows) {
      const atMs = seen_at.getTime();
      const before = this.#seen.get(id);
      if (before?.atMs === atMs) continue;
      const age = before === undefined ? Math.max(0, Date.now() - atMs) : 0;
      const untilMs = now + this.#aliveMs - age;
      this.#seen.set(id, { atMs, untilMs, hasMoved: before !== undefined });
    }
    return rows.filter(({ id }) => (this.#seen.get(id)?.untilMs ?? 0) > now);
  }

  /** Whether a gateway beat while it was looked at. */
  moved(id: string): boolean {
    return this.#seen.get(id)?.hasMoved === true;
  }
}

/** The gateways that do not look for a later schema. */
function older(running: readonly GatewayBeside[]): GatewayBeside[] {
  return running.filter(({ schema_step: step }) => step === null);
}

function namesOf(gateways: readonly GatewayBeside[]): string {
  return gateways.map(({ name, id }) => `${name} (${id})`).join(', ');
}

function sentence(gateways: readonly GatewayBeside[]): string {
  return (
    `Gateways of an earlier version run on this database: ${namesOf(gateways)}. This version would ` +
    'migrate it, and they would take its rules for others than they are. Nothing was changed. Stop ' +
    'them, then run this again; or set MIGRATE_BESIDE_OLDER=true, which lets rules for some be rules ' +
    'for everybody there until they are upgraded'
  );
}
