// Writes latest.sqlite.sql from what the migrations make: `npm run schema`, after one was added.

import { writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { connectDatabase } from '../models/database/connect.ts';
import { runMissingSteps } from '../models/migrations/index.ts';
import { LATEST, latestOf } from '../models/migrations/latest.ts';

const database = await connectDatabase({ url: 'sqlite::memory:', encryptionKey: randomBytes(32) });
try {
  await runMissingSteps(database);
  writeFileSync(LATEST, await latestOf(database));
} finally {
  await database.close();
}
