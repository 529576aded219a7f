// The way out in batches: padding and sizes, the order of each peer, and where keys end.

import {
  DATAGRAMS,
  LENGTH,
  OFFSET,
  MARK_SEAL,
  MARK_SEAL_EXHAUSTED,
  MARK_SEAL_INVALID,
  MARK_SEALED,
  MARK_SEALED_REKEY,
  MARK_TRUNCATED,
} from '../../../dataplane/contract.ts';
import { contentOf, NativeBench, place, TARGET, markOf } from '../../support/dataplane/native.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { counting, ip, join, udp, viewOf } from '../../support/dataplane/packets.ts';
import {
  full,
  opened,
  sealAll,
  tcpSegments,
  udpDatagrams,
  v4,
  withBench,
} from '../../support/dataplane/sealing.ts';

// ---- padding, sizes, reading -----------------------------------------------------------------

for (const mtu of [1_280, 1_419, 1_420, 1_500]) {
  nativeTest(`padding never goes past an MTU of ${mtu}`, (t, native) => {
    withBench(native, { mtu }, (bench, key) => {
      for (let length = mtu - 20; length <= mtu; length++)
        bench.feed(udp({ ...v4, data: counting(length - 28) }));
      sealAll(bench, key);
      const sizes = bench.datagrams().map((datagram) => datagram.length - 32);
      t.deepEqual(
        sizes,
        Array.from({ length: 21 }, (_, i) => Math.min(mtu, Math.ceil((mtu - 20 + i) / 16) * 16)),
      );
    });
  });
}

nativeTest('segments as large as the MTU are not padded past it', (t, native) => {
  withBench(native, { mtu: 1_420 }, (bench, key) => {
    const message = join(tcpSegments(full(4, 1_380)));
    bench.feed(message.packet, message.header);
    sealAll(bench, key);
    t.deepEqual(
      bench.datagrams().map(({ length }) => length),
      full(4, 1_452),
    );
  });
});

nativeTest('a packet longer than any may be is reported as cut off', (t, native) => {
  withBench(native, {}, (bench) => {
    bench.feed(counting(65_536, 0x45));
    bench.feed(counting(65_535, 0x45));
    bench.engine.readTun();
    t.is(bench.engine.packets.count, 2);
    t.is(markOf(bench.engine.packets, 0), MARK_TRUNCATED);
    t.not(markOf(bench.engine.packets, 1), MARK_TRUNCATED);
    t.is(bench.engine.packets.descriptors[8 + LENGTH], 65_535);
  });
});

nativeTest('a whole packet of 65,535 bytes is refused, not sent in pieces', (t, native) => {
  withBench(native, {}, (bench, key) => {
    const packet = counting(65_535);
    packet[0] = 0x45;
    bench.feed(packet);
    sealAll(bench, key);
    t.is(markOf(bench.engine.packets, 0), MARK_SEAL_INVALID);
  });
});

nativeTest('the largest packet that fits into a UDP datagram is sent', (t, native) => {
  withBench(native, {}, (bench, key) => {
    const packet = ip({ ...v4, protocol: 50, payload: counting(65_507 - 48 - 20) });
    bench.feed(packet);
    sealAll(bench, key);
    t.is(markOf(bench.engine.packets, 0), MARK_SEALED);
    t.deepEqual(opened(bench, bench.datagrams()), [packet]);
  });
});

nativeTest(
  'a message from the TUN that is no longer than its header is passed over',
  (t, native) => {
    withBench(native, {}, (bench) => {
      bench.feed(new Uint8Array(0));
      bench.feed(udp({ ...v4, data: 'x' }));
      bench.engine.readTun();
      t.is(bench.engine.packets.count, 1);
      t.deepEqual(contentOf(bench.engine.packets, 0), udp({ ...v4, data: 'x' }));
    });
  },
);

nativeTest('a batch ends when it is large, and the rest comes with the next', (t, native) => {
  withBench(native, {}, (bench) => {
    const packet = counting(60_000);
    packet[0] = 0x45;
    let fed = 0;
    for (; fed < 40; fed++) {
      try {
        bench.feed(packet);
      } catch {
        break;
      }
    }
    let [read, batches] = [0, 0];
    for (; read < fed; batches++) {
      bench.engine.readTun();
      read += bench.engine.packets.count;
      t.true(bench.engine.packets.count <= 9);
    }
    t.is(read, fed);
  });
});

// docs/bugs-of-others.md#bug-17: order of each peer.
nativeTest(
  'datagrams of several packets leave in order, across the ends of trains',
  (t, native) => {
    withBench(native, {}, (bench, key) => {
      const packets = [
        ...udpDatagrams(full(10, 500)),
        ...udpDatagrams([300, 500, 20, 500, 500]),
        ...udpDatagrams(full(49, 64)),
      ];
      for (const packet of packets) bench.feed(packet);
      sealAll(bench, key);
      t.deepEqual(opened(bench, bench.datagrams()), packets);
    });
  },
);

nativeTest('endpoints that take turns get each one train', (t, native) => {
  withBench(native, {}, (bench, key) => {
    const { engine, listener } = bench;
    bench.aim(TARGET + 1, 9);
    for (const [i, packet] of udpDatagrams(full(20, 100)).entries())
      place(engine.packets, i, packet, { mark: MARK_SEAL, key, address: TARGET + (i % 2) });
    engine.seal(engine.packets);
    engine.flush();
    listener.poll(50);
    listener.receive();
    const { count, descriptors } = listener.datagrams;
    t.is(count, 10);
    const slots = Array.from({ length: count }, (_, i) => descriptors[8 * i + 5]);
    t.is(new Set(slots).size, 1);
  });
});

// docs/bugs-of-others.md#bug-17: order of each peer.
nativeTest(
  'one endpoint among many gets its own in order, however far apart they are',
  (t, native) => {
    withBench(native, {}, (bench, key) => {
      const { engine } = bench;
      for (let other = 1; other < 8; other++) bench.aim(TARGET + other, 9);
      for (const [step, count] of [
        [2, 300],
        [7, 300],
        [65, 400],
      ] as const) {
        const packets = udpDatagrams(full(count, 30));
        engine.datagrams.count = 0;
        for (const [i, packet] of packets.entries()) {
          const other = i % step === 0 ? 0 : 1 + (i % 7);
          const marks = {
            mark: MARK_SEAL,
            key,
            address: TARGET + other,
            offset: 64 + 256 * i,
          };
          place(engine.datagrams, i, packet, marks);
        }
        engine.seal(engine.datagrams);
        t.deepEqual(
          opened(bench, bench.datagrams()),
          packets.filter((_, i) => i % step === 0),
        );
      }
    });
  },
);

// docs/bugs-of-others.md#bug-17: order of each peer.
nativeTest('endpoints that take turns get each its own, in order', (t, native) => {
  withBench(native, {}, (bench, key) => {
    const other = new NativeBench(native);
    try {
      const { engine } = bench;
      bench.aim(TARGET + 1, other.port);
      const packets = udpDatagrams(full(20, 100));
      for (const [i, packet] of packets.entries())
        place(engine.packets, i, packet, { mark: MARK_SEAL, key, address: TARGET + (i % 2) });
      engine.seal(engine.packets);
      t.deepEqual(
        opened(bench, bench.datagrams()),
        packets.filter((_, i) => i % 2 === 0),
      );
      other.engine.receive();
      const arrived = Array.from({ length: other.engine.datagrams.count }, (_, i) =>
        contentOf(other.engine.datagrams, i),
      );
      t.deepEqual(
        opened(bench, arrived),
        packets.filter((_, i) => i % 2 === 1),
      );
    } finally {
      other.close();
    }
  });
});

nativeTest('more datagrams than the queue holds are all sent', (t, native) => {
  withBench(native, {}, (bench, key) => {
    const message = join(tcpSegments(full(40, 1_380)));
    const { engine } = bench;
    for (let i = 0; i < 24; i++) {
      place(engine.packets, i, message.packet, { mark: MARK_SEAL, key });
      engine.packets.bytes.set(message.header, engine.packets.descriptors[8 * i + OFFSET]! - 10);
    }
    // 24 super-packets of 56 KB are more than the queue's megabyte.
    engine.seal(engine.packets);
    t.is(bench.datagrams().length, 24 * 40);
    t.is(engine.errors[1], 0);
  });
});

// docs/bugs-of-others.md#bug-1: limit of messages.
nativeTest('a key that sends its last message seals a super-packet as far as that', (t, native) => {
  withBench(native, { rejectAfterMessages: 5 }, (bench, key) => {
    const segments = tcpSegments(full(4, 100));
    const message = join(segments);
    bench.feed(message.packet, message.header);
    bench.feed(message.packet, message.header);
    bench.feed(message.packet, message.header);
    sealAll(bench, key);
    const { packets } = bench.engine;
    t.deepEqual(
      [0, 1, 2].map((i) => markOf(packets, i)),
      [MARK_SEALED, MARK_SEAL_EXHAUSTED, MARK_SEAL_EXHAUSTED],
    );
    t.deepEqual(
      [0, 1, 2].map((i) => packets.descriptors[8 * i + DATAGRAMS]),
      [4, 1, 0],
    );
    const datagrams = bench.datagrams();
    t.deepEqual(
      datagrams.map((datagram) => viewOf(datagram).getBigUint64(8, true)),
      [0n, 1n, 2n, 3n, 4n],
    );
    t.deepEqual(opened(bench, datagrams), [...segments, segments[0]]);
  });
});

nativeTest('a super-packet that has sent enough on its way says so', (t, native) => {
  withBench(native, { rekeyAfterMessages: 3 }, (bench, key) => {
    const message = join(tcpSegments(full(4, 100)));
    bench.feed(message.packet, message.header);
    sealAll(bench, key);
    t.is(markOf(bench.engine.packets, 0), MARK_SEALED_REKEY);
    t.is(bench.datagrams().length, 4);
  });
});

nativeTest('a key that is gone seals no segment of a super-packet', (t, native) => {
  withBench(native, {}, (bench, key) => {
    const message = join(tcpSegments(full(3, 100)));
    bench.feed(message.packet, message.header);
    bench.engine.removeKey(key.slot, key.generation);
    sealAll(bench, key);
    t.is(markOf(bench.engine.packets, 0), MARK_SEAL_EXHAUSTED);
    t.deepEqual(bench.datagrams(), []);
  });
});
