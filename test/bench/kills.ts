// How long devices are silent when a gateway is killed: `node test/bench/kills.ts [--kills N --clients N]`.
//
// Clients (Debian's wireguard-go) ping a host ten times a second. The gateway is killed without a
// warning and started again: N times a second after all clients have made a handshake, and N times
// when the last handshake is older, in turn. What counts is the slowest client of each kill. The bar:
// the slowest of all kills after a handshake is at most 1.3 times the slowest of the others. Needs root
// and network namespaces.

import process from 'node:process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Postern, until } from '../support/gateway/postern.ts';
import { makeKeyPair, WireguardClient } from '../support/network/wireguard-client.ts';
import { addressOf, buildNetwork, endpointOf, LAN, MTU } from './gateways.ts';
import { median } from './median.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '20' },
    clients: { type: 'string', default: '12' },
  },
});
const kills = Number(values.kills);

const API = '10.255.78.2';
const PING_EVERY_S = 0.1;
const FRESH_MS = 1_000;
/** Far longer than it takes until where a device is has been written. */
const CALM_MS = 6_000;
const PATIENCE_MS = 90_000;

/** A client, and when its last answer came (ms of this process). */
interface Pinging {
  readonly client: WireguardClient;
  readonly endpoint: string;
  lastAt: number;
}

async function connect(
  postern: Postern,
  host: WireguardClient['host'],
  i: number,
): Promise<Pinging> {
  const keys = makeKeyPair();
  const user = await postern.create('user', { email: `kills${i}@example.test` });
  const device = await postern.create('device', {
    user_id: user.id,
    public_key: keys.publicKey,
    ipv4: addressOf(i),
  });
  const client = new WireguardClient(host, {
    keys,
    serverPublicKey: String(device['server_public_key']),
    presharedKey: String(device['preshared_key']),
    endpoint: endpointOf(i),
    addresses: [addressOf(i)],
    routes: [`${LAN}/32`],
    mtu: MTU,
  });
  await client.start();
  const pinging = { client, endpoint: endpointOf(i), lastAt: 0 };
  const ping = host.start('ping', ['-n', '-i', String(PING_EVERY_S), LAN]);
  createInterface({ input: ping.stdout! }).on('line', (line) => {
    if (line.includes(' bytes from ')) pinging.lastAt = performance.now();
  });
  return pinging;
}

async function allAnswerAfter(all: readonly Pinging[], at: number): Promise<void> {
  await until(
    'all clients get an answer',
    () => all.every(({ lastAt }) => lastAt > at),
    PATIENCE_MS,
  );
}

/** Milliseconds without an answer, of the slowest client. */
async function killOnce(postern: Postern, all: readonly Pinging[]): Promise<number> {
  const before = all.map(({ lastAt }) => lastAt);
  await postern.kill();
  const killedAt = performance.now();
  const silent = before.map(() => 0);
  const haveAnswered = (): boolean => {
    for (const [i, { lastAt }] of all.entries())
      if (silent[i] === 0 && lastAt > killedAt) silent[i] = lastAt - before[i]!;
    return !silent.includes(0);
  };
  await Promise.all([
    postern.start(),
    until('all clients get an answer', haveAnswered, PATIENCE_MS),
  ]);
  return Math.max(...silent);
}

const { network, gateway, lan, clients } = await buildNetwork('pk', Number(values.clients));
const postern = new Postern(gateway, API, {
  WIREGUARD_TUN: 'required',
  WIREGUARD_MTU: String(MTU),
  LOG_LEVEL: 'warn',
});
try {
  await postern.start();
  await lan.ip('link', 'set', 'lo', 'up');
  const all = await Promise.all(clients.map((host, i) => connect(postern, host, i)));
  await allAnswerAfter(all, 0);
  const figures = { fresh: [] as number[], calm: [] as number[] };
  for (let i = 0; i < kills; i += 1)
    for (const kind of ['fresh', 'calm'] as const) {
      if (kind === 'fresh') {
        await Promise.all(all.map(({ client, endpoint }) => client.moveTo(endpoint)));
        await allAnswerAfter(all, performance.now());
      }
      await sleep(kind === 'fresh' ? FRESH_MS : CALM_MS);
      figures[kind].push(await killOnce(postern, all));
      process.stderr.write(`${kind}: ${figures[kind].at(-1)!.toFixed(0)} ms\n`);
    }
  for (const [kind, ms] of Object.entries(figures))
    process.stdout.write(
      `${kind}: median ${median(ms).toFixed(0)} ms, slowest ${Math.max(...ms).toFixed(0)} ms\n`,
    );
  const ratio = Math.max(...figures.fresh) / Math.max(...figures.calm);
  process.stdout.write(`slowest after a handshake / slowest of the others: ${ratio.toFixed(2)}\n`);
} finally {
  try {
    await postern.stop();
  } finally {
    await network.remove();
  }
}
