// The socket for `wg show`: what it answers, to whom, and that nothing can be changed there.

import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { answerTo, openUapi, type UapiDevice } from '../../../dataplane/io/uapi.ts';
import { counting } from '../../support/dataplane/packets.ts';
import { peer } from '../../support/dataplane/simulation.ts';

const key = Buffer.from(counting(32, 1));
const device: UapiDevice = {
  privateKey: counting(32, 9),
  listenPort: 51_820,
  peers: [
    {
      config: peer({ key: key.toString('base64'), ipv4: '10.0.0.2', ipv6: 'fd00::2' }),
      rxBytes: 10,
      txBytes: 2 ** 40,
      latestHandshakeMs: 1_700_000_000_250,
      endpoint: { address: '2001:db8::1', port: 7 },
    },
    {
      config: peer({ key: key.toString('base64') }),
      rxBytes: 0,
      txBytes: 0,
      latestHandshakeMs: null,
      endpoint: null,
    },
  ],
};

const wanted = [
  `private_key=${Buffer.from(counting(32, 9)).toString('hex')}`,
  'listen_port=51820',
  `public_key=${key.toString('hex')}`,
  `preshared_key=${'00'.repeat(32)}`,
  'protocol_version=1',
  'endpoint=[2001:db8::1]:7',
  'last_handshake_time_sec=1700000000',
  'last_handshake_time_nsec=250000000',
  'tx_bytes=1099511627776',
  'rx_bytes=10',
  'persistent_keepalive_interval=0',
  'allowed_ip=10.0.0.2/32',
  'allowed_ip=fd00::2/128',
  `public_key=${key.toString('hex')}`,
  `preshared_key=${'00'.repeat(32)}`,
  'protocol_version=1',
  'last_handshake_time_sec=0',
  'last_handshake_time_nsec=0',
  'tx_bytes=0',
  'rx_bytes=0',
  'persistent_keepalive_interval=0',
  'errno=0',
  '',
  '',
].join('\n');

function folder(t: ExecutionContext): string {
  const path = mkdtempSync(join(tmpdir(), 'postern-uapi-'));
  t.teardown(() => rmSync(path, { recursive: true, force: true }));
  return join(path, 'wireguard');
}

async function open(
  t: ExecutionContext,
  path = folder(t),
  asked: () => UapiDevice = () => device,
): Promise<string> {
  const uapi = await openUapi('wg-test', asked, path);
  t.teardown(() => uapi.close());
  return join(path, 'wg-test.sock');
}

async function dial(t: ExecutionContext, path: string): Promise<Socket> {
  const socket = connect(path).setEncoding('utf8');
  t.teardown(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** Sends text and reads until so many answers have come. */
async function ask(t: ExecutionContext, path: string, text: string, answers = 1): Promise<string> {
  const socket = await dial(t, path);
  socket.write(text);
  let read = '';
  while (read.split('\n\n').length <= answers) read += String((await once(socket, 'data'))[0]);
  return read;
}

// docs/bugs-of-others.md#bug-12: latest handshake.
test('an interface and its peers are shown, with keys in hex', (t) => {
  t.is(
    answerTo('get=1', () => device),
    wanted,
  );
});

for (const [operation, errno] of [
  ['set=1\nprivate_key=00', -1],
  ['set=1', -1],
  ['get=2', -71],
  ['', -71],
  ['GET / HTTP/1.1', -71],
] as const)
  test(`"${operation.replace('\n', ' ')}" is answered with errno ${errno}`, (t) => {
    t.is(
      answerTo(operation, () => device),
      `errno=${errno}\n\n`,
    );
  });

test('the socket answers only its owner, one operation after the other', async (t) => {
  const path = await open(t);
  t.is(statSync(path).mode & 0o777, 0o600);
  t.is(await ask(t, path, 'get=1\n\n'), wanted);
  t.is(await ask(t, path, 'get=1\n\nset=1\nlisten_port=1\n\n', 2), `${wanted}errno=-1\n\n`);
});

test('an operation may come in several parts', async (t) => {
  const path = await open(t);
  const socket = await dial(t, path);
  for (const piece of ['ge', 't=1', '\n', '\n']) {
    socket.write(piece);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  t.true(String((await once(socket, 'data'))[0]).startsWith('private_key='));
});

test('a client that never ends an operation is disconnected', async (t) => {
  const socket = await dial(t, await open(t));
  socket.on('error', () => undefined);
  socket.write('x'.repeat(100_000));
  await once(socket, 'close');
  t.pass();
});

/** Reads to the end. */
async function readAll(socket: Socket): Promise<string> {
  let read = '';
  for await (const piece of socket as AsyncIterable<string>) read += piece;
  return read;
}

/** An answer of a megabyte, more than fits between the two ends of a socket. */
function thousandsOfPeers(): UapiDevice['peers'] {
  return Array.from({ length: 2_000 }, () => [...device.peers]).flat();
}

/** Turns of the event loop, in which everything that is ready runs. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}

test('a client that asks many times at once gets each answer after it has read the one before', async (t) => {
  const operations = 4;
  const peers = thousandsOfPeers();
  let asked = 0;
  const path = await open(t, folder(t), () => {
    asked++;
    return { ...device, peers };
  });
  const socket = await dial(t, path);
  socket.write('get=1\n\n'.repeat(operations));
  while (asked === 0) await turns(1);
  await turns(100);
  t.is(asked, 1);
  socket.end();
  t.is((await readAll(socket)).split('errno=0').length - 1, operations);
  t.is(asked, operations);
});

test('other work goes on between the answers to a thousand operations', async (t) => {
  const operations = 1_000;
  let asked = 0;
  const path = await open(t, folder(t), () => {
    asked++;
    return { ...device, peers: [] };
  });
  const socket = await dial(t, path);
  socket.end('get=1\n\n'.repeat(operations));
  const answered = readAll(socket);
  while (asked === 0) await turns(1);
  await turns(10);
  t.true(asked < 100, `${asked} were answered in a few turns`);
  t.is((await answered).split('errno=0').length - 1, operations);
});

test('a client that closes its side after asking is answered', async (t) => {
  const socket = await dial(t, await open(t));
  socket.end('get=1\n\nget=1\n\nset=1\n\n');
  t.is(await readAll(socket), `${wanted}${wanted}errno=-1\n\n`);
});

test('a client that leaves in the middle of an answer does not disturb others', async (t) => {
  const peers = thousandsOfPeers();
  const path = await open(t, folder(t), () => ({ ...device, peers }));
  // One more than the limit of clients at a time.
  for (let i = 0; i < 20; i++) {
    const socket = await dial(t, path);
    socket.write('get=1\n\n'.repeat(4));
    await once(socket, 'data');
    socket.destroy();
    await once(socket, 'close');
  }
  t.regex(await ask(t, path, 'get=2\n\n'), /^errno=-71/);
});

test('closing ends open connections and removes the socket', async (t) => {
  const path = folder(t);
  const uapi = await openUapi('wg-test', () => device, path);
  const socket = await dial(t, join(path, 'wg-test.sock'));
  const closed = once(socket, 'close');
  await uapi.close();
  await closed;
  t.false(existsSync(join(path, 'wg-test.sock')));
});

test('a socket file that a crash left is replaced', async (t) => {
  const path = folder(t);
  const first = await openUapi('wg-test', () => device, path);
  const left = join(path, 'wg-test.sock');
  await first.close();
  // A bound socket whose process has ended: the path remains, and nobody answers.
  const script = `require('net').createServer().listen(${JSON.stringify(left)}, () => process.kill(process.pid, 'SIGKILL'))`;
  spawnSync(process.execPath, ['-e', script]);
  t.true(existsSync(left));
  t.is(await ask(t, await open(t, path), 'get=1\n\n'), wanted);
});

test('a socket that another process answers is left alone', async (t) => {
  const path = folder(t);
  await open(t, path);
  await t.throwsAsync(
    openUapi('wg-test', () => device, path),
    { message: /^another process answers at / },
  );
  t.is(await ask(t, join(path, 'wg-test.sock'), 'get=1\n\n'), wanted);
});

test('a path that is no folder is an error that names it', async (t) => {
  const path = folder(t);
  const server = createServer().listen(path);
  await once(server, 'listening');
  t.teardown(() => server.close());
  chmodSync(path, 0o600);
  await t.throwsAsync(
    openUapi('wg-test', () => device, path),
    { message: new RegExp(path) },
  );
});

test('each answer shows what is known when it is asked for', async (t) => {
  const path = folder(t);
  let port = 1_000;
  const asked = (): UapiDevice => ({ ...device, listenPort: port });
  const uapi = await openUapi('wg-test', asked, path, async () => void (port += 1));
  t.teardown(() => uapi.close());
  const socket = await dial(t, join(path, 'wg-test.sock'));
  socket.end('get=1\n\nget=1\n\n');
  t.deepEqual((await readAll(socket)).match(/listen_port=\d+/g), [
    'listen_port=1001',
    'listen_port=1002',
  ]);
});
