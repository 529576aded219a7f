// A kernel that refuses to give or to take, or does a part
// (docs/packets.md#failures-of-the-kernel): the refusal is counted, what comes before and after is
// moved, and nothing is tried without end.

import {
  ERROR_TUN_READ,
  ERROR_TUN_WRITE,
  ERROR_UDP_RECEIVE,
  LENGTH,
  MARK_DROP,
  MARK_TRUNCATED,
  MARK_TUN,
} from '../../../dataplane/contract.ts';
import {
  type Addon,
  EVENT_TUN,
  EVENT_TUN_GONE,
  EVENT_UDP,
} from '../../../dataplane/native/index.ts';
import { failingKernelTest } from '../../support/dataplane/failing-kernel.ts';
import {
  contentOf,
  NativeBench,
  openNative,
  place,
  TARGET,
  markOf,
} from '../../support/dataplane/native.ts';
import { counting, ip, udp } from '../../support/dataplane/packets.ts';

const MSG_CTRUNC = 0x08;
const MSG_TRUNC = 0x20;
const VIRTIO_HEADER = 10;

const addresses = { source: '10.0.0.2', destination: '192.0.2.1' };

function withBench(native: Addon, body: (bench: NativeBench) => void): void {
  const bench = new NativeBench(native);
  try {
    body(bench);
  } finally {
    bench.close();
  }
}

/** Lets datagrams arrive at the listener. */
function arrive({ engine, listener }: NativeBench, datagrams: readonly Uint8Array[]): void {
  for (const datagram of datagrams) engine.send(datagram, TARGET);
  engine.flush();
  listener.poll(1_000);
}

/** What the listener receives with one call. */
function receive({ listener }: NativeBench): { bytes: Uint8Array; mark: number }[] {
  listener.receive();
  return Array.from({ length: listener.datagrams.count }, (_, i) => ({
    bytes: contentOf(listener.datagrams, i),
    mark: markOf(listener.datagrams, i),
  }));
}

/** What the engine reads from its TUN with one call. */
function readTun({ engine }: NativeBench): Uint8Array[] {
  engine.readTun();
  return Array.from({ length: engine.packets.count }, (_, i) => contentOf(engine.packets, i));
}

// ---- datagrams in ----------------------------------------------------------------------------

for (const error of ['ENOBUFS', 'ENOMEM', 'EPERM', 'ECONNREFUSED', 'EIO'] as const) {
  failingKernelTest(
    `${error} on receiving is counted, and costs no datagram`,
    (t, native, kernel) => {
      withBench(native, (bench) => {
        const datagrams = [counting(100), counting(101), counting(102)];
        arrive(bench, datagrams);
        kernel.set('receive', { error, times: 1 });
        t.deepEqual(receive(bench), []);
        t.is(kernel.calls('receive'), 1, 'it is not tried on and on');
        t.is(bench.listener.errors[ERROR_UDP_RECEIVE], 1);
        t.is(bench.listener.poll(0), EVENT_UDP);
        t.deepEqual(
          receive(bench).map(({ bytes }) => bytes),
          datagrams,
        );
        t.is(bench.listener.errors[ERROR_UDP_RECEIVE], 1);
      });
    },
  );
}

for (const error of ['EAGAIN', 'EINTR'] as const) {
  failingKernelTest(`${error} on receiving is no error`, (t, native, kernel) => {
    withBench(native, (bench) => {
      arrive(bench, [counting(100)]);
      kernel.set('receive', { error, times: 1 });
      t.deepEqual(receive(bench), []);
      t.is(bench.listener.errors[ERROR_UDP_RECEIVE], 0);
      t.is(receive(bench).length, 1);
    });
  });
}

for (const [name, flags] of [
  ['MSG_TRUNC', MSG_TRUNC],
  ['MSG_CTRUNC', MSG_CTRUNC],
] as const) {
  failingKernelTest(
    `${name}: the message is marked as cut off, and those around it are not`,
    (t, native, kernel) => {
      withBench(native, (bench) => {
        const datagrams = [counting(100), counting(900), counting(101)];
        kernel.set('send', { most: 1 });
        // A small one and a large one are two trains; the last would join the second.
        arrive(bench, datagrams.slice(0, 2));
        arrive(bench, datagrams.slice(2));
        kernel.set('receive', { flags, largerThan: 500 });
        t.deepEqual(receive(bench), [
          { bytes: datagrams[0]!, mark: MARK_DROP },
          { bytes: datagrams[1]!, mark: MARK_TRUNCATED },
          { bytes: datagrams[2]!, mark: MARK_DROP },
        ]);
      });
    },
  );

  // docs/bugs-of-others.md#bug-9: joined datagrams.
  failingKernelTest(`${name}: a train is one message, and not taken apart`, (t, native, kernel) => {
    withBench(native, (bench) => {
      arrive(
        bench,
        Array.from({ length: 20 }, () => counting(500)),
      );
      kernel.set('receive', { flags });
      // The control data, which may be cut off, says where one datagram ends and the next begins.
      const [message, ...others] = receive(bench);
      t.is(message!.mark, MARK_TRUNCATED);
      t.is(message!.bytes.length, 20 * 500);
      t.deepEqual(others, []);
    });
  });
}

// ---- packets from the TUN --------------------------------------------------------------------

for (const error of ['EIO', 'ENOBUFS', 'EPERM', 'ENOMEM', 'EFAULT'] as const) {
  failingKernelTest(
    `${error} on reading the TUN is counted, and what can be read is read`,
    (t, native, kernel) => {
      withBench(native, (bench) => {
        const packets = [counting(100, 0x45), counting(101, 0x45)];
        for (const packet of packets) bench.feed(packet);
        kernel.set('read', { error, times: 1 });
        t.deepEqual(readTun(bench), []);
        t.is(kernel.calls('read'), 1, 'it is not tried on and on');
        t.is(bench.engine.errors[ERROR_TUN_READ], 1);
        t.is(bench.engine.poll(0), EVENT_TUN, 'it is there still');
        t.deepEqual(readTun(bench), packets);
        t.is(bench.engine.errors[ERROR_TUN_READ], 1);
      });
    },
  );
}

for (const error of ['EAGAIN', 'EINTR'] as const) {
  failingKernelTest(`${error} on reading the TUN is no error`, (t, native, kernel) => {
    withBench(native, (bench) => {
      bench.feed(counting(100, 0x45));
      kernel.set('read', { error, times: 1 });
      t.deepEqual(readTun(bench), []);
      t.is(bench.engine.errors[ERROR_TUN_READ], 0);
      t.is(readTun(bench).length, 1);
    });
  });
}

for (const error of ['EBADFD', 'EBADF', 'ENODEV'] as const) {
  // docs/bugs-of-others.md#bug-15: TUN gone.
  failingKernelTest(
    `${error}: a TUN that has vanished is counted, reported once and no longer read`,
    (t, native, kernel) => {
      withBench(native, (bench) => {
        bench.feed(counting(100, 0x45));
        kernel.set('read', { error });
        t.deepEqual(readTun(bench), []);
        t.is(bench.engine.errors[ERROR_TUN_READ], 1);
        t.is(bench.engine.poll(0), EVENT_TUN_GONE);
        for (let turn = 0; turn < 100; turn++) t.is(bench.engine.poll(0), 0);
        t.is(kernel.calls('read'), 1);
        // Packets that wait for the TUN are lost and counted; datagrams go on.
        kernel.set('write', { error });
        place(bench.engine.datagrams, 0, udp(addresses), { mark: MARK_TUN });
        bench.engine.writeTun(bench.engine.datagrams);
        t.is(bench.engine.errors[ERROR_TUN_WRITE], 1);
        bench.engine.send(counting(50), TARGET);
        t.deepEqual(bench.datagrams(), [counting(50)]);
      });
    },
  );
}

failingKernelTest('the end of the TUN is counted like any other way to vanish', (t, native) => {
  const [tun, far] = native.openPair();
  const without = { udp4: -1, udp6: -1, wake: -1, tunTakesUdp: true, mtu: 1_420 };
  const engine = openNative(native, { ...without, tun });
  native.closeFd(far);
  engine.readTun();
  t.is(engine.packets.count, 0);
  t.is(engine.errors[ERROR_TUN_READ], 1);
  t.is(engine.poll(0), EVENT_TUN_GONE);
  t.is(engine.poll(0), 0);
  engine.close();
  native.closeFd(tun);
});

for (const bytes of [1, VIRTIO_HEADER - 1, VIRTIO_HEADER]) {
  failingKernelTest(
    `a read of ${bytes} bytes holds no packet: counted, and passed over`,
    (t, native, kernel) => {
      withBench(native, (bench) => {
        for (let i = 0; i < 3; i++) bench.feed(counting(100, 0x45));
        kernel.set('read', { most: bytes });
        t.deepEqual(readTun(bench), []);
        t.is(bench.engine.errors[ERROR_TUN_READ], 3);
        t.is(kernel.calls('read'), 3 + 1, 'each once, and the last finds nothing');
        kernel.heal();
        bench.feed(counting(100, 0x45));
        t.deepEqual(readTun(bench), [counting(100, 0x45)]);
      });
    },
  );
}

failingKernelTest(
  'a packet that was read in part is as long as what was read',
  (t, native, kernel) => {
    withBench(native, (bench) => {
      bench.feed(counting(100, 0x45));
      kernel.set('read', { most: VIRTIO_HEADER + 30 });
      t.deepEqual(readTun(bench), [counting(100, 0x45).slice(0, 30)]);
      t.is(bench.engine.packets.descriptors[LENGTH], 30);
    });
  },
);

// ---- packets to the TUN ----------------------------------------------------------------------

for (const error of ['EIO', 'ENOBUFS', 'EPERM', 'EAGAIN', 'EINVAL'] as const) {
  failingKernelTest(
    `${error} on writing to the TUN costs that packet alone, and is counted`,
    (t, native, kernel) => {
      withBench(native, (bench) => {
        const packets = [50, 900, 51, 901].map((length) =>
          ip({ ...addresses, protocol: 50, payload: counting(length) }),
        );
        for (const [i, packet] of packets.entries())
          place(bench.engine.datagrams, i, packet, { mark: MARK_TUN });
        kernel.set('write', { error, largerThan: 500 });
        bench.engine.writeTun(bench.engine.datagrams);
        t.deepEqual(
          bench.packets(),
          packets.filter(({ length }) => length < 500),
        );
        t.is(bench.engine.errors[ERROR_TUN_WRITE], 2);
        t.is(kernel.calls('write'), packets.length, 'each is tried once');
      });
    },
  );
}

failingKernelTest(
  'a signal that interrupts writing to the TUN loses nothing',
  (t, native, kernel) => {
    withBench(native, (bench) => {
      place(bench.engine.datagrams, 0, udp(addresses), { mark: MARK_TUN });
      kernel.set('write', { error: 'EINTR', times: 3 });
      bench.engine.writeTun(bench.engine.datagrams);
      t.is(bench.packets().length, 1);
      t.is(bench.engine.errors[ERROR_TUN_WRITE], 0);
    });
  },
);
