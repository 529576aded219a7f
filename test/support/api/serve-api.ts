// Serves the API and nothing else, as a process of its own: `node serve-api.ts`. Each line of its
// standard input names a database, its encryption key in base64 and settings; it answers with a line
// that has the port and a token, both as JSON. It ends when its standard input does. api-process.ts
// starts it.

import process from 'node:process';
import { createInterface } from 'node:readline';
import { connectDatabase } from '../../../models/index.ts';
import { configOf, listen, serverOn } from './server.ts';

const stops: (() => Promise<void>)[] = [];
for await (const line of createInterface({ input: process.stdin })) {
  const { url, key, settings } = JSON.parse(line) as {
    url: string;
    key: string;
    settings: Record<string, string>;
  };
  const database = await connectDatabase({ url, encryptionKey: Buffer.from(key, 'base64') });
  const config = listen(configOf(settings));
  const { server, token } = await serverOn(database, {}, { config });
  await server.start();
  stops.push(async () => {
    await server.stop();
    await database.close();
  });
  process.stdout.write(`${JSON.stringify({ port: server.info.port, token })}\n`);
}
for (const stop of stops) await stop();
