// Datagrams out: what the kernel refuses is tried in a simpler way, then counted. The datagrams
// after it are sent all the same.

import { ERROR_UDP_SEND, OFFSET, MARK_SEAL } from '../../../dataplane/contract.ts';
import type { Addon } from '../../../dataplane/native/index.ts';
import { endpoint, ENDPOINT_BYTES, readEndpoint } from '../../../dataplane/wire/address.ts';
import {
  NativeBench,
  type NativeBenchOptions,
  place,
  TARGET,
} from '../../support/dataplane/native.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { address, counting, udp } from '../../support/dataplane/packets.ts';

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

const refused: readonly [title: string, to: string, port: number][] = [
  ['a broadcast address', '255.255.255.255', 9],
  ['port 0', '127.0.0.1', 0],
  ['an IPv6 address without an IPv6 socket', '::1', 9],
];

for (const [title, to, port] of refused) {
  nativeTest(`a datagram to ${title} is counted, and those around it are sent`, (t, native) => {
    withBench(native, {}, (bench) => {
      const { engine } = bench;
      bench.aim(TARGET + 1, port, to);
      for (let i = 0; i < 9; i++) engine.send(counting(50 + i), TARGET + (i % 3 === 1 ? 1 : 0));
      t.deepEqual(
        bench.datagrams().map(({ length }) => length),
        [50, 52, 53, 55, 56, 58],
      );
      t.is(engine.errors[ERROR_UDP_SEND], 3);
    });
  });
}

nativeTest('a train that is refused is tried one by one, and each counted', (t, native) => {
  withBench(native, {}, (bench) => {
    const { engine } = bench;
    bench.aim(TARGET + 1, 9, '255.255.255.255');
    for (let i = 0; i < 5; i++) engine.send(counting(100), TARGET + 1);
    engine.send(counting(60), TARGET);
    t.is(bench.datagrams().length, 1);
    t.is(engine.errors[ERROR_UDP_SEND], 5);
  });
});

nativeTest(
  'an answer from an address that is no longer ours leaves from another one',
  (t, native) => {
    withBench(native, {}, (bench) => {
      const { engine } = bench;
      const at = TARGET * ENDPOINT_BYTES + endpoint.local;
      engine.endpoints.bytes.set(address('203.0.113.77'), at);
      engine.send(counting(40), TARGET);
      t.deepEqual(bench.datagrams(), [counting(40)]);
      t.is(engine.errors[ERROR_UDP_SEND], 0);
      t.deepEqual(engine.endpoints.bytes.slice(at, at + 4), new Uint8Array(4));
    });
  },
);

nativeTest('a train from an address that is not ours any more arrives as well', (t, native) => {
  withBench(native, {}, (bench) => {
    const { engine } = bench;
    engine.endpoints.bytes.set(address('203.0.113.77'), TARGET * ENDPOINT_BYTES + endpoint.local);
    for (let i = 0; i < 7; i++) engine.send(counting(100, i), TARGET);
    t.deepEqual(
      bench.datagrams(),
      Array.from({ length: 7 }, (_, i) => counting(100, i)),
    );
    t.is(engine.errors[ERROR_UDP_SEND], 0);
  });
});

nativeTest('the same over IPv6', (t, native) => {
  withBench(native, { isIpv6: true }, (bench) => {
    const { engine } = bench;
    engine.endpoints.bytes.set(address('2001:db8::77'), TARGET * ENDPOINT_BYTES + endpoint.local);
    engine.send(counting(100), TARGET);
    t.deepEqual(bench.datagrams(), [counting(100)]);
  });
});

nativeTest('an endpoint whose path takes no trains gets its datagrams one by one', (t, native) => {
  withBench(native, {}, (bench) => {
    const { engine } = bench;
    // The own note of the engine: until which second it sends nothing joined.
    const record = new DataView(engine.endpoints.bytes.buffer, TARGET * ENDPOINT_BYTES);
    record.setUint32(endpoint.identity, 0xffffffff, true);
    for (let i = 0; i < 6; i++) engine.send(counting(100, i), TARGET);
    engine.flush();
    bench.listener.poll(50);
    bench.listener.receive();
    const { count, descriptors } = bench.listener.datagrams;
    // Each is a message of its own, in a slot of its own.
    const slots = Array.from({ length: count }, (_, i) => descriptors[8 * i + 5]);
    t.is(count, 6);
    t.is(new Set(slots).size, 6);
  });
});

nativeTest('datagrams of one size for one endpoint leave as one train', (t, native) => {
  withBench(native, {}, (bench) => {
    for (let i = 0; i < 6; i++) bench.engine.send(counting(100, i), TARGET);
    bench.engine.flush();
    bench.listener.poll(50);
    bench.listener.receive();
    const { count, descriptors } = bench.listener.datagrams;
    t.is(count, 6);
    t.is(new Set(Array.from({ length: count }, (_, i) => descriptors[8 * i + 5])).size, 1);
  });
});

nativeTest('a queue that is full is sent without a call of flush', (t, native) => {
  withBench(native, {}, (bench) => {
    const { engine } = bench;
    const key = engine.installKey(KEY, KEY, 1)!;
    for (let i = 0; i < 64; i++) {
      const packet = udp({ source: '10.0.0.1', destination: '10.0.0.2', data: counting(50 + i) });
      place(engine.packets, i, packet, { mark: MARK_SEAL, key });
      t.is(engine.packets.descriptors[8 * i + OFFSET]! % 64, 0);
    }
    // 64 sizes make at most 64 joined messages; the queue holds 256.
    for (let round = 0; round < 8; round++) {
      for (let i = 0; i < 64; i++) engine.packets.descriptors[8 * i + 4] = MARK_SEAL;
      for (let i = 0; i < 64; i++)
        engine.packets.descriptors[8 * i + 1] = 78 + ((i * 17 + round) % 64);
      engine.seal(engine.packets);
    }
    t.is(bench.datagrams().length, 8 * 64);
    t.is(engine.errors[ERROR_UDP_SEND], 0);
  });
});

nativeTest('flushing an empty queue does nothing', (t, native) => {
  withBench(native, {}, (bench) => {
    bench.engine.flush();
    bench.engine.flush();
    t.deepEqual(bench.datagrams(), []);
  });
});

for (const [title, message, slot] of [
  ['nothing', new Uint8Array(0), TARGET],
  ['more than UDP can carry', new Uint8Array(65_508), TARGET],
  ['a negative endpoint', counting(10), -1],
  ['an endpoint past the table', counting(10), 128],
] as const) {
  nativeTest(`sending ${title} is a mistake of ours, and refused as one`, (t, native) => {
    withBench(native, {}, (bench) => {
      t.throws(() => bench.engine.send(message, slot), { instanceOf: TypeError });
      t.deepEqual(bench.datagrams(), []);
    });
  });
}

nativeTest('an endpoint is read when the queue is flushed', (t, native) => {
  withBench(native, {}, (bench) => {
    const { port } = readEndpoint(bench.engine.endpoints, TARGET)!;
    bench.aim(TARGET + 1, 9, '255.255.255.255');
    bench.engine.send(counting(10), TARGET + 1);
    bench.aim(TARGET + 1, port);
    t.deepEqual(bench.datagrams(), [counting(10)]);
  });
});

nativeTest('a send buffer with nothing in it has room for all of its size', (t, native) => {
  withBench(native, {}, ({ engine }) => {
    const room = engine.sendRoom();
    t.true(Number.isInteger(room) && room >= 100_000 && room <= 64 * 1_048_576, `${room}`);
    for (let i = 0; i < 20; i++) engine.send(counting(1_000), TARGET);
    t.is(engine.sendRoom(), room, 'what is queued here has not left yet');
  });
});
