// A hash of the values with which the client file of a device was made, in a column of the devices
// table. Gateways do not act upon it and no administrator sets it, so writing it leaves no change
// row and no audit entry, and never moves the device's `updated_at`.

import { QueryTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import { plainSelect } from '../storage/select.ts';

/**
 * Notes what a device's client file is made with; does nothing for a device that is gone, or that
 * is not `ownerId`'s, where that is given.
 */
export async function noteClientFile(
  database: Database,
  deviceId: string,
  sha256: string,
  ownerId: string | null = null,
): Promise<void> {
  const whose = ownerId === null ? '' : ' AND user_id = :ownerId';
  await rerunOnConflict(database, () =>
    database.sequelize.query(
      `UPDATE devices SET client_file_sha256 = :sha256 WHERE id = :deviceId${whose}`,
      {
        replacements: { deviceId, sha256, ownerId },
        type: QueryTypes.UPDATE,
      },
    ),
  );
}

/** What the files of devices were made with, by device; none where none was noted. */
export async function readClientFiles(
  database: Database,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await database.sequelize.query<{ id: string; sha256: string }>(
    `SELECT id, client_file_sha256 AS sha256 FROM devices
     WHERE id IN (:ids) AND client_file_sha256 IS NOT NULL`,
    { ...plainSelect(), replacements: { ids } },
  );
  return new Map(rows.map(({ id, sha256 }) => [id, sha256]));
}
