// The program that a health check runs: by the gateway's own settings, with an exit status.

import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';

const PROGRAM = resolve(import.meta.dirname, '../../../lib/start/ready.ts');

/** A server that answers /readyz with a status; its port. */
async function answering(t: ExecutionContext, status: number): Promise<string> {
  const server = createServer((request, response) => {
    response.writeHead(request.url === '/readyz' ? status : 404).end('{"status":"x"}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return String((server.address() as { port: number }).port);
}

async function run(environment: Record<string, string>): Promise<{ status: number; said: string }> {
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM], { env: environment });
    return { status: 0, said: stdout };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { status: code, said: stdout + stderr };
  }
}

test('a gateway that is ready is 0, one that is not is 1, and so is nobody', async (t) => {
  const ready = await run({ HTTP_PORT: await answering(t, 200) });
  t.deepEqual(ready, { status: 0, said: '{"status":"x"}\n' });
  const draining = await run({ HTTP_PORT: await answering(t, 503), HTTP_HOST: '0.0.0.0' });
  t.deepEqual(draining, { status: 1, said: '{"status":"x"}\n' });
  const nobody = await run({ HTTP_PORT: '1' });
  t.is(nobody.status, 1);
  t.regex(nobody.said, /^http:\/\/127\.0\.0\.1:1\/readyz: .*ECONNREFUSED/);
  t.is((await run({ HTTP_PORT: 'x' })).status, 1);
});
