// A process that writes a SQLite file anew and may be killed meanwhile; for shrink.test.ts.

import process from 'node:process';
import { compactFile, connectDatabase } from '../../../models/index.ts';
import { KEY } from '../migrations/released-databases.ts';

const database = await connectDatabase({
  url: process.env['COMPACTED_URL'] ?? '',
  encryptionKey: KEY,
});
process.send?.('begins');
await compactFile(database);
process.send?.('is done');
await database.close();
