// A server of the API and nothing else, as a process of its own: `node list-server.ts <database url>
// <encryption key, base64>`. Prints its address and a token as one line of JSON, and serves until
// its standard input ends.

import { once } from 'node:events';
import process from 'node:process';
import { connectDatabase } from '../../models/index.ts';
import { configOf, listen, serverOn } from './server.ts';

const [url = '', key = ''] = process.argv.slice(2);
const database = await connectDatabase({ url, encryptionKey: Buffer.from(key, 'base64') });
const { server, token } = await serverOn(database, {}, { config: listen(configOf({})) });
await server.start();
process.stdout.write(`${JSON.stringify({ uri: server.info.uri, token })}\n`);
process.stdin.resume();
await once(process.stdin, 'end');
await server.stop();
await database.close();
