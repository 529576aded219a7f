// Several workers: each is ended under load, and only its own devices notice. Alice's device belongs
// to the first worker, which also takes the handshakes of all, Bob's to the second; the third has
// none, but a queue of the TUN.

import { chmodSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { Host } from '../support/network/namespaces.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  beginPace,
  buildTopology,
  canPing,
  GATEWAY4,
  GATEWAY4_BOB,
  LAN4,
  type Topology,
  Traffic,
  TUNNEL4,
} from '../support/network/topology.ts';
import { readExposition } from '../support/observe/exposition.ts';
import { measureSlowness } from '../support/suite/slowness.ts';
import { way } from '../support/suite/ways.ts';
import { enrol, type Person } from './people.ts';
import { differs, WORKER_ENDS } from './ways.ts';
import { temporaryFolder } from '../support/suite/temporary-folder.ts';

const WORKERS = 3;
const EVERY_MS = 2;
/** From the end of a worker until its devices are served again, on a quiet machine. */
const BACK_MS = 1_500;
/** Without root the address is that of a host which is not in the namespace of the gateway. */
const OF_OWN_ADDRESS = way === 'rootless' ? 'inner_destination_host' : 'inner_own_endpoint';
const ENDING = resolve(import.meta.dirname, '../support/gateway/ending-workers.ts');

let topology: Topology;
let postern: Postern;
let alice: Person;
let bob: Person;
const endings = temporaryFolder('postern-end-workers-');
// A gateway without root removes files there, too.
chmodSync(endings, 0o777);

test.before('a gateway with three workers, two users, a device each', async (t) => {
  t.timeout(120_000);
  topology = await buildTopology('wk');
  postern = new Postern(topology.gateway, API_ADDRESS, {
    DATAPLANE_WORKERS: String(WORKERS),
    NODE_OPTIONS: `--import=${ENDING}`,
    END_WORKERS: endings,
  });
  await postern.start();
  alice = await enrol(postern, topology.alice, 'alice@example.test', `${GATEWAY4}:51820`, 1);
  bob = await enrol(postern, topology.bob, 'bob@example.test', `${GATEWAY4_BOB}:51820`, 1);
  for (const { client } of [alice, bob])
    await until('the tunnel is up', () => canPing(client.host, TUNNEL4, 1), 20_000);
});

test.after.always(async () => {
  await postern?.stop();
  await topology?.network.remove();
});

/** What one end of paced traffic saw. */
interface Seen {
  readonly sent: number;
  readonly received: number;
  readonly gapMs: number;
}

type BothWays = Record<'up' | 'down', Seen>;

let port = 7_500;

/** Begins datagrams at a pace between two hosts, both ways; the result ends them. */
function pace(far: Host, near: Host, address: string): Promise<() => Promise<BothWays>> {
  return beginPace<Seen>(far, near, { address, port: ++port, everyMs: EVERY_MS });
}

/** A TCP stream of a device to the lan; the result ends it and says whether it came whole. */
async function stream({ client }: Person, to: Host): Promise<() => Promise<boolean>> {
  const here = ++port;
  const receiver = await new Traffic(to, 'receive', here).ready();
  const sender = new Traffic(client.host, 'trickle', LAN4, here, 1);
  return async () => {
    sender.child.stdin?.end();
    const [sent, received] = await Promise.all(
      [sender, receiver].map((end) => end.line((line) => 'sha256' in line)),
    );
    return sent!['sha256'] === received!['sha256'];
  };
}

/** How many datagrams of both ends were lost, and the longest time in which none came. */
function sum({ up: near, down: far }: BothWays): { lost: number; gapMs: number } {
  return {
    lost: near.sent - far.received + far.sent - near.received,
    gapMs: Math.max(near.gapMs, far.gapMs),
  };
}

/** What the gateway has refused, by reason: where a datagram is lost, it shows who lost it. */
async function refusals(): Promise<ReadonlyMap<string, number>> {
  const families = readExposition(await postern.metrics());
  const samples = families.get('wg_gateway_dropped_packets_total')?.samples ?? [];
  return new Map(samples.map(({ labels, value }) => [labels['reason']!, value]));
}

/** What the kernel did not hand to the TUN; without root it is in a namespace of its own. */
async function droppedAtTun(): Promise<number> {
  if (way !== 'tun') return 0;
  const path = '/sys/class/net/wg-postern/statistics/tx_dropped';
  return Number((await topology.gateway.run('cat', path)).stdout);
}

async function endWorker(t: ExecutionContext, number: number): Promise<void> {
  const before = postern.output.length;
  writeFileSync(join(endings, `${number}`), '');
  const ended = `worker ${number} of the data plane ended`;
  await until(ended, () => postern.output.slice(before).includes(ended));
  t.log(
    postern.output
      .slice(before)
      .split('\n')
      .filter((line) => line.includes('data plane')),
  );
}

for (let number = 0; number < WORKERS; number++)
  test.serial(
    `worker ${number} ends under load: only its devices notice, and not for long`,
    async (t) => {
      t.timeout(120_000);
      const { lan } = topology;
      const slowness = await measureSlowness();
      const own = [alice, bob][number];
      const ends = {
        alice: await pace(alice.client.host, lan, LAN4),
        bob: await pace(bob.client.host, lan, LAN4),
        both: await pace(alice.client.host, bob.client.host, String(bob.device['ipv4'])),
      };
      const streams = [
        [alice, await stream(alice, lan)],
        [bob, await stream(bob, lan)],
      ] as const;
      await sleep(1_500);
      const [before, droppedBefore] = [await refusals(), await droppedAtTun()];
      await endWorker(t, number);
      await sleep(2_500);
      const refused = [...(await refusals())].filter(([reason, n]) => n > before.get(reason)!);
      const dropped = (await droppedAtTun()) - droppedBefore;
      const said = `the gateway refused ${String(refused)}; the kernel dropped ${dropped} at the TUN`;
      for (const [of, end] of streams)
        if (of !== own || !differs(WORKER_ENDS)) t.true(await end(), 'a stream came whole');
        else await t.throwsAsync(end, { message: /ended without/ }, 'a stream was reset');
      const seen = {
        alice: sum(await ends.alice()),
        bob: sum(await ends.bob()),
        both: sum(await ends.both()),
      };
      t.log(seen);
      for (const [who, { lost, gapMs }] of Object.entries(seen)) {
        const isOwn = (own === alice && who !== 'bob') || (own === bob && who !== 'alice');
        if (!isOwn) t.is(lost, 0, `${who}; ${said}`);
        t.true(gapMs <= slowness * BACK_MS, `${who}: nothing came for ${gapMs} ms`);
      }
      const { status } = await postern.readiness();
      t.is(status, 'ready');
    },
  );

test.serial('a new address of the host is known to every worker', async (t) => {
  t.timeout(120_000);
  const address = '198.51.100.77';
  await topology.gateway.ip('address', 'add', `${address}/32`, 'dev', 'lo');
  for (const { client, user } of [alice, bob]) {
    const refused = async (): Promise<number> => (await refusals()).get(OF_OWN_ADDRESS)!;
    const before = await refused();
    const beacon = new Traffic(client.host, 'beacon', 51_820, 20, address);
    await until(`${String(user['email'])} is refused`, async () => (await refused()) > before + 5);
    await beacon.stop();
    await sleep(1_500);
  }
  t.pass();
});
