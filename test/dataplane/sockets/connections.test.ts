// Connections by sockets of the kernel: a device learns at once that a port is refused, and what a
// device takes back leaves no connection, no slot and no descriptor.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { ExecutionContext } from 'ava';
import type { DeviceStream } from '../../../dataplane/memory/streams.ts';
import type { Addon } from '../../../dataplane/native/index.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { flagsOf, tcp } from '../../support/dataplane/packets.ts';
import { soon } from '../../support/network/host-sockets.ts';
import { LoopbackSockets, Rig } from '../../support/tcp/rig.ts';

const HOST = '192.0.2.7';
const LAPTOP = '10.8.0.2';
const CONNECTIONS = 10_000;
const AT_ONCE = 50;
/** Beyond a round trip, which takes nothing here. */
const REFUSED_MS = 50;

function begin(t: ExecutionContext, native: Addon): Rig {
  const openHostSockets = (options: ConstructorParameters<typeof LoopbackSockets>[1]) =>
    new LoopbackSockets(native, options);
  const rig = new Rig({ openHostSockets }, 1_024);
  t.teardown(() => rig.close());
  return rig;
}

async function serve(t: ExecutionContext, onSocket: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    onSocket(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** Waits until nothing is left: connections of the machine, slots of sockets, descriptors. */
async function nothingIsLeft(t: ExecutionContext, { egress }: Rig): Promise<void> {
  await soon(() => {
    const { connections, sockets, connecting, bufferedBytes } = egress.counts;
    return connections + sockets + connecting + bufferedBytes === 0 ? true : null;
  });
  t.is(egress.sockets.count, 0);
}

/** Everything that a device gets until its connection is reset. */
async function untilReset(stream: DeviceStream): Promise<Buffer> {
  const parts: Buffer[] = [];
  stream.on('data', (part: Buffer) => parts.push(part));
  const [error] = (await once(stream, 'error')) as [NodeJS.ErrnoException];
  if (error.code !== 'ECONNRESET') throw error;
  return Buffer.concat(parts);
}

nativeTest('what a host has sent before it resets arrives, then RST', async (t, native) => {
  const rig = begin(t, native);
  const answer = randomBytes(20_000);
  const port = await serve(t, (socket) =>
    socket.once('data', () => {
      socket.write(answer);
      socket.resetAndDestroy();
    }),
  );
  const laptop = rig.device(LAPTOP);
  for (let i = 0; i < 20; i++) {
    const stream = laptop.connect(HOST, port);
    stream.write('a question');
    t.true(answer.equals(await untilReset(stream)), `connection ${i}`);
  }
  await nothingIsLeft(t, rig);
});

nativeTest('an answer to a host that reads no further arrives, then RST', async (t, native) => {
  const rig = begin(t, native);
  const port = await serve(t, (socket) =>
    socket.once('readable', () => {
      socket.pause();
      socket.write('413 too large');
      socket.resetAndDestroy();
    }),
  );
  const laptop = rig.device(LAPTOP);
  for (let i = 0; i < 20; i++) {
    const stream = laptop.connect(HOST, port);
    stream.write(Buffer.alloc(300_000));
    t.is(String(await untilReset(stream)), '413 too large');
  }
  await nothingIsLeft(t, rig);
});

nativeTest('a host that resets after its FIN leaves nothing', async (t, native) => {
  const rig = begin(t, native);
  const port = await serve(t, (socket) => {
    socket.end('bye');
    setTimeout(() => socket.resetAndDestroy(), 20);
  });
  const stream = rig.device(LAPTOP).connect(HOST, port);
  t.is(String(await untilReset(stream)), 'bye');
  await nothingIsLeft(t, rig);
});

nativeTest('a refused port is seen at once', async (t, native) => {
  const rig = begin(t, native);
  const laptop = rig.device(LAPTOP);
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  taken.close();
  await once(taken, 'close');
  const waits: number[] = [];
  for (let i = 0; i < 20; i++) {
    const begun = performance.now();
    const [error] = (await once(laptop.connect(HOST, port), 'error')) as [NodeJS.ErrnoException];
    waits.push(performance.now() - begun);
    t.is(error.code, 'ECONNREFUSED');
  }
  // A busy machine delays most of them.
  t.true(Math.min(...waits) < REFUSED_MS, waits.map(Math.round).join());
  await nothingIsLeft(t, rig);
});

nativeTest('10,000 SYNs, each with a RST behind it, leave nothing', async (t, native) => {
  const rig = begin(t, native);
  const laptop = rig.device(LAPTOP);
  let accepted = 0;
  const destinationPort = await serve(t, () => void accepted++);
  for (let i = 0; i < CONNECTIONS; i += AT_ONCE) {
    const ends = Array.from({ length: AT_ONCE }, (_, k) => ({
      source: LAPTOP,
      destination: HOST,
      sourcePort: 10_000 + i + k,
      destinationPort,
      sequence: 9,
    }));
    laptop.send(...ends.map((one) => tcp({ ...one, flags: flagsOf('S') })));
    // Of every second batch the host is asked before the RST comes.
    const enough = accepted + AT_ONCE / 2;
    if ((i / AT_ONCE) % 2 === 0) await soon(() => (accepted >= enough ? true : null));
    laptop.send(...ends.map((one) => tcp({ ...one, flags: flagsOf('R'), sequence: 10 })));
  }
  await nothingIsLeft(t, rig);
  t.true(accepted > CONNECTIONS / 10, `the host was asked ${accepted} times`);
});
