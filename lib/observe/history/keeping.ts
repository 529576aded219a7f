// Keeping the history of a gateway: its beginning at a start, and its ageing while it serves.

import {
  type Database,
  endConnections,
  endLostConnections,
  forgetRemoved,
  readClocks,
  rollUpHistory,
} from '../../../models/index.ts';
import type { Config } from '../../../config/index.ts';
import type { ForgettingTime } from '../../kit/process/forgetting.ts';
import type { Chore } from '../../kit/process/hourly.ts';
import type { Log } from '../../kit/process/log.ts';
import type { Shared } from '../../kit/process/shared.ts';
import { History } from '../../reconcile/history.ts';

const DAY_S = 86_400;
const HOUR_MS = 3_600_000;

/**
 * Begins the history of a gateway; none where none is kept. Connections that a process before this
 * one could not end, because it was killed, end when it was heard last: so this comes before the
 * start is written to the database.
 */
export async function startHistory(
  { config, database, log }: Pick<Shared, 'config' | 'database' | 'log'>,
  gatewayId: string,
): Promise<{ readonly history?: History }> {
  if (config.historyRetention === 'off') return {};
  const before = await database.models.Gateway.findByPk(gatewayId);
  if (before !== null) await endConnections(database, gatewayId, 'gateway_lost', before.seen_at);
  return { history: new History({ database, gatewayId, log }) };
}

/** Deletes what removed devices and rules left; no clock matters for it. */
export function forgetRemovedHistory(database: Database, log: Log): Chore {
  return {
    failure: 'the history of removed devices and rules was not deleted',
    async run(isStopping) {
      const rows = await forgetRemoved(database, isStopping);
      if (rows > 0) log.info({ rows }, 'the history of removed devices and rules was deleted');
    },
  };
}

/** Makes longer steps of what is old, and forgets what is older than `days`; 'off': everything. */
export function forgetHistory(
  database: Database,
  days: Config['historyRetention'],
  log: Log,
  time: ForgettingTime,
): Chore {
  return {
    failure: 'the history was not rolled up',
    async run(isStopping) {
      // Whatever began until tomorrow, where nothing is kept.
      const retentionS = days === 'off' ? -DAY_S : days * DAY_S;
      const now = days === 'off' ? new Date() : await time();
      const { joined, forgotten } = await rollUpHistory(database, retentionS, now, isStopping);
      // Gateways run beside this one, whatever the clock of its host says.
      const { server } = await readClocks(database);
      await endLostConnections(database, new Date((server?.getTime() ?? Date.now()) - HOUR_MS));
      if (joined + forgotten > 0) log.info({ joined, forgotten }, 'the history was rolled up');
    },
  };
}
