// How much memory the kernel keeps of the host's sockets, which `setRoom` bounds. The kernel's own
// tables say what waits to be read.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { constants } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { NativeHostSockets } from '../../../dataplane/io/host-sockets.ts';
import type { Addon } from '../../../dataplane/native/index.ts';
import { ROOM_RECEIVE, ROOM_SEND } from '../../../dataplane/socket-contract.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { SocketBench } from '../../support/network/host-sockets.ts';

const { EAGAIN, EBADF, EBUSY } = constants.errno;
const KIB = 1_024;
const MIB = 1_024 * KIB;
const ROOM = 32 * KIB;

interface Scene {
  readonly bench: SocketBench;
  readonly handle: number;
  readonly host: Socket;
  /** Bytes that wait to be read, as /proc/net/tcp says. */
  readonly waiting: () => number;
}

async function connect(t: ExecutionContext, addon: Addon, room: number): Promise<Scene> {
  const bench = SocketBench.for(t, (options) => new NativeHostSockets(addon, options));
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const { sockets } = bench;
  const connectTcp = sockets.connectTcp.bind(sockets);
  sockets.connectTcp = (address, to) => connectTcp(address, to, room);
  const accepted = once(server, 'connection');
  const handle = await bench.connect(port);
  const [host] = (await accepted) as [Socket];
  host.on('error', () => undefined);
  t.teardown(() => host.destroy());
  const remote = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const waiting = (): number => {
    const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n');
    const found = lines.map((line) => line.trim().split(/\s+/)).find((part) => part[2] === remote);
    return Number.parseInt(found![4]!.split(':')[1]!, 16);
  };
  return { bench, handle, host, waiting };
}

/** What waits when no more comes. */
async function settled(waiting: () => number): Promise<number> {
  for (let before = -1; ;) {
    const now = waiting();
    if (now > 0 && now === before) return now;
    before = now;
    await pause(50);
  }
}

nativeTest(
  'a host sends no more than there is room, and the window grows with it',
  async (t, native) => {
    const { bench, handle, host, waiting } = await connect(t, native, ROOM);
    host.write(Buffer.alloc(16 * MIB));
    const first = await settled(waiting);
    t.true(first <= ROOM, `${first} bytes`);
    t.is(bench.sockets.setRoom(handle, ROOM_RECEIVE, ROOM / 2), -EBUSY);
    // The scale of the window was not fixed by the small room.
    const got = bench.sockets.setRoom(handle, ROOM_RECEIVE, 4 * MIB);
    t.true(got > ROOM, `${got}`);
    await bench.read(handle, 8 * MIB);
    const later = await settled(waiting);
    t.true(later > 64 * KIB && later <= 4 * MIB, `${later} bytes`);
  },
);

nativeTest('what a host does not take fills no more than the room', async (t, native) => {
  const { bench, handle } = await connect(t, native, ROOM);
  const { sockets } = bench;
  const fill = async (): Promise<number> => {
    let written = 0;
    for (let quiet = 0; quiet < 5; quiet++) {
      bench.put(0, new Uint8Array(65_536));
      for (let took = 1; took > 0;) {
        took = sockets.write(handle, 1);
        if (took > 0) quiet = 0;
        written += Math.max(0, took);
        if (took < 0) t.is(took, -EAGAIN);
      }
      await pause(20);
    }
    return written;
  };
  const ofHost = await fill();
  // The host has taken what its own window allows; the kernel of this side keeps the rest.
  t.true(ofHost < 16 * MIB);
  t.true(sockets.setRoom(handle, ROOM_SEND, MIB) > ROOM);
  const more = await fill();
  t.true(more > 128 * KIB && more <= MIB, `${more} bytes more`);
  t.is(sockets.setRoom(handle + 1, ROOM_SEND, MIB), -EBADF);
});

nativeTest('a room must be a number that the kernel can have', async (t, native) => {
  const { bench, handle } = await connect(t, native, ROOM);
  for (const [direction, bytes] of [
    [2, ROOM],
    [ROOM_SEND, 0],
    [ROOM_SEND, 2 ** 25],
  ] as const)
    t.throws(() => bench.sockets.setRoom(handle, direction, bytes), { instanceOf: TypeError });
});

nativeTest('a room may be larger than net.core.rmem_max', async (t, native) => {
  const { bench, handle, host, waiting } = await connect(t, native, ROOM);
  const [most] = numbersOf('core/rmem_max');
  const ofTcp = numbersOf('ipv4/tcp_rmem')[2]!;
  const wanted = Math.min(16 * MIB, Math.floor(ofTcp / 2));
  // The kernel counts its own structures too, and doubles what it is asked for.
  if (wanted <= 2 * most!) {
    t.pass('this kernel gives TCP no more');
    return;
  }
  const got = bench.sockets.setRoom(handle, ROOM_RECEIVE, wanted);
  t.true(got >= wanted * 0.9 && got <= wanted * 1.1, `${got} of ${wanted}`);
  t.is(bench.sockets.setRoom(handle, ROOM_RECEIVE, got), got, 'it stays so');
  host.write(Buffer.alloc(16 * MIB));
  t.true((await settled(waiting)) > 0);
  await bench.read(handle, 16 * MIB);
  t.is(bench.sockets.setRoom(handle, ROOM_RECEIVE, ROOM), ROOM, 'and it can be small again');
});

function numbersOf(name: string): number[] {
  return readFileSync(`/proc/sys/net/${name}`, 'utf8').trim().split(/\s+/).map(Number);
}
