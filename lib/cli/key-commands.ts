// The command `keys rotate`: all secrets of the database are sealed again, under another key. If
// the key is in DATA_DIR, the command makes a new one; if the environment gives the key, it must
// give both keys. The command may be interrupted at any point: until the end both keys open
// everything, and when it is run again, it goes on.

import type { Config } from '../../config/index.ts';
import { type Database, resealSecrets, watchGateways } from '../../models/index.ts';
import type { Command, Outcome } from './run.ts';
import type { Log } from '../kit/process/log.ts';
import {
  adoptNextKey,
  type EncryptionKeys,
  nextEncryptionKeys,
} from '../installation/keys/encryption-keys.ts';

/** What rotating needs. */
export interface Rotation {
  readonly config: Config;
  /** Opened with the present keys. */
  readonly database: Database;
  /** Opens it again, with others. */
  readonly open: (keys: EncryptionKeys) => Promise<Database>;
  readonly log: Log;
  /** How long to look whether a gateway runs. */
  readonly watchMs?: number;
}

/** Seals all secrets under a new key. */
export async function rotateKeys(
  { config, database, open, log, watchMs }: Rotation,
  { options: { online } }: Command,
): Promise<Outcome> {
  const inFiles = config.databaseEncryptionKey === null;
  if (inFiles && online)
    throw new Error(
      'the key is in DATA_DIR, and a gateway that runs knows no other: stop it and leave --online out',
    );
  if (!inFiles && config.databaseEncryptionKeyOld === null)
    throw new Error(
      'set DATABASE_ENCRYPTION_KEY to a new key (head -c32 /dev/urandom | base64) and ' +
        'DATABASE_ENCRYPTION_KEY_OLD to the present one, for this command and for every gateway ' +
        'of the database, then run it again',
    );
  const assertUnused = online ? async () => undefined : await watchGateways(database, watchMs);
  const keys = nextEncryptionKeys(config);
  const both = await open(keys);
  try {
    const { resealed, broken } = await resealSecrets(both, (count) =>
      log.info({ resealed: count }, 'secrets are encrypted anew'),
    );
    // One that was started meanwhile seals under the key that is about to go.
    await assertUnused();
    const kept = adoptNextKey(config);
    return {
      text: [
        `${resealed} secrets are encrypted under key ${both.keyring.keyId}.`,
        ...broken.map(
          (place) =>
            `${place} cannot be decrypted with a known key and was left as it is; set it again.`,
        ),
        kept === null
          ? 'Remove DATABASE_ENCRYPTION_KEY_OLD from every gateway. Earlier backups need that key.'
          : `The earlier key is in ${kept}: earlier backups need it.`,
      ].join('\n'),
      data: { key: both.keyring.keyId, resealed, broken, earlier_key: kept },
    };
  } finally {
    await both.close();
  }
}
