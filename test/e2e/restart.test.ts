// The worker dies of an exception: the gateway says so, and serves again within a second, on the
// same TUN, the same port and the rules in force, for a client that only goes on with what it did.
// The exception is thrown in the worker by Node's own inspector; nothing in Postern knows of it.

import test, { type ExecutionContext } from 'ava';
import { type Data, Postern, until } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  LAN4,
  LAN4_OTHER,
  LAN6,
  type Topology,
  Traffic,
} from '../support/network/topology.ts';
import { enginesOfRun } from '../support/gateway/engines.ts';
import { enrol } from './people.ts';
import { way } from '../support/suite/ways.ts';

const INSPECTOR_PORT = 9_229;
const BEACON_MS = 5;

/** A message of the inspector's protocol. */
interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly sessionId: string; readonly workerInfo: { readonly url: string } };
}

/** Lets something throw in the worker of a gateway that is run with an inspector. */
async function throwInWorker(): Promise<void> {
  const list = await fetch(`http://${API_ADDRESS}:${INSPECTOR_PORT}/json/list`);
  const [target] = (await list.json()) as { webSocketDebuggerUrl: string }[];
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '');
  await new Promise((resolve) => socket.addEventListener('open', resolve));
  const attached = new Promise<string>((resolve) =>
    socket.addEventListener('message', ({ data }) => {
      const { method, params } = JSON.parse(String(data)) as Message;
      if (method !== 'NodeWorker.attachedToWorker' || params === undefined) return;
      // The thread of SQLite is another one.
      if (params.workerInfo.url.includes('dataplane/worker')) resolve(params.sessionId);
    }),
  );
  const send = (method: string, params: object): void =>
    socket.send(JSON.stringify({ id: 1, method, params }));
  send('NodeWorker.enable', { waitForDebuggerOnStart: false });
  const sessionId = await attached;
  const expression = "setImmediate(() => { throw new Error('thrown by a test') })";
  const message = JSON.stringify({ id: 2, method: 'Runtime.evaluate', params: { expression } });
  send('NodeWorker.sendMessageToWorker', { sessionId, message });
  await new Promise((resolve) => setTimeout(resolve, 100));
  socket.close();
}

interface Interface {
  readonly ifindex: number;
}

async function tunOf({ gateway }: Topology): Promise<number> {
  if (way === 'sockets') return 0;
  const { stdout } = await gateway.run('ip', '-j', 'link', 'show', 'wg-postern');
  return (JSON.parse(stdout) as Interface[])[0]?.ifindex ?? 0;
}

/** What readiness says, again and again: each answer that differs from the one before. */
function watchReadiness({ api }: Postern): { said: { status: string; at: number }[]; end(): void } {
  const said: { status: string; at: number }[] = [];
  let isOver = false;
  const look = async (): Promise<void> => {
    while (!isOver) {
      const answer = await fetch(`${api}/readyz`);
      const { status } = (await answer.json()) as { status: string };
      if (said.at(-1)?.status !== status) said.push({ status, at: performance.now() });
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  void look();
  return { said, end: () => (isOver = true) };
}

async function dropOne(postern: Postern): Promise<Data> {
  return postern.create('rule', { action: 'drop', destination: LAN4_OTHER });
}

async function diesAndServes(
  t: ExecutionContext,
  topology: Topology,
  engine: string,
): Promise<void> {
  const postern = new Postern(topology.gateway, API_ADDRESS, {
    DATAPLANE_ENGINE: engine,
    NODE_OPTIONS: `--inspect=${API_ADDRESS}:${INSPECTOR_PORT}`,
  });
  await postern.start();
  const alice = await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
  const { host } = alice.client;
  t.true(await canPing(host, LAN4));
  await dropOne(postern);
  const tun = await tunOf(topology);
  const watch = await new Traffic(topology.lan, 'watch', 7100, LAN4, LAN4_OTHER).ready();
  const beacon = new Traffic(host, 'beacon', 7100, BEACON_MS, LAN4, LAN4_OTHER);
  await watch.line((line) => line['to'] === LAN4);
  // The gateway has to have seen where the device is: it looks once a second.
  await new Promise((resolve) => setTimeout(resolve, 2_000));

  const readiness = watchReadiness(postern);
  await throwInWorker();
  await until('it is noticed', () => readiness.said.some(({ status }) => status !== 'ready'));
  await until('it serves again', () => readiness.said.at(-1)?.status === 'ready');
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  readiness.end();
  await beacon.stop();
  await watch.stop();

  const [, down, up] = readiness.said;
  t.deepEqual(
    readiness.said.map(({ status }) => status),
    ['ready', 'data_plane_down', 'ready'],
  );
  t.true(up!.at - down!.at < 1_000, `down for ${up!.at - down!.at} ms`);
  const arrivals = watch.lines.filter((line) => line['to'] === LAN4).map(({ at }) => Number(at));
  const gaps = arrivals.slice(1).map((at, i) => at - arrivals[i]!);
  t.log({ downMs: up!.at - down!.at, silentMs: Math.max(...gaps) });
  // The restart, and the handshake that the gateway begins: no client waits for its own timers.
  t.true(Math.max(...gaps) < 1_000, `silent for ${Math.max(...gaps)} ms`);
  t.true(
    gaps.slice(-100).every((gap) => gap < 500),
    'and it goes on',
  );
  t.is(watch.lines.filter((line) => line['to'] === LAN4_OTHER).length, 0, 'the rule held');
  t.is(await tunOf(topology), tun, 'the TUN is the same');
  t.true(await canPing(host, LAN6));
  t.is((await postern.call('GET', '/v0/configuration')).status, 200);
  await postern.create('rule', { action: 'drop', destination: LAN4 });
  t.false(await canPing(host, LAN4), 'and changes are obeyed');
  const errors = postern.logLines().filter((line) => line['level'] === 'error');
  t.is(errors.length, 1);
  t.regex(
    String(errors[0]?.['msg']),
    /^worker \d of the data plane failed: Error: thrown by a test\n/,
  );
  await postern.stop();
}

for (const engine of enginesOfRun)
  test.serial(
    `${engine}: a worker that dies is started again, and its clients go on`,
    async (t) => {
      t.timeout(120_000);
      const topology = await buildTopology('pw');
      try {
        await diesAndServes(t, topology, engine);
      } finally {
        await topology.network.remove();
      }
    },
  );
