// Datagrams in: joined datagrams are separated, each sender is known, and every socket has its
// turn.

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import {
  ADDRESS,
  DATAGRAMS,
  ERROR_UDP_RECEIVE,
  LENGTH,
  OFFSET,
  MARK,
  MARK_DROP,
  MARK_SEAL,
} from '../../../dataplane/contract.ts';
import { SLOT_BYTES } from '../../../dataplane/constants.ts';
import { type Addon, EVENT_UDP, type NativeEngine } from '../../../dataplane/native/index.ts';
import {
  copyEndpoint,
  endpoint,
  ENDPOINT_BYTES,
  formatAddress,
  readEndpoint,
  writeEndpoint,
} from '../../../dataplane/wire/address.ts';
import {
  contentOf,
  NativeBench,
  type NativeBenchOptions,
  openNative,
  place,
  TARGET,
} from '../../support/dataplane/native.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { address, counting, join, tcp } from '../../support/dataplane/packets.ts';

const KEY = counting(32, 3);

function withBench(
  native: Addon,
  options: NativeBenchOptions,
  body: (bench: NativeBench) => void,
): void {
  const bench = new NativeBench(native, options);
  try {
    body(bench);
  } finally {
    bench.close();
  }
}

/** One batch; waits a moment for a machine that is busy. */
function receive(engine: NativeEngine): { length: number; slot: number; mark: number }[] {
  engine.poll(50);
  engine.receive();
  const d = engine.datagrams.descriptors;
  return Array.from({ length: engine.datagrams.count }, (_, i) => ({
    length: d[8 * i + LENGTH]!,
    slot: d[8 * i + ADDRESS]!,
    mark: d[8 * i + MARK]!,
  }));
}

/** Sends so many segments in one call, so that the datagrams leave joined. */
function sendTrain(bench: NativeBench, segments: number, payload: number, last = payload): void {
  const { engine } = bench;
  const key = engine.installKey(KEY, KEY, 1)!;
  const parts = Array.from({ length: segments }, (_, i) =>
    tcp({
      source: '10.0.0.1',
      destination: '10.0.0.2',
      sequence: 1 + i * payload,
      data: counting(i === segments - 1 ? last : payload, i),
    }),
  );
  const { header, packet } = join(parts);
  place(engine.packets, 0, packet, { mark: MARK_SEAL, key });
  engine.packets.bytes.set(header, engine.packets.descriptors[OFFSET]! - 10);
  engine.seal(engine.packets);
  if (engine.packets.descriptors[DATAGRAMS] !== segments) throw new Error('not sealed');
  engine.flush();
}

for (const isIpv6 of [false, true]) {
  const family = isIpv6 ? 'IPv6' : 'IPv4';

  // docs/bugs-of-others.md#bug-13: addresses of both families.
  nativeTest(
    `${family}: a datagram is received whole, with its sender and our own address`,
    (t, native) => {
      withBench(native, { isIpv6 }, (bench) => {
        const { engine, listener } = bench;
        engine.send(counting(300), TARGET);
        engine.flush();
        t.deepEqual(receive(listener), [{ length: 300, slot: 0, mark: MARK_DROP }]);
        t.deepEqual(contentOf(listener.datagrams, 0), counting(300));
        const loopback = isIpv6 ? '::1' : '127.0.0.1';
        t.deepEqual(readEndpoint(listener.endpoints, 0), { address: loopback, port: bench.port });
        const local = listener.endpoints.bytes.slice(
          endpoint.local,
          endpoint.local + (isIpv6 ? 16 : 4),
        );
        t.is(formatAddress(local), loopback);
      });
    },
  );

  nativeTest(`${family}: a train that the kernel joined is taken apart again`, (t, native) => {
    withBench(native, { isIpv6 }, (bench) => {
      sendTrain(bench, 30, 1_000);
      const received = receive(bench.listener);
      t.deepEqual(
        received,
        Array.from({ length: 30 }, () => ({ length: 1_072, slot: 0, mark: MARK_DROP })),
      );
    });
  });

  // docs/bugs-of-others.md#bug-9: joined datagrams.
  nativeTest(`${family}: the last datagram of a train may be shorter`, (t, native) => {
    withBench(native, { isIpv6 }, (bench) => {
      sendTrain(bench, 5, 1_000, 1);
      t.deepEqual(
        receive(bench.listener).map(({ length }) => length),
        [1_072, 1_072, 1_072, 1_072, 80],
      );
    });
  });
}

nativeTest('a train of the most datagrams that one may hold arrives complete', (t, native) => {
  withBench(native, {}, (bench) => {
    sendTrain(bench, 64, 500);
    const received = receive(bench.listener);
    t.is(received.length, 64);
    t.is(new Set(received.map(({ slot }) => slot)).size, 1);
  });
});

nativeTest('datagrams of a train stand one behind the other, each once', (t, native) => {
  withBench(native, {}, (bench) => {
    sendTrain(bench, 20, 700);
    receive(bench.listener);
    const { datagrams } = bench.listener;
    for (let i = 0; i < 20; i++) {
      t.is(datagrams.descriptors[8 * i + OFFSET], i * 784);
      // The counter of the message, which differs in each.
      t.is(contentOf(datagrams, i)[8], i);
    }
  });
});

// docs/bugs-of-others.md#bug-9: oversized or odd datagrams.
nativeTest('the largest datagram of UDP is taken', (t, native) => {
  withBench(native, {}, (bench) => {
    bench.engine.send(counting(65_507), TARGET);
    bench.engine.flush();
    t.deepEqual(receive(bench.listener), [{ length: 65_507, slot: 0, mark: MARK_DROP }]);
    t.deepEqual(contentOf(bench.listener.datagrams, 0), counting(65_507));
  });
});

nativeTest('an empty datagram is a descriptor of no bytes', async (t, native) => {
  const bench = new NativeBench(native);
  const socket = createSocket('udp4');
  try {
    socket.send(new Uint8Array(0), bench.port, '127.0.0.1');
    await once(socket, 'listening');
    for (let tries = 0; bench.engine.poll(0) === 0 && tries < 100; tries++)
      await new Promise((resolve) => setTimeout(resolve, 5));
    t.deepEqual(receive(bench.engine), [{ length: 0, slot: 0, mark: MARK_DROP }]);
  } finally {
    socket.close();
    bench.close();
  }
});

nativeTest('datagrams of every size are received as they were sent', (t, native) => {
  withBench(native, {}, (bench) => {
    const sizes = Array.from({ length: 60 }, (_, i) => 1 + ((i * 37) % 1_900));
    for (const size of sizes) bench.engine.send(counting(size, size), TARGET);
    t.deepEqual(
      bench.datagrams(),
      sizes.map((size) => counting(size, size)),
    );
  });
});

nativeTest('senders are distinguished, each in a slot of its own', (t, native) => {
  withBench(native, {}, (bench) => {
    const other = new NativeBench(native);
    try {
      const target = readEndpoint(bench.engine.endpoints, TARGET)!;
      other.aim(TARGET, target.port);
      bench.engine.send(counting(10, 1), TARGET);
      other.engine.send(counting(11, 2), TARGET);
      bench.engine.flush();
      other.engine.flush();
      const received = receive(bench.listener);
      t.deepEqual(
        received.map(({ length, slot }) => [
          length,
          readEndpoint(bench.listener.endpoints, slot)!.port,
        ]),
        [
          [10, bench.port],
          [11, other.port],
        ],
      );
    } finally {
      other.close();
    }
  });
});

nativeTest('a record forgets whatever its slot held before', (t, native) => {
  withBench(native, {}, (bench) => {
    bench.listener.endpoints.bytes.fill(0xee, 0, ENDPOINT_BYTES);
    bench.engine.send(counting(10), TARGET);
    bench.engine.flush();
    receive(bench.listener);
    const record = bench.listener.endpoints.bytes.subarray(0, ENDPOINT_BYTES);
    t.true(record.subarray(endpoint.address + 4, endpoint.local).every((byte) => byte === 0));
    t.true(record.subarray(endpoint.local + 4).every((byte) => byte === 0));
  });
});

nativeTest('an answer leaves from the address that was addressed', (t, native) => {
  withBench(native, {}, (bench) => {
    const { engine, listener } = bench;
    const { port } = readEndpoint(engine.endpoints, TARGET)!;
    bench.aim(TARGET, port, '127.1.2.3');
    engine.send(counting(10), TARGET);
    engine.flush();
    receive(listener);
    copyEndpoint(listener.endpoints, 0, TARGET);
    listener.send(counting(11), TARGET);
    listener.flush();
    t.is(receive(engine).length, 1);
    t.deepEqual(readEndpoint(engine.endpoints, 0), { address: '127.1.2.3', port });
  });
});

nativeTest('nothing has arrived: an empty batch, at once', (t, native) => {
  withBench(native, {}, (bench) => {
    bench.engine.receive();
    t.is(bench.engine.datagrams.count, 0);
    t.is(bench.engine.errors[ERROR_UDP_RECEIVE], 0);
  });
});

nativeTest('an engine without sockets receives nothing', (t, native) => {
  const engine = openNative(native, {
    udp4: -1,
    udp6: -1,
    wake: -1,
    tun: -1,
    tunTakesUdp: true,
    mtu: 1_420,
  });
  engine.receive();
  t.is(engine.datagrams.count, 0);
  engine.close();
});

nativeTest('a socket that is gone is counted, and does not throw', (t, native) => {
  const engine = openNative(native, {
    udp4: 1_000_000,
    udp6: -1,
    wake: -1,
    tun: -1,
    tunTakesUdp: true,
    mtu: 1_420,
  });
  engine.receive();
  t.is(engine.errors[ERROR_UDP_RECEIVE], 1);
  engine.close();
});

nativeTest(
  'large batches make the next ones shorter, and everything still arrives',
  (t, native) => {
    withBench(native, {}, (bench) => {
      let [sent, received] = [0, 0];
      for (let round = 0; round < 6; round++) {
        for (let i = 0; i < 30; i++) bench.engine.send(counting(60_000, i), TARGET);
        bench.engine.flush();
        sent += 30;
        while ((bench.listener.poll(20) & EVENT_UDP) !== 0) {
          bench.listener.receive();
          const { count, descriptors } = bench.listener.datagrams;
          for (let i = 0; i < count; i++) if (descriptors[8 * i + LENGTH] === 60_000) received++;
        }
      }
      // A socket of a machine with small buffers may lose some; most must arrive, and none twice.
      t.true(received <= sent && received > sent / 4, `${received} of ${sent}`);
    });
  },
);

/** An engine that listens on both families, and senders to each. */
function bothFamilies(native: Addon): {
  engine: NativeEngine;
  send: (isIpv6: boolean, count: number) => void;
  close: () => void;
} {
  const fds = [native.openUdp(false, 0), native.openUdp(true, 0)] as const;
  const options = { wake: -1, tun: -1, tunTakesUdp: true, mtu: 1_420 };
  const engine = openNative(native, { udp4: fds[0], udp6: fds[1], ...options });
  const senders = [false, true].map((isIpv6) => new NativeBench(native, { isIpv6 }));
  for (const [i, sender] of senders.entries()) {
    const to = i === 0 ? '127.0.0.1' : '::1';
    writeEndpoint(sender.engine.endpoints, TARGET, address(to), native.boundPort(fds[i]!));
  }
  return {
    engine,
    send(isIpv6, count) {
      const sender = senders[isIpv6 ? 1 : 0]!;
      // They differ in size, so that each is a message of its own.
      for (let i = 0; i < count; i++) sender.engine.send(counting(50 + i, i), TARGET);
      sender.engine.flush();
    },
    close() {
      for (const sender of senders) sender.close();
      engine.close();
      for (const fd of fds) native.closeFd(fd);
    },
  };
}

for (const crowdIsIpv6 of [false, true]) {
  const [crowd, lone] = crowdIsIpv6 ? ['IPv6', 'IPv4'] : ['IPv4', 'IPv6'];

  nativeTest(`a crowd over ${crowd} does not starve one sender over ${lone}`, (t, native) => {
    const { engine, send, close } = bothFamilies(native);
    try {
      send(crowdIsIpv6, 190);
      send(!crowdIsIpv6, 1);
      receive(engine);
      const families = Array.from(
        { length: engine.datagrams.count },
        (_, i) =>
          engine.endpoints.bytes[ENDPOINT_BYTES * engine.datagrams.descriptors[8 * i + ADDRESS]!],
      );
      t.true(families.includes(crowdIsIpv6 ? 4 : 6));
      t.true(families.includes(crowdIsIpv6 ? 6 : 4));
    } finally {
      close();
    }
  });

  nativeTest(
    `what comes over ${lone} after a wait that named ${crowd} is taken next`,
    (t, native) => {
      const { engine, send, close } = bothFamilies(native);
      const taken = (): number => {
        engine.receive();
        return engine.datagrams.count;
      };
      try {
        send(crowdIsIpv6, 1);
        t.is(engine.poll(50), EVENT_UDP);
        send(!crowdIsIpv6, 2);
        t.is(taken(), 1);
        t.is(engine.poll(50), EVENT_UDP);
        t.is(taken(), 2);
        // Without waiting, the engine gives what there is.
        send(crowdIsIpv6, 1);
        send(!crowdIsIpv6, 1);
        t.is(taken(), 2);
      } finally {
        close();
      }
    },
  );
}

nativeTest('messages of both families stand in slots of their own', (t, native) => {
  const { engine, send, close } = bothFamilies(native);
  try {
    send(false, 10);
    send(true, 10);
    receive(engine);
    const { count, descriptors } = engine.datagrams;
    t.is(count, 20);
    const slots = Array.from({ length: 20 }, (_, i) => descriptors[8 * i + ADDRESS]!);
    t.is(new Set(slots).size, 20);
    for (let i = 0; i < 20; i++) {
      t.is(descriptors[8 * i + OFFSET], slots[i]! * SLOT_BYTES);
      t.deepEqual(contentOf(engine.datagrams, i), counting(50 + (i % 10), i % 10));
    }
  } finally {
    close();
  }
});
