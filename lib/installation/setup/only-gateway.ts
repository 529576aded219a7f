// One gateway for each DATA_DIR: two would have one identity, and each would overwrite the reports
// of the other. Two may start at the same moment, so a lock decides.

import { join } from 'node:path';
import type { Config } from '../../../config/index.ts';
import { type FileLock, lockFile } from '../../../models/index.ts';
import type { Log } from '../../kit/process/log.ts';
import { messageOf } from '../../kit/process/message.ts';

/**
 * Locks DATA_DIR for the gateway of this process, or throws where another gateway has it. Null: a
 * disk that knows no locks must not prevent a start.
 */
export async function lockDataDir(
  { dataDir }: Pick<Config, 'dataDir'>,
  log: Pick<Log, 'warn'>,
): Promise<FileLock | null> {
  const path = join(dataDir, 'gateway.lock');
  let lock: FileLock | null;
  try {
    lock = lockFile(path);
  } catch (error) {
    log.warn(
      { file: path, fault: messageOf(error) },
      'DATA_DIR could not be locked; no other gateway may run on it',
    );
    return null;
  }
  if (lock === null)
    throw new Error(
      `a gateway already runs on this DATA_DIR (${path} is locked); stop it, or give this one a DATA_DIR of its own`,
    );
  return lock;
}
