// A stranger who knows the gateway's public key floods it with forged initiations, with the address
// of an honest client as their source, from all ports: each try of the client is answered all the
// same, and the slower flood does not cost more than the faster one.

import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { tries } from '../support/dataplane/seed.ts';
import { Network } from '../support/network/namespaces.ts';
import { Postern, threadSecondsOf } from '../support/gateway/postern.ts';
import { makeKeyPair } from '../support/network/wireguard-client.ts';

const API = '10.255.73';
const GATEWAY = '203.0.113.1';
/** The only source of the flood. */
const SOURCE = '10.66.0.2';
/**
 * The slower one finds at the first tries what it finds at all. At the faster one a gateway with too
 * few cookies answers for two seconds longer, because it may send many at once.
 */
const FLOODS = [
  { perSecond: 20_000, attempts: tries(60, 160) },
  { perSecond: 50_000, attempts: 160 },
];
/** The limit of a source that has its cookie is 20 a second. */
const EVERY_MS = 60;
/** What a flood lasts longer than the tries: it begins before the first and ends after the last. */
const MARGIN_SECONDS = 2.4;

/** Seconds of CPU of the busiest thread of a process but the main one, which is the worker. */
function workerSeconds(pid: number): number {
  const others = [...threadSecondsOf(pid)].filter(([tid]) => tid !== pid);
  return Math.max(...others.map(([, seconds]) => seconds));
}

/** Refusals by reason since this was asked last. */
async function dropsOf(postern: Postern): Promise<Record<string, number>> {
  // The kernel's counts are as of the last look, which is up to five seconds ago.
  await sleep(6_000);
  const drops = postern.drops();
  postern.output = '';
  return drops;
}

test.serial('a client whose address is flooded is served, at little cost', async (t) => {
  t.timeout(150_000);
  const network = new Network('fs');
  t.teardown(() => network.remove());
  const [attacker, gateway] = [await network.addHost('attacker'), await network.addHost('gw')];
  await network.link(
    { host: attacker, name: 'a0', addresses: ['203.0.113.2/24', `${SOURCE}/32`] },
    { host: gateway, name: 'g0', addresses: [`${GATEWAY}/24`] },
  );
  await network.link(
    { host: null, name: 'm0', addresses: [`${API}.1/30`] },
    { host: gateway, name: 'm1', addresses: [`${API}.2/30`] },
  );
  await gateway.ip('route', 'add', '10.66.0.0/16', 'via', '203.0.113.2');
  // Forged packets have an address of the very host that forwards them.
  await attacker.run(
    'sysctl',
    '-qw',
    'net.ipv4.conf.all.rp_filter=0',
    'net.ipv4.conf.default.accept_local=1',
  );
  // Others on this machine may not keep the worker from its socket.
  const postern = new Postern(gateway, `${API}.2`, {}, ['nice', '-n', '-15']);
  await postern.start();
  t.teardown(() => postern.stop());
  const user = await postern.create('user', { email: 'a@example.test' });
  const keys = makeKeyPair();
  const device = await postern.create('device', { user_id: user.id, public_key: keys.publicKey });
  const serverKey = String(device['server_public_key']);
  const run = async (program: string, ...args: (string | number)[]): Promise<string> => {
    const file = join(import.meta.dirname, `../support/network/${program}.ts`);
    const words = [process.execPath, file, ...args.map(String)];
    const { stdout } = await attacker.run('nice', '-n', '-10', ...words);
    return stdout;
  };

  const shares: number[] = [];
  for (const { perSecond, attempts } of FLOODS) {
    const lasts = (attempts * EVERY_MS) / 1_000 + MARGIN_SECONDS;
    const flooding = run('initiation-flood', GATEWAY, 51_820, serverKey, perSecond, lasts, 1);
    await sleep(1_000);
    const [before, beganAt] = [workerSeconds(postern.pid), performance.now()];
    const found = await run(
      'handshake-attempts',
      GATEWAY,
      51_820,
      SOURCE,
      900,
      serverKey,
      keys.privateKey,
      String(device['preshared_key']),
      attempts,
      EVERY_MS,
    );
    const seconds = (performance.now() - beganAt) / 1_000;
    const share = (workerSeconds(postern.pid) - before) / seconds;
    const flood = JSON.parse(await flooding) as { perSecond: number };
    const { served, answered } = JSON.parse(found) as { served: number; answered: number };
    const drops = await dropsOf(postern);
    t.log({ perSecond: Math.round(flood.perSecond), served, answered, share, drops });
    // What the machine had no time to receive nobody can answer.
    const lost = (drops['udp_socket_full'] ?? 0) / (flood.perSecond * lasts);
    const owed = attempts * Math.max(0, 1 - lost);
    t.true(answered >= 0.97 * owed, `${answered} of ${attempts} tries answered, ${owed} owed`);
    t.true(served > 0);
    shares.push(share);
  }
  const [slow = 0, fast = 0] = shares;
  t.true(slow < 1.25 * fast, `${slow} of a core at 20,000 a second, ${fast} at 50,000`);
});
