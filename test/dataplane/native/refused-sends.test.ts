// A kernel that refuses to send, in every way that it may (docs/packets.md#failures-of-the-kernel):
// what comes behind goes out all the same, what is lost is counted once, and nobody tries without
// end.

import { ERROR_UDP_SEND } from '../../../dataplane/contract.ts';
import type { Addon } from '../../../dataplane/native/index.ts';
import { endpoint, ENDPOINT_BYTES } from '../../../dataplane/wire/address.ts';
import { failingKernelTest } from '../../support/dataplane/failing-kernel.ts';
import { NativeBench, TARGET } from '../../support/dataplane/native.ts';
import { counting } from '../../support/dataplane/packets.ts';

/** Another endpoint than TARGET, at the same socket. */
const OTHER = TARGET + 1;
const TEN_MINUTES = 600;

function withBench(native: Addon, body: (bench: NativeBench) => void): void {
  const bench = new NativeBench(native);
  try {
    bench.aim(OTHER, native.boundPort(bench.listeningSocket));
    body(bench);
  } finally {
    bench.close();
  }
}

/** Queues datagrams of such lengths, each of bytes of its own, and returns them. */
function queue({ engine }: NativeBench, lengths: readonly number[], slot = TARGET): Uint8Array[] {
  const datagrams = lengths.map((length, i) => counting(length, i));
  for (const datagram of datagrams) engine.send(datagram, slot);
  return datagrams;
}

function repeated(length: number, count: number): number[] {
  return Array.from({ length: count }, () => length);
}

/** Seconds of the clock of the engine's note, until which an endpoint gets no trains. */
function singleUntil({ engine }: NativeBench, slot: number): number {
  const record = new DataView(engine.endpoints.bytes.buffer, slot * ENDPOINT_BYTES);
  return record.getUint32(endpoint.identity, true);
}

function endSingles({ engine }: NativeBench, slot: number): void {
  const record = new DataView(engine.endpoints.bytes.buffer, slot * ENDPOINT_BYTES);
  record.setUint32(endpoint.identity, 1, true);
}

// ---- a part of a batch -----------------------------------------------------------------------

// docs/bugs-of-others.md#bug-14: partial batches.
failingKernelTest(
  'a kernel that takes a few messages a call is given the rest',
  (t, native, kernel) => {
    withBench(native, (bench) => {
      const lengths = Array.from({ length: 50 }, (_, i) => 100 + i);
      const datagrams = queue(bench, lengths);
      kernel.set('send', { most: 7 });
      t.deepEqual(bench.datagrams(), datagrams);
      t.is(bench.engine.errors[ERROR_UDP_SEND], 0);
      t.is(kernel.calls('send'), Math.ceil(50 / 7));
    });
  },
);

for (const error of ['EPERM', 'EACCES', 'EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN'] as const) {
  // docs/bugs-of-others.md#bug-14: partial batches.
  failingKernelTest(
    `${error} in the middle of a batch costs that datagram alone`,
    (t, native, kernel) => {
      withBench(native, (bench) => {
        const datagrams = queue(bench, [100, 101, 900, 102, 901, 103]);
        kernel.set('send', { error, largerThan: 500 });
        t.deepEqual(
          bench.datagrams(),
          datagrams.filter(({ length }) => length <= 500),
        );
        t.is(bench.engine.errors[ERROR_UDP_SEND], 2);
        // Two parts, a refusal of each of the two, and at most two more tries of each alone.
        t.true(kernel.calls('send') <= 1 + 2 * (1 + 2 + 1), `${kernel.calls('send')}`);
      });
    },
  );
}

failingKernelTest(
  'a train that is refused for good is counted, datagram by datagram',
  (t, native, kernel) => {
    withBench(native, (bench) => {
      queue(bench, repeated(200, 30));
      kernel.set('send', { error: 'EPERM' });
      t.deepEqual(bench.datagrams(), []);
      t.is(bench.engine.errors[ERROR_UDP_SEND], 30);
      t.is(kernel.calls('send'), 1 + 30);
      kernel.heal();
      const datagrams = queue(bench, repeated(200, 5));
      t.deepEqual(bench.datagrams(), datagrams, 'what comes later is not held against it');
      t.is(bench.engine.errors[ERROR_UDP_SEND], 30);
    });
  },
);

failingKernelTest(
  'a train for a family without a socket is counted, datagram by datagram',
  (t, native) => {
    withBench(native, (bench) => {
      bench.aim(OTHER, 9, '2001:db8::1');
      queue(bench, repeated(200, 5), OTHER);
      const datagrams = queue(bench, [60]);
      t.deepEqual(bench.datagrams(), datagrams);
      t.is(bench.engine.errors[ERROR_UDP_SEND], 5);
    });
  },
);

// ---- trains ----------------------------------------------------------------------------------

// docs/bugs-of-others.md#bug-14: EIO of an offload.
failingKernelTest('EIO: trains are off, and each datagram arrives', (t, native, kernel) => {
  withBench(native, (bench) => {
    kernel.set('send', { error: 'EIO', trainsOnly: true });
    const first = [...queue(bench, repeated(300, 20)), ...queue(bench, repeated(200, 20), OTHER)];
    t.deepEqual(bench.datagrams(), first);
    t.true(kernel.trains > 0);
    kernel.set('send', { error: 'EIO', trainsOnly: true });
    const second = [...queue(bench, repeated(300, 20)), ...queue(bench, repeated(200, 20), OTHER)];
    t.deepEqual(bench.datagrams(), second);
    t.is(kernel.trains, 0, 'nobody is asked again');
    t.is(kernel.calls('send'), 1, 'single datagrams still leave in one call');
    t.is(singleUntil(bench, TARGET), 0, 'it is the device that takes none, not the path');
    t.is(bench.engine.errors[ERROR_UDP_SEND], 0);
  });
});

for (const error of ['EINVAL', 'EMSGSIZE'] as const) {
  failingKernelTest(
    `${error}: an endpoint whose path refuses a train gets none for ten minutes`,
    (t, native, kernel) => {
      withBench(native, (bench) => {
        const refused = { error, trainsOnly: true, largerThan: 2_000 };
        kernel.set('send', refused);
        // The train of the other endpoint is small enough, and neither is disturbed by the other.
        const sent = [
          ...queue(bench, repeated(300, 20)),
          ...queue(bench, repeated(200, 5), OTHER),
          ...queue(bench, repeated(100, 3)),
        ];
        const before = process.hrtime()[0];
        t.deepEqual(bench.datagrams(), sent);
        const after = process.hrtime()[0];
        t.is(bench.engine.errors[ERROR_UDP_SEND], 0);
        const until = singleUntil(bench, TARGET);
        t.true(until >= before - 1 + TEN_MINUTES && until <= after + TEN_MINUTES, `${until}`);
        t.is(singleUntil(bench, OTHER), 0);

        kernel.set('send', refused);
        const singles = queue(bench, repeated(300, 20));
        t.deepEqual(bench.datagrams(), singles);
        t.is(kernel.trains, 0, 'the path is spared for as long');
        kernel.set('send', refused);
        const others = queue(bench, repeated(200, 5), OTHER);
        t.deepEqual(bench.datagrams(), others);
        t.is(kernel.trains, 1, 'others keep their trains');

        endSingles(bench, TARGET);
        kernel.set('send', {});
        const trains = queue(bench, repeated(300, 20));
        t.deepEqual(bench.datagrams(), trains);
        t.is(kernel.trains, 1, 'afterwards it is tried again');
      });
    },
  );
}

failingKernelTest('EINVAL of a datagram alone says nothing about trains', (t, native, kernel) => {
  withBench(native, (bench) => {
    queue(bench, [300]);
    kernel.set('send', { error: 'EINVAL' });
    t.deepEqual(bench.datagrams(), []);
    t.is(bench.engine.errors[ERROR_UDP_SEND], 1);
    t.is(singleUntil(bench, TARGET), 0);
  });
});

// ---- a full buffer ---------------------------------------------------------------------------

for (const error of ['EAGAIN', 'ENOBUFS'] as const) {
  failingKernelTest(
    `${error}, once: the batch is kept, and nothing is lost`,
    (t, native, kernel) => {
      withBench(native, (bench) => {
        const datagrams = queue(bench, [...repeated(300, 10), 100, 101]);
        kernel.set('send', { error, times: 1 });
        t.deepEqual(bench.datagrams(), datagrams);
        t.is(bench.engine.errors[ERROR_UDP_SEND], 0);
        t.is(kernel.calls('send'), 2);
      });
    },
  );

  failingKernelTest(
    `${error}, for good: kept once, then dropped and counted, without a spin`,
    (t, native, kernel) => {
      withBench(native, (bench) => {
        const lengths = Array.from({ length: 40 }, (_, i) => repeated(500 - i, 3)).flat();
        queue(bench, lengths);
        kernel.set('send', { error });
        t.deepEqual(bench.datagrams(), []);
        t.is(bench.engine.errors[ERROR_UDP_SEND], lengths.length);
        // Each of the trains is tried once, and the first, for whose sake it was waited, twice.
        t.is(kernel.calls('send'), 40 + 1);
        kernel.heal();
        const datagrams = queue(bench, lengths);
        t.deepEqual(bench.datagrams(), datagrams);
      });
    },
  );

  failingKernelTest(
    `${error} for what is large leaves what is small alone`,
    (t, native, kernel) => {
      withBench(native, (bench) => {
        queue(bench, [900]);
        const small = queue(bench, [100, 101], OTHER);
        queue(bench, [901]);
        kernel.set('send', { error, largerThan: 500 });
        t.deepEqual(bench.datagrams(), small);
        t.is(bench.engine.errors[ERROR_UDP_SEND], 2);
      });
    },
  );

  failingKernelTest(
    `${error} for a datagram of a train that was refused: kept once`,
    (t, native, kernel) => {
      withBench(native, (bench) => {
        const datagrams = queue(bench, repeated(300, 10));
        kernel.set('send', { error: 'EIO', trainsOnly: true, times: 1, afterwards: error });
        t.deepEqual(bench.datagrams(), datagrams);
        t.is(bench.engine.errors[ERROR_UDP_SEND], 0);
        t.is(kernel.calls('send'), 1 + 10 + 1);
      });
    },
  );
}

failingKernelTest('a signal that interrupts loses nothing and is no error', (t, native, kernel) => {
  withBench(native, (bench) => {
    const datagrams = queue(bench, repeated(300, 10));
    kernel.set('send', { error: 'EINTR', times: 3 });
    t.deepEqual(bench.datagrams(), datagrams);
    t.is(bench.engine.errors[ERROR_UDP_SEND], 0);
  });
});
