// A process that writes until it is killed: a user and a device in each transaction. It prints the
// revision of each write once the write is acknowledged.
//   node test/models/database/writer.ts <database url> <encryption key in hex>

import process from 'node:process';
import { connectDatabase, writeTransaction } from '../../../models/index.ts';
import { deviceValues } from '../fixtures.ts';

const [url = '', key = ''] = process.argv.slice(2);
const database = await connectDatabase({ url, encryptionKey: Buffer.from(key, 'hex') });
const { User, Device } = database.models;
for (let i = 0; ; i += 1) {
  const { revision } = await writeTransaction(database, async (transaction) => {
    const user = await User.create({ email: `${process.pid}-${i}@example.com` }, { transaction });
    await Device.create(deviceValues(user.id), { transaction });
  });
  process.stdout.write(`${revision}\n`);
}
