// Caddy before a gateway, as compose.caddy.yaml runs it: the same command, the same settings, names of
// services that are looked up, with a certificate of Caddy's own authority in the place of one from
// the internet.
//
//   visitor 192.0.2.2 -- 192.0.2.1 caddy 172.30.77.3 -- 172.30.77.2 gateway
//                                          10.255.92.2 (gateway) -- 10.255.92.1 this machine

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import { type Host, Network } from '../support/network/namespaces.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';

const COMPOSE = readFileSync(resolve(import.meta.dirname, '../../compose.caddy.yaml'), 'utf8');
const DOMAIN = 'vpn.example.com';
const ORIGIN = `https://${DOMAIN}`;
const VISITOR = '192.0.2.2';
const CADDY = '172.30.77.3';
const GATEWAY = '172.30.77.2';

/** What compose.caddy.yaml says under a name, with the domain in its place. */
function composed(name: string): string {
  const [, value = ''] = new RegExp(`^ *${name}: (.*)$`, 'm').exec(COMPOSE) ?? [];
  return value.replaceAll(/\$\{DOMAIN:[^}]*\}/g, DOMAIN);
}

test('the console and the API pass Caddy as compose.caddy.yaml sets it up', async (t) => {
  t.timeout(120_000);
  const network = new Network('pd');
  const folder = mkdtempSync(join(tmpdir(), 'postern-caddy-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  try {
    const { visitor, caddy, gateway } = await build(network);
    // Docker's resolver knows each service by its name.
    const names = `127.0.0.1 localhost\n${CADDY} caddy\n${GATEWAY} gateway\n`;
    for (const { namespace } of [caddy, gateway]) {
      const own = join('/etc/netns', namespace);
      mkdirSync(own, { recursive: true });
      writeFileSync(join(own, 'hosts'), names);
      t.teardown(() => rmSync(own, { recursive: true }));
    }
    const settings = {
      ...WITHOUT_WARM_UP,
      EXTERNAL_URL: composed('EXTERNAL_URL'),
      TRUSTED_PROXIES: composed('TRUSTED_PROXIES'),
      WIREGUARD_TUN: 'off',
    };
    t.is(settings.EXTERNAL_URL, `${ORIGIN}/`);
    const postern = new Postern(gateway, '10.255.92.2', settings);
    await postern.start();
    const words = composed('command').split(' ');
    t.deepEqual(words.slice(0, 2), ['caddy', 'reverse-proxy']);
    // Without programs it cannot add its authority to those that this machine trusts, which takes
    // half a minute on a busy machine.
    caddy.start('env', ['PATH=', '/usr/bin/caddy', ...words.slice(1), '--internal-certs'], {
      env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    });
    const ask = asker(visitor, folder);
    await until(
      'Caddy serves',
      async () => /"ready"/.test(await ask('/readyz').catch(() => '')),
      30_000,
    );

    // Whoever forgot the s is sent on.
    t.regex(
      await ask(`http://${DOMAIN}/`, '--head'),
      /^HTTP\/1\.1 308 [^]*^location: https:\/\/vpn\.example\.com\/\r$/im,
    );
    await signsIn(t, ask, postern);

    // Who asks is the visitor, whatever they said of themselves.
    t.regex(await ask('/user_account'), new RegExp(`\\b${VISITOR.replaceAll('.', '\\.')}\\b`));

    const bearer = ['--header', `Authorization: Bearer ${postern.token}`];
    const made = await ask(
      '/v0/users',
      ...bearer,
      '--json',
      '{"user":{"email":"a@example.com"}}',
      '--include',
    );
    t.regex(made, /^HTTP\/2 201 [^]*^location: \/v0\/users\/[^]*^postern-applied: true\r$/im);

    // Events come when they happen, not when there are enough of them.
    const live = await ask('/dashboard/live', '--no-buffer', '--include', '--max-time', '4').catch(
      (error: { stdout: string }) => error.stdout,
    );
    t.regex(live, /^content-type: text\/event-stream/im);
    t.true((live.match(/^data: /gm) ?? []).length >= 3, live);
  } finally {
    await network.remove();
  }
});

/** By the form, with cookies that a browser would send here and over HTTPS alone. */
async function signsIn(t: ExecutionContext, ask: Ask, postern: Postern): Promise<void> {
  const page = await ask('/', '--include', '--location');
  const cookies = [...page.matchAll(/^set-cookie: (.*)\r$/gim)].map(([, cookie = '']) => cookie);
  t.true(cookies.length > 0, page);
  for (const cookie of cookies) t.regex(cookie, /^__Host-postern-.*; Secure/);
  const [, token = ''] = /name="csrf-token" content="([^"]+)"/.exec(page) ?? [];
  const { DEFAULT_ADMIN_EMAIL: email = '', DEFAULT_ADMIN_PASSWORD: password = '' } =
    postern.environment;
  const form = new URLSearchParams({ csrf_token: token, email, password });
  const origin = ['--header', `Origin: ${ORIGIN}`, '--header', 'Sec-Fetch-Site: same-origin'];
  const claim = ['--header', 'X-Forwarded-For: 203.0.113.9'];
  const answer = await ask(
    '/auth/identity/callback',
    ...origin,
    ...claim,
    '--include',
    '--data',
    String(form),
  );
  t.regex(answer, /^HTTP\/2 30[23] /);
  t.regex(await ask('/dashboard'), /<h1[^>]*>Overview/);
}

/** Asks as a browser with cookies does, for a path of the gateway or a whole URL. */
type Ask = (where: string, ...options: string[]) => Promise<string>;

function asker(visitor: Host, folder: string): Ask {
  const cookies = join(folder, 'cookies');
  const names = ['80', '443'].flatMap((port) => ['--resolve', `${DOMAIN}:${port}:192.0.2.1`]);
  const always = ['--silent', '--insecure', '--cookie', cookies, '--cookie-jar', cookies, ...names];
  return async (where, ...options) => {
    const url = where.startsWith('/') ? ORIGIN + where : where;
    return (await visitor.run('curl', ...always, ...options, url)).stdout;
  };
}

async function build(network: Network): Promise<{ visitor: Host; caddy: Host; gateway: Host }> {
  const visitor = await network.addHost('visitor');
  const caddy = await network.addHost('caddy');
  const gateway = await network.addHost('gw');
  await network.link(
    { host: visitor, name: 'v0', addresses: [`${VISITOR}/24`] },
    { host: caddy, name: 'c0', addresses: ['192.0.2.1/24'] },
  );
  await network.link(
    { host: caddy, name: 'c1', addresses: [`${CADDY}/24`] },
    { host: gateway, name: 'g0', addresses: [`${GATEWAY}/24`] },
  );
  await network.link(
    { host: null, name: 'm0', addresses: ['10.255.92.1/30'] },
    { host: gateway, name: 'm1', addresses: ['10.255.92.2/30'] },
  );
  return { visitor, caddy, gateway };
}
