// The gateway's own address in the tunnel: the gateway itself ends TCP there for API and console,
// which get the connection with the address of the device. docs/guides/where-it-runs.md

import { readdirSync, readFileSync } from 'node:fs';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  GATEWAY4_BOB,
  LAN4,
  TUNNEL4,
  TUNNEL6,
} from '../support/network/topology.ts';
import { enrol } from './people.ts';

/** Connections of the crowd, and how many of them one address may have. */
const CROWD = 400;
const PER_ADDRESS = 256;

function residentOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) * 1_024;
}

async function begin(
  t: ExecutionContext,
  prefix: string,
  settings: Record<string, string>,
  launcher: string[] = [],
) {
  const topology = await buildTopology(prefix);
  t.teardown(() => topology.network.remove());
  const postern = new Postern(
    topology.gateway,
    API_ADDRESS,
    {
      ...WITHOUT_WARM_UP,
      HTTP_HOST: '::',
      HTTP_THROUGH_TUNNEL: 'on',
      DATAPLANE_ENGINE: 'native',
      DATAPLANE_WORKERS: '2',
      ...settings,
    },
    launcher,
  );
  await postern.start();
  t.teardown(() => postern.stop());
  const alice = await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
  const bob = await enrol(postern, topology.bob, 'b@example.test', `${GATEWAY4_BOB}:51820`);
  for (const { client } of [alice, bob])
    await until('a device is connected', () => canPing(client.host, TUNNEL4), 15_000);
  return { postern, alice, bob, gateway: topology.gateway };
}

for (const tun of ['sockets', 'off', 'required'])
  test.serial(`a device reaches API and console with WIREGUARD_TUN=${tun}`, async (t) => {
    t.timeout(300_000);
    const { postern, alice, bob, gateway } = await begin(t, `o${tun[0]}`, {
      WIREGUARD_TUN: tun,
    });
    const { host } = alice.client;
    const ask = async (from: typeof host, url: string, ...more: string[]) => {
      const words = ['-sS', '-m', '10', '-w', '\n%{http_code}', ...more, url];
      const { stdout } = await from.run('curl', ...words);
      const at = stdout.lastIndexOf('\n');
      return { body: stdout.slice(0, at), status: stdout.slice(at + 1) };
    };
    const header = ['-H', `authorization: Bearer ${postern.token}`];
    for (const address of [TUNNEL4, `[${TUNNEL6}]`]) {
      const url = `http://${address}:13000`;
      const list = await ask(host, `${url}/v0/devices`, ...header);
      t.is(list.status, '200', address);
      t.is(JSON.parse(list.body).data.length, 2);
      t.is((await ask(host, `${url}/`, '-H', 'accept: text/html')).status, '200');
    }
    const url = `http://${TUNNEL4}:13000/v0/users`;
    const user = JSON.stringify({ user: { email: 'c@example.test' } });
    const json = ['-H', 'content-type: application/json'];
    t.is((await ask(host, url, ...header, ...json, '-d', user)).status, '201');

    const large = `head -c 3000000 /dev/zero | curl -s -m 10 -w '%{http_code}' -o /dev/null -H '${header[1]}' -H '${json[1]}' --data-binary @- ${url}`;
    const { stdout: early } = await host.run('bash', '-c', large);
    t.is(early, '413', 'an answer that comes before the body has ended');

    for (const port of [13_001, 51_820]) {
      const other = `http://${TUNNEL4}:${port}/`;
      t.false(await host.succeeds('curl', '-s', '-m', '2', other), `nothing listens at ${port}`);
    }
    if (tun === 'required') {
      const service = gateway.start('python3', ['-m', 'http.server', '--bind', '::', '13002']);
      for (const address of [TUNNEL4, `[${TUNNEL6}]`]) {
        const words = ['-sf', '-m', '2', '-o', '/dev/null', `http://${address}:13002/`];
        await until('the host serves its own ports', () => host.succeeds('curl', ...words), 10_000);
      }
      service.kill();
      const { stdout: seen } = await gateway.run('ss', '-Htn', 'sport', '=', ':13000');
      t.false(seen.includes(TUNNEL4), 'the kernel of the host has no connection of a device');
    }

    const crowd = `for i in $(seq 200); do echo 'url = "http://${TUNNEL4}:13000/v0/users"'; echo 'output = /dev/null'; done | curl -s -m 30 -w '%{http_code}\n' -K - | sort | uniq -c`;
    const { stdout } = await host.run('bash', '-c', crowd);
    t.regex(stdout, / 429\n/, 'the device is limited by its address');
    const strange = await ask(bob.client.host, `http://${TUNNEL4}:13000/v0/users`);
    t.is(strange.status, '401', 'and another one is not');

    const waits = `exec 3<>/dev/tcp/${TUNNEL4}/13000; cat <&3 2>&1 || true`;
    const held = host.run('timeout', '40', 'bash', '-c', waits);
    await until('it is open', () =>
      postern.metrics().then((text) => /sockets\{protocol="tcp"\} 1/.test(text)),
    );
    await postern.create('rule', { action: 'drop', destination: TUNNEL4 });
    t.regex((await held).stdout, /Connection reset by peer/);
    t.false(await host.succeeds('curl', '-s', '-m', '2', `http://${TUNNEL4}:13000/`), 'a rule');
    await until('its sockets are closed', async () =>
      /sockets\{protocol="tcp"\} 0/.test(await postern.metrics()),
    );
  });

test.serial('a device that holds many connections costs what one address may', async (t) => {
  t.timeout(300_000);
  const { postern, alice, bob } = await begin(t, 'oh', { WIREGUARD_TUN: 'sockets' });
  const pid = postern.pid;
  const files = (): number => readdirSync(`/proc/${pid}/fd`).length;
  const [before, rss] = [files(), residentOf(pid)];
  // Each sends half of its headers, and waits.
  const crowd = `
    const { connect } = require('node:net');
    let closed = 0;
    for (let i = 0; i < ${CROWD}; i++) {
      const socket = connect(13000, '${TUNNEL4}', () => socket.write('GET / HTTP/1.1\\r\\nhost: a\\r\\n'));
      socket.on('error', () => undefined).on('close', () => ++closed);
    }
    setTimeout(() => { console.log(closed); process.exit(); }, 5000);
  `;
  const held = alice.client.host.run(process.execPath, '-e', crowd);
  await until('the crowd is there', () => files() - before >= PER_ADDRESS);
  const url = `http://${TUNNEL4}:13000/healthz`;
  t.true(await bob.client.host.succeeds('curl', '-sf', '-m', '5', url), 'another device is served');
  t.true(files() - before <= 2 * CROWD, `${files() - before} files`);
  const grown = residentOf(pid) - rss;
  t.true(grown < 64 * 1_048_576, `${grown} bytes`);
  t.true(Number((await held).stdout) >= CROWD - PER_ADDRESS, 'the others were closed');
  await until('all are closed', () => files() - before < 16);
});

// `kept` are connections of both devices that stay open: an address has a part of a listener's.
for (const [files, kept] of [
  [256, 8],
  [1_024, 48],
] as const)
  test.serial(`the API answers beside devices, with ${files} files`, async (t) => {
    t.timeout(300_000);
    const few = ['sh', '-c', `ulimit -n ${files} && exec "$0" "$@"`];
    const { postern, alice, bob } = await begin(t, 'of', { WIREGUARD_TUN: 'sockets' }, few);
    const open = (): number => readdirSync(`/proc/${postern.pid}/fd`).length;
    const before = open();
    let most = before;
    const looks = setInterval(() => (most = Math.max(most, open())), 10);
    t.teardown(() => clearInterval(looks));
    // Both open as many as they may, at the gateway's own address and at a port that refuses.
    const crowd = `
      const { connect } = require('node:net');
      const places = [['${TUNNEL4}', 13000], ['${LAN4}', 9]];
      for (let i = 0; i < 1500; i++) {
        const socket = connect(places[i % 2][1], places[i % 2][0]);
        socket.on('error', () => undefined).on('connect', () => socket.write('GET / HTTP/1.1\\r\\n'));
      }
      setTimeout(() => process.exit(), 8000);
    `;
    const crowds = [alice, bob].map(({ client }) => client.host.run(process.execPath, '-e', crowd));
    await until('the crowd is there', () => open() - before >= kept);
    for (let i = 0; i < 20; i++) {
      const answer = await fetch(`${postern.api}/v0/users`, {
        headers: { authorization: `Bearer ${postern.token}` },
      });
      t.is(answer.status, 200);
      await answer.body?.cancel();
    }
    await Promise.all(crowds);
    t.true(most < files - 16, `${most} of ${files} files were open`);
    t.log({ before, most });
    await until('all are closed', () => open() < 90, 130_000);
  });
