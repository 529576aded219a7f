// Datagrams that are lost between the gateway and a host: each one is counted. What becomes of the
// others is in egress.test.ts.

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { constants } from 'node:os';
import test, { type ExecutionContext } from 'ava';
import { NativeHostSockets } from '../../../dataplane/io/host-sockets.ts';
import { PIECE_ERROR, PIECE_WORDS, SOCKET_LOST } from '../../../dataplane/socket-contract.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { address, udp } from '../../support/dataplane/packets.ts';
import { SocketBench, soon } from '../../support/network/host-sockets.ts';
import { LoopbackSockets, Rig } from '../../support/tcp/rig.ts';

const { EAGAIN, EMSGSIZE } = constants.errno;
const HOST = '192.0.2.7';
const LAPTOP = '10.8.0.2';
const BURST = 3_000;

/** A host that sends so many datagrams, all at once, for each one that it gets. */
async function burstingHost(t: ExecutionContext): Promise<number> {
  const host = createSocket('udp4');
  host.on('message', (asked, { address: to, port }) => {
    for (let i = 0; i < Number(String(asked)); i++) host.send(Buffer.alloc(1_000), port, to);
  });
  host.bind(0, '127.0.0.1');
  await once(host, 'listening');
  t.teardown(() => host.close());
  return host.address().port;
}

nativeTest('what had no room is counted, at the next datagram or at the end', async (t, native) => {
  const bench = SocketBench.for(t, (options) => new NativeHostSockets(native, options));
  const { sockets } = bench;
  const handle = sockets.connectUdp(address('127.0.0.1'), await burstingHost(t), 65_536);
  let got = 0;
  const ask = (datagrams: number): void => {
    bench.put(0, Buffer.from(`${datagrams}`));
    sockets.send(handle, 1);
  };
  const take = (): void => {
    for (;;) {
      for (let i = 0; i < 64; i++) bench.room(i);
      const taken = sockets.receive(handle, 64);
      if (taken <= 0) return;
      got += taken;
    }
  };
  const lost = (): number => sockets.error[SOCKET_LOST]!;
  /** All have come, as far as there was room; none is taken before. */
  const haveCome = (): Promise<unknown> => new Promise((resolve) => void setTimeout(resolve, 300));
  ask(BURST);
  await haveCome();
  take();
  ask(1);
  await soon(() => {
    take();
    return got + lost() === BURST + 1 ? true : null;
  });
  t.true(lost() > BURST / 2, `${lost()} were lost`);
  ask(BURST);
  await haveCome();
  const before = lost();
  take();
  sockets.closeSocket(handle);
  t.is(got + lost(), 2 * BURST + 1);
  t.true(lost() > before);
});

nativeTest('each datagram of a host comes to the device or is counted', async (t, native) => {
  const rig = new Rig({ openHostSockets: (options) => new LoopbackSockets(native, options) });
  t.teardown(() => rig.close());
  const laptop = rig.device(LAPTOP);
  const ends = { source: LAPTOP, destination: HOST, sourcePort: 7 };
  const destinationPort = await burstingHost(t);
  let sent = 0;
  for (const data of [`${BURST}`, '1']) {
    sent += Number(data);
    laptop.send(udp({ ...ends, destinationPort, data }));
    await soon(() => {
      const { egress_socket_full: lost = 0 } = rig.drops;
      const isLast = laptop.received.length + lost >= sent;
      // The kernel says at the next datagram what it has lost before.
      return isLast || (data !== '1' && laptop.received.length > 0) ? true : null;
    });
  }
  t.is(laptop.received.length + rig.drops['egress_socket_full']!, BURST + 1);
  t.true(rig.drops['egress_socket_full']! > BURST / 2);
});

test('a datagram that the kernel does not take is counted', (t) => {
  const rig = new Rig(() => ({ address: '127.0.0.1', port: 9 }));
  t.teardown(() => rig.close());
  const laptop = rig.device(LAPTOP);
  const { sockets } = rig.egress;
  const errors = [0, EAGAIN, EMSGSIZE, EMSGSIZE];
  sockets.send = (_handle, count) => {
    for (const [i, error] of errors.entries())
      sockets.pieces[i * PIECE_WORDS + PIECE_ERROR] = error;
    return count - 3;
  };
  sockets.sendFragmented = () => 0;
  sockets.pathMtu = () => 1_300;
  const ends = { source: LAPTOP, destination: HOST, sourcePort: 7, destinationPort: 9 };
  const data = Buffer.alloc(1_350);
  const [may, mayNot] = [0, 0x4000].map((fragment) => udp({ ...ends, data, fragment }));
  laptop.send(may!, may!, may!, mayNot!);
  t.deepEqual(rig.drops, { egress_send_failed: 2, packet_too_big: 1 });
});
