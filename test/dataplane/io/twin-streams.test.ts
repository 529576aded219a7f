// One TCP connection of the twin: how much of it waits in this process.

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { constants } from 'node:os';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import { TwinStream } from '../../../dataplane/io/twin-streams.ts';
import {
  SOCKET_CONNECTED,
  SOCKET_READABLE,
  SOCKET_WRITABLE,
} from '../../../dataplane/socket-contract.ts';
import { soon } from '../../support/network/host-sockets.ts';

const { EAGAIN } = constants.errno;

interface Scene {
  readonly stream: TwinStream;
  readonly peer: Socket;
  /** The flags of all events until now. */
  readonly flags: () => number;
}

async function connected(t: ExecutionContext): Promise<Scene> {
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  let flags = 0;
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const { port } = server.address() as AddressInfo;
  const stream = new TwinStream('127.0.0.1', port, (more) => {
    flags |= more;
  });
  const [peer] = await accepted;
  peer.on('error', () => undefined);
  await soon(() => ((flags & SOCKET_CONNECTED) !== 0 ? true : null));
  t.teardown(() => {
    stream.close(true);
    peer.destroy();
    server.close();
  });
  return { stream, peer, flags: () => flags };
}

test('a connection that nobody reads takes little of what the host sends', async (t) => {
  const { stream, peer, flags } = await connected(t);
  const sent = 64 * 1024 * 1024;
  peer.write(new Uint8Array(sent));
  await soon(() => ((flags() & SOCKET_READABLE) !== 0 ? true : null));
  await new Promise((resolve) => setTimeout(resolve, 100));
  // The buffers of the kernel are not of this process.
  t.true(peer.bytesWritten - peer.writableLength < sent);
  const room = new Uint8Array(1_048_576);
  t.true(stream.read([room]) <= 256 * 1024);
});

test('what a write takes and what it leaves is at most 64 KiB', async (t) => {
  const { stream, peer, flags } = await connected(t);
  const part = new Uint8Array(50_000);
  let taken = 0;
  await soon(() => {
    const took = stream.write([part, part]);
    if (took > 0) {
      t.true(took <= 65_536);
      taken += took;
    }
    // Node gives to the kernel before it returns; in the end the kernel is full, too.
    return took === -EAGAIN ? true : null;
  });
  t.true(taken >= 65_536);
  t.true((flags() & SOCKET_WRITABLE) !== 0);
  let read = 0;
  peer.on('data', (chunk: Uint8Array) => {
    read += chunk.length;
  });
  peer.resume();
  await soon(() => (read === taken ? true : null));
});

test.serial('what a closed connection still has for its host keeps no process alive', async (t) => {
  const { stream, peer } = await connected(t);
  const open = (): number =>
    process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  await soon(() => (stream.write([new Uint8Array(65_536)]) === -EAGAIN ? true : null));
  const before = open();
  stream.close(false);
  t.is(open(), before - 1);
  let read = 0;
  peer.on('data', (chunk: Uint8Array) => {
    read += chunk.length;
  });
  peer.resume();
  await once(peer, 'end');
  t.true(read > 65_536);
});

test('a connection that is reset while its half is ended is closed', async (t) => {
  const { stream } = await connected(t);
  stream.end();
  await new Promise<void>((resolve) => {
    stream.close(true, resolve);
  });
  t.pass();
});
