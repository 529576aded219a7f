// The doctor on backups that are made each night: whether the last one is old, or none was made.

import type { Database } from '../../../models/index.ts';
import { failed, type Finding, ok, warning } from './finding.ts';

const HOUR_MS = 3_600_000;
/** A night may be missed by a host that was off. */
const OLD_MS = 50 * HOUR_MS;
const PAGE = 'docs/guides/backup-and-upgrade.md, “Each night”';

/** Looks when the database was backed up last. */
export async function backups(opened: Database, nowMs = Date.now()): Promise<Finding[]> {
  const check = 'backup';
  const { Gateway, User } = opened.models;
  const [last, first] = await Promise.all([
    Gateway.max<Date | string | null, InstanceType<typeof Gateway>>('last_backup_at'),
    User.min<Date | string | null, InstanceType<typeof User>>('inserted_at'),
  ]);
  if (last !== null) {
    const hours = Math.round((nowMs - new Date(last).getTime()) / HOUR_MS);
    const message = `the last backup that was read back is of ${new Date(last).toISOString()}`;
    if (hours * HOUR_MS <= OLD_MS) return [ok(check, message)];
    const fix = `see why none was made for ${hours} hours: systemctl status postern-backup, or what else is to make them; ${PAGE}`;
    return [failed(check, message, fix)];
  }
  // A new gateway has nothing to lose yet.
  if (first === null || nowMs - new Date(first).getTime() <= OLD_MS) return [];
  return [
    warning(
      check,
      'no backup was made by “backup --keep”',
      `make one each night: ${PAGE}; if something else backs up the database, do nothing`,
    ),
  ];
}
