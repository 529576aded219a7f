// A process that takes the migration lease, says so, and keeps it until it is killed.

import process from 'node:process';
import { connectDatabase } from '../../../models/index.ts';
import { withLease } from '../../../models/migrations/lease.ts';

const database = await connectDatabase({
  url: process.env['HOLDER_URL'] ?? '',
  encryptionKey: Buffer.alloc(32),
});
await withLease(database, async () => {
  process.send?.('held');
  await new Promise((resolve) => setTimeout(resolve, 600_000));
});
