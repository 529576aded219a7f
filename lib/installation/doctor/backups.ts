// The doctor on backups that are made each night: whether the last one is old, or none was made.

import { type Database, readLastBackup } from '../../../models/index.ts';
import { failed, type Finding, ok, warning } from './finding.ts';

const HOUR_MS = 3_600_000;
/** A night may be missed by a host that was off. */
const OLD_MS = 50 * HOUR_MS;
const PAGE = 'docs/guides/backup-and-upgrade.md, “Each night”';

/** Looks when the database was backed up last. */
export async function backups(opened: Database, nowMs = Date.now()): Promise<Finding[]> {
  const check = 'backup';
  const { User } = opened.models;
  const [last, first] = await Promise.all([
    readLastBackup(opened),
    User.min<Date | string | null, InstanceType<typeof User>>('inserted_at'),
  ]);
  if (last !== null) {
    const hours = Math.round((nowMs - last.getTime()) / HOUR_MS);
    const message = `the last backup that was read back is of ${last.toISOString()}`;
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
