// The relay for TCP and its thread, which may end at any time: then the kernel redirects nothing to it.

import process from 'node:process';
import type { Worker } from 'node:worker_threads';
import test, { type ExecutionContext } from 'ava';
import { MAX_RELAYED } from '../../dataplane/constants.ts';
import { runNft } from '../../dataplane/io/nft.ts';
import { removeRelayTable } from '../../dataplane/io/relay-table.ts';
import { TcpRelay } from '../../dataplane/host/tcp-relay.ts';
import { until } from '../support/gateway/postern.ts';

const INTERFACE = 'relayed0';

interface Scene {
  readonly relay: TcpRelay;
  readonly log: string[];
  /** The thread, as soon as there is one. */
  readonly thread: Promise<Worker>;
}

function begin(t: ExecutionContext, filesMax: number | null = null): Scene {
  const log: string[] = [];
  const relay = new TcpRelay({
    interfaceName: INTERFACE,
    filesMax,
    log: (level, message) => log.push(`${level} ${message}`),
  });
  t.teardown(() => relay.close());
  const thread = new Promise<Worker>((resolve) => process.once('worker', resolve));
  return { relay, log, thread };
}

/** Whether the kernel redirects connections. */
async function isRedirected(t: ExecutionContext): Promise<boolean> {
  const answer = await runNft(['list', 'tables']);
  if ('error' in answer) return t.fail(answer.error);
  return answer.output.includes(INTERFACE);
}

test.serial('a thread that ends takes the redirection with it', async (t) => {
  const { relay, log, thread } = begin(t);
  await relay.open();
  t.true(await isRedirected(t));
  await (await thread).terminate();
  await until('the end of the redirection', async () => !(await isRedirected(t)));
  t.deepEqual(log, []);
});

test.serial('a thread that ends before it listens holds up no start', async (t) => {
  const { relay, log, thread } = begin(t);
  const opening = relay.open();
  await (await thread).terminate();
  await opening;
  t.false(await isRedirected(t));
  t.deepEqual(log, [
    'warn TCP connections of devices are not relayed: the thread of the relay has ended',
  ]);
});

test.serial('after a close nothing is redirected', async (t) => {
  const { relay } = begin(t);
  await relay.open();
  await relay.close();
  t.false(await isRedirected(t));
});

test.serial('a table that somebody removes is loaded again, and only then', async (t) => {
  const { relay, log } = begin(t);
  await relay.open();
  relay.restore();
  t.deepEqual(log, []);
  removeRelayTable(INTERFACE);
  t.false(await isRedirected(t));
  relay.restore();
  relay.restore();
  t.true(await isRedirected(t));
  t.deepEqual(log, ['warn the nft table of the relay for TCP has vanished and is loaded again']);
  await relay.close();
  relay.restore();
  t.false(await isRedirected(t));
});

test.serial('a thread that ends while the table is loaded again leaves no table', async (t) => {
  const { relay, log, thread } = begin(t);
  await relay.open();
  removeRelayTable(INTERFACE);
  const worker = await thread;
  relay.restore();
  await worker.terminate();
  relay.restore();
  await until('the end of the redirection', async () => !(await isRedirected(t)));
  t.is(log.length, 1);
});

test.serial('too few files are said at the start, with the fix', async (t) => {
  const few = begin(t, 1_024);
  await few.relay.open();
  t.is(few.log.length, 1);
  t.regex(few.log[0]!, /^warn .* 1024 files open, so 312 TCP .*: ulimit -n 16384$/);
  await few.relay.close();
  const enough = begin(t, 2 * MAX_RELAYED + 400);
  await enough.relay.open();
  t.deepEqual(enough.log, []);
});
