// A server of the API and nothing else, as a process of its own: `node serve-api.ts <database url>
// <encryption key, base64> <settings, JSON>`. Prints its port and a token as one line of JSON, and
// serves until its standard input ends. api-process.ts starts it.

import { once } from 'node:events';
import process from 'node:process';
import { connectDatabase } from '../../../models/index.ts';
import { configOf, listen, serverOn } from './server.ts';

const [url = '', key = '', settings = '{}'] = process.argv.slice(2);
const database = await connectDatabase({ url, encryptionKey: Buffer.from(key, 'base64') });
const config = listen(configOf(JSON.parse(settings) as Record<string, string>));
const { server, token } = await serverOn(database, {}, { config });
await server.start();
process.stdout.write(`${JSON.stringify({ port: server.info.port, token })}\n`);
process.stdin.resume();
await once(process.stdin, 'end');
await server.stop();
await database.close();
