// Writes latest.sqlite.sql from what the migrations make, and what `--version` says of it:
// `npm run schema`, after a migration was added.
// `npm run schema -- --released` also writes the databases of the new step that its test wants.

import { writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { connectDatabase } from '../models/database/connect.ts';
import { runMissingSteps } from '../models/migrations/index.ts';
import { LATEST, latestOf } from '../models/migrations/latest.ts';
import { FINGERPRINT, fingerprintText } from './fingerprint.ts';
import { writeReleased } from './released.ts';

const { values } = parseArgs({ options: { released: { type: 'boolean' } } });
const database = await connectDatabase({ url: 'sqlite::memory:', encryptionKey: randomBytes(32) });
try {
  await runMissingSteps(database, { takesSteps: true });
  writeFileSync(LATEST, await latestOf(database));
} finally {
  await database.close();
}
writeFileSync(FINGERPRINT, fingerprintText());
if (values.released === true)
  for (const path of await writeReleased()) process.stdout.write(`${path} is written\n`);
