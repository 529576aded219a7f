// The compose files, as Docker Compose itself reads them: they are valid, alone and together, and
// what they say in one place agrees with what they say in another.

import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import test from 'ava';

const ROOT = resolve(import.meta.dirname, '../..');
const exec = promisify(execFile);
/** What whoever starts them is asked for. */
const ASKED = { DOMAIN: 'vpn.example.com', MYSQL_PASSWORD: 'x', DATABASE_ENCRYPTION_KEY: 'y' };
const AS_JSON = 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)';

interface Service {
  readonly user?: string;
  readonly cap_add?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly devices?: readonly unknown[];
  readonly read_only?: boolean;
  readonly environment: Record<string, string>;
  readonly ports?: readonly string[];
  readonly networks?: Record<string, { ipv4_address?: string } | null>;
}

interface Composed {
  readonly services: Record<string, Service>;
  readonly networks: Record<string, { ipam?: unknown; enable_ipv6?: boolean; internal?: boolean }>;
}

/** What Compose makes of files; rejects with what it finds wrong. */
async function compose(files: readonly string[], asked: object = ASKED): Promise<Composed> {
  const words = files.flatMap((file) => ['--file', file]);
  const script = 'docker-compose "$@" config | python3 -c "$AS_JSON"';
  const { stdout } = await exec('bash', ['-euo', 'pipefail', '-c', script, 'bash', ...words], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], AS_JSON, ...asked },
  });
  return JSON.parse(stdout) as Composed;
}

for (const files of [
  ['compose.yaml'],
  ['compose.mysql.yaml'],
  ['compose.yaml', 'compose.caddy.yaml'],
  ['compose.mysql.yaml', 'compose.caddy.yaml'],
  ['compose.restricted.yaml'],
  ['compose.restricted.yaml', 'compose.caddy.yaml'],
])
  test(`${files.join(' and ')}: Compose reads them, and no subnet is fixed`, async (t) => {
    t.timeout(60_000);
    const { services, networks } = await compose(files);
    for (const [name, { ipam }] of Object.entries(networks)) t.is(ipam, undefined, name);
    for (const { networks: own = {} } of Object.values(services))
      for (const place of Object.values(own)) t.is(place?.ipv4_address, undefined);
    t.true(networks['outside']?.enable_ipv6);
    if (files[0] === 'compose.mysql.yaml') t.true(networks['inside']?.internal);

    const { environment = {}, ports = [] } = services['gateway'] ?? {};
    t.true(ports.includes('127.0.0.1:13000:13000/tcp'), ports.join());
    if (services['caddy'] === undefined) {
      const { host } = new URL(String(environment['EXTERNAL_URL']));
      t.true(ports.includes(`${host}:13000/tcp`), 'EXTERNAL_URL is what is published');
      return;
    }
    t.is(environment['EXTERNAL_URL'], 'https://vpn.example.com/');
    t.true(environment['TRUSTED_PROXIES']! in services, 'a service is trusted by its name');
    t.deepEqual(
      Object.keys(services['caddy'].networks ?? {}),
      ['outside'],
      'where the gateway is, and not where its database is',
    );
  });

test('what is granted is needed, and what is not is not', async (t) => {
  const granted = (await compose(['compose.yaml'])).services['gateway'];
  t.deepEqual(granted?.cap_add, ['NET_ADMIN']);
  t.is(granted?.environment['WIREGUARD_TUN'], 'required');
  const { gateway } = (await compose(['compose.restricted.yaml'])).services;
  t.deepEqual(gateway?.cap_drop, ['ALL']);
  t.is(gateway?.cap_add, undefined);
  t.is(gateway?.devices, undefined);
  t.is(gateway?.user, '1000:0');
  t.true(gateway?.read_only);
  t.is(gateway?.environment['WIREGUARD_TUN'], 'sockets');
});

test('what must be set is asked for', async (t) => {
  const { DOMAIN: _, ...left } = ASKED;
  const error = await t.throwsAsync(compose(['compose.yaml', 'compose.caddy.yaml'], left));
  t.regex(
    String((error as unknown as { stderr: string }).stderr),
    /set it to the name of this host/,
  );
});
