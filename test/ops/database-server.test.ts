// What administrators do to a database server beside the gateway: they make it read-only, as a
// failover does to the primary that was; they ask its users for TLS, and for certificates.

import { randomBytes } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { startGateway } from '../support/gateway/gateway-process.ts';
import { runOnServer, startMariadb, stopMariadb } from '../support/database/mariadb.ts';

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
    const settings = {
      DATABASE_URL: `${mariadb.url.replace('root@', 'postern:secret@')}postern`,
      DATABASE_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    };
    const gateway = await startGateway(t, settings);
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
    const examined = await t.throwsAsync(gateway.command('doctor'));
    t.regex(
      String((examined as Error & { stdout?: string }).stdout ?? examined?.message),
      /failed +writes +the database is read-only: .*\n +fix: .*name the primary in DATABASE_URL/,
    );
    const start = await t.throwsAsync(startGateway(t, settings));
    t.regex(start?.message ?? '', /the database is read-only .*name the primary in DATABASE_URL/);
    await runOnServer(mariadb.url, 'SET GLOBAL read_only = OFF');
    t.true(await until(async () => (await readiness()) === 'ready'));
    t.is((await write()).status, 201);
  },
);

// ---- TLS -------------------------------------------------------------------------------------

/** An authority, and certificates of it for a server and a client, by openssl; their folder. */
function makeCertificates(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'postern-database-tls-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  // The server runs as another user.
  chmodSync(folder, 0o755);
  const openssl = (...args: string[]): Buffer =>
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const key = ['-newkey', 'rsa:2048', '-nodes'] as const;
  openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.crt', '-subj', '/CN=ca');
  for (const name of ['server', 'client', 'stranger']) {
    writeFileSync(
      join(folder, 'names'),
      `subjectAltName=DNS:${name === 'server' ? 'localhost' : name}`,
    );
    openssl('req', ...key, '-keyout', `${name}.key`, '-out', 'request', '-subj', `/CN=${name}`);
    const signed = [
      '-req',
      '-in',
      'request',
      '-CA',
      'ca.crt',
      '-CAkey',
      'ca.key',
      '-CAcreateserial',
    ];
    openssl('x509', ...signed, '-extfile', 'names', '-days', '2', '-out', `${name}.crt`);
    chmodSync(join(folder, `${name}.key`), 0o644);
  }
  return folder;
}

test.serial(
  'users who must use TLS, or have a certificate, are served so and not otherwise',
  async (t) => {
    const folder = makeCertificates(t);
    const file = (name: string): string => join(folder, name);
    const serve = (name: string) =>
      startMariadb([
        `--ssl-ca=${file('ca.crt')}`,
        `--ssl-cert=${file(`${name}.crt`)}`,
        `--ssl-key=${file(`${name}.key`)}`,
      ]);
    const mariadb = await serve('server');
    t.teardown(() => stopMariadb(mariadb));
    await runOnServer(
      mariadb.url,
      ...['ssl', 'x509'].flatMap((user) => [
        `CREATE DATABASE of_${user}_user`,
        `CREATE USER ${user}_user@'%' IDENTIFIED BY 'secret' REQUIRE ${user.toUpperCase()}`,
        `GRANT ALL ON of_${user}_user.* TO ${user}_user@'%'`,
      ]),
    );
    const at = (user: string, settings: Record<string, string>, url = mariadb.url) => ({
      DATABASE_URL: `${url.replace('root@127.0.0.1', `${user}_user:secret@localhost`)}of_${user}_user`,
      DATABASE_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
      ...settings,
    });
    const required = { DATABASE_TLS: 'required' };
    const verify = { DATABASE_TLS: 'verify', DATABASE_TLS_CA: file('ca.crt') };
    const own = { DATABASE_TLS_CERT: file('client.crt'), DATABASE_TLS_KEY: file('client.key') };
    const isServed = async (settings: Record<string, string>): Promise<boolean> => {
      const { call } = await startGateway(t, settings);
      return (await call('GET', '/v0/users')).status === 200;
    };
    const refused = async (settings: Record<string, string>, says: RegExp): Promise<void> => {
      const error = await t.throwsAsync(startGateway(t, settings));
      t.regex(error?.message ?? '', says);
    };
    await refused(at('ssl', {}), /Access denied/);
    t.true(await isServed(at('ssl', required)));
    t.true(await isServed(at('ssl', verify)));
    await refused(at('ssl', { DATABASE_TLS: 'verify' }), /certificate/);
    await refused(at('x509', verify), /Access denied/);
    t.true(await isServed(at('x509', { ...verify, ...own })));

    const other = await serve('stranger');
    t.teardown(() => stopMariadb(other));
    await refused(at('ssl', verify, other.url), /not match|altnames/);
    const plain = await startMariadb(['--skip-ssl']);
    t.teardown(() => stopMariadb(plain));
    await refused(at('ssl', required, plain.url), /does not support secure|SSL/);
  },
);
