// What administrators do to a database server beside the gateway: they make it read-only, as a
// failover does to the primary that was.

import { randomBytes } from 'node:crypto';
import test from 'ava';
import { startGateway } from '../support/gateway-process.ts';
import { runOnServer, startMariadb, stopMariadb } from '../support/mariadb.ts';

async function until(holds: () => Promise<boolean>, limitMs = 20_000): Promise<boolean> {
  for (const endAt = performance.now() + limitMs; performance.now() < endAt;) {
    if (await holds()) return true;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return false;
}

test.serial(
  'a server that is made read-only is said, and found again when it is not',
  async (t) => {
    const mariadb = await startMariadb();
    t.teardown(() => stopMariadb(mariadb));
    await runOnServer(
      mariadb.url,
      'CREATE DATABASE postern',
      "CREATE USER postern@'127.0.0.1' IDENTIFIED BY 'secret'",
      "GRANT ALL ON postern.* TO postern@'127.0.0.1'",
    );
    const gateway = await startGateway(t, {
      DATABASE_URL: `${mariadb.url.replace('root@', 'postern:secret@')}postern`,
      DATABASE_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    });
    const { call, url } = gateway;
    const readiness = async (): Promise<unknown> =>
      ((await (await fetch(`${url}/readyz`)).json()) as { status: string }).status;
    let host = 0;
    const write = () => call('POST', '/v0/rules', { rule: { destination: `192.0.2.${host++}` } });
    t.is((await write()).status, 201);
    await runOnServer(mariadb.url, 'SET GLOBAL read_only = ON');
    const refused = await write();
    t.is(refused.status, 503, refused.text);
    t.is((await call('GET', '/v0/rules')).status, 200);
    t.true(await until(async () => (await readiness()) === 'database_read_only'));
    const error = await t.throwsAsync(
      gateway.command('admin', 'create-or-reset', '--email', 'b@example.com'),
    );
    t.regex(error?.message ?? '', /the database is read-only .*name the primary in DATABASE_URL/);
    await runOnServer(mariadb.url, 'SET GLOBAL read_only = OFF');
    t.true(await until(async () => (await readiness()) === 'ready'));
    t.is((await write()).status, 201);
  },
);
