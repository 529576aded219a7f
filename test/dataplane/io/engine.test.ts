// The contract of an engine. Every engine, native or TypeScript, runs the same tests, and each one
// opens what another one sealed.

import test, { type ExecutionContext } from 'ava';
import {
  MAX_KEYPAIRS,
  REJECT_AFTER_MESSAGES,
  REKEY_AFTER_MESSAGES,
} from '../../../dataplane/constants.ts';
import {
  DATAGRAMS,
  DESCRIPTOR_WORDS,
  LENGTH,
  type MessageLimits,
  OFFSET,
  MARK_DROP,
  MARK_OPEN,
  MARK_OPEN_FAILED,
  MARK_OPENED,
  MARK_SEAL,
  MARK_SEAL_EXHAUSTED,
  MARK_SEALED,
  MARK_SEALED_REKEY,
  MARK_TUN,
} from '../../../dataplane/contract.ts';
import { TypeScriptEngine } from '../../../dataplane/io/engine.ts';
import { portablePrimitives } from '../../../dataplane/noise/primitives.ts';
import { createEndpointTable } from '../../../dataplane/wire/address.ts';
import {
  benches,
  contentOf,
  type EngineBench,
  setMarks,
  MTU,
  place,
  TARGET,
  markOf,
} from '../../support/dataplane/native.ts';
import { counting, udp, viewOf } from '../../support/dataplane/packets.ts';

const A = counting(32, 1);
const B = counting(32, 100);
const REMOTE_INDEX = -123_456_789;

/** Seals one packet from the batch of packets; returns the datagrams that left. */
function seal(
  bench: EngineBench,
  packet: Uint8Array,
  key: { slot: number; generation: number },
): Uint8Array[] {
  const { engine } = bench;
  engine.packets.count = 0;
  place(engine.packets, 0, packet, { mark: MARK_SEAL, key });
  engine.seal(engine.packets);
  return bench.datagrams();
}

/** Opens one datagram; null when it was refused. */
function open(
  bench: EngineBench,
  datagram: Uint8Array,
  key: { slot: number; generation: number },
): Uint8Array | null {
  const { engine } = bench;
  engine.datagrams.count = 0;
  place(engine.datagrams, 0, datagram, { mark: MARK_OPEN, key });
  engine.open(engine.datagrams);
  return markOf(engine.datagrams, 0) === MARK_OPENED ? contentOf(engine.datagrams, 0) : null;
}

/** Runs with a bench that is closed afterwards. */
function withBench(openBench: () => EngineBench, body: (bench: EngineBench) => void): void {
  const bench = openBench();
  try {
    body(bench);
  } finally {
    bench.close();
  }
}

/** How a packet is padded: to a multiple of 16, never past the MTU. */
function padded(packet: Uint8Array): Uint8Array {
  const length = Math.ceil(packet.length / 16) * 16;
  const bytes = new Uint8Array(packet.length <= MTU ? Math.min(length, MTU) : length);
  bytes.set(packet);
  return bytes;
}

// ---- what one seals each opens ---------------------------------------------------------------

// No packet is shorter than an IPv4 header; nothing at all is a keepalive.
const lengths = [
  0, 20, 21, 31, 32, 33, 1_279, 1_280, 1_403, 1_404, 1_405, 1_408, 1_409, 1_419, 1_420, 1_421,
  9_000,
];

for (const [sealerName, openSealer] of benches) {
  for (const [openerName, openOpener] of benches) {
    test(`${openerName} opens what ${sealerName} sealed, at every length`, (t) => {
      withBench(openSealer, (sealer) =>
        withBench(openOpener, (opener) => {
          const sending = sealer.engine.installKey(A, B, REMOTE_INDEX)!;
          const receiving = opener.engine.installKey(B, A, 1)!;
          for (const length of lengths) {
            const packet = counting(length, length);
            if (length > 0) packet[0] = 0x45;
            const datagrams = seal(sealer, packet, sending);
            t.is(datagrams.length, 1, `${length}`);
            t.deepEqual(open(opener, datagrams[0]!, receiving), padded(packet), `${length}`);
          }
        }),
      );
    });
  }
}

for (const [name, openBench] of benches) {
  const engineTest = (
    title: string,
    body: (t: ExecutionContext, bench: EngineBench) => void,
  ): void => {
    test(`${name}: ${title}`, (t) => withBench(openBench, (bench) => body(t, bench)));
  };

  // ---- sealing ----

  engineTest('a message is type, index, counter and text, little-endian', (t, bench) => {
    const key = bench.engine.installKey(A, B, REMOTE_INDEX)!;
    const [datagram] = seal(bench, udp({ source: '10.0.0.1', destination: '10.0.0.2' }), key);
    const view = viewOf(datagram!);
    t.is(view.getUint32(0, true), 4);
    t.is(view.getInt32(4, true), REMOTE_INDEX);
    t.is(view.getBigUint64(8, true), 0n);
    t.is(datagram!.length, 16 + 32 + 16);
  });

  engineTest('the counter begins at zero and grows by one with every message', (t, bench) => {
    const key = bench.engine.installKey(A, B, 1)!;
    for (let i = 0n; i < 300n; i++) {
      const [datagram] = seal(bench, new Uint8Array(0), key);
      if (viewOf(datagram!).getBigUint64(8, true) !== i) t.fail(`${i}`);
    }
    t.pass();
  });

  engineTest('each key counts for itself', (t, bench) => {
    const [first, second] = [bench.engine.installKey(A, B, 1)!, bench.engine.installKey(B, A, 2)!];
    seal(bench, new Uint8Array(0), first);
    const [datagram] = seal(bench, new Uint8Array(0), second);
    t.is(viewOf(datagram!).getBigUint64(8, true), 0n);
    t.is(viewOf(datagram!).getInt32(4, true), 2);
  });

  // docs/bugs-of-others.md#bug-7: empty keepalive.
  engineTest('a keepalive is 32 bytes and carries nothing', (t, bench) => {
    const key = bench.engine.installKey(A, A, 1)!;
    const [datagram] = seal(bench, new Uint8Array(0), key);
    t.is(datagram!.length, 32);
    t.deepEqual(open(bench, datagram!, key), new Uint8Array(0));
  });

  engineTest('what was sealed is reported: mark, bytes on the wire, datagrams', (t, bench) => {
    const key = bench.engine.installKey(A, B, 1)!;
    seal(bench, udp({ source: '10.0.0.1', destination: '10.0.0.2', data: counting(72) }), key);
    const d = bench.engine.packets.descriptors;
    t.is(markOf(bench.engine.packets, 0), MARK_SEALED);
    t.is(d[LENGTH], 16 + 112 + 16);
    t.is(d[DATAGRAMS], 1);
  });

  // docs/bugs-of-others.md#bug-7: padding to 16.
  engineTest('padding is zeros, whatever stood behind the packet, and that stays', (t, bench) => {
    const { engine } = bench;
    const key = engine.installKey(A, A, 1)!;
    const packet = udp({ source: '10.0.0.1', destination: '10.0.0.2', data: 'x' });
    place(engine.packets, 0, packet, { mark: MARK_SEAL, key });
    const end = engine.packets.descriptors[OFFSET]! + packet.length;
    engine.packets.bytes.fill(0xee, end, end + 64);
    engine.seal(engine.packets);
    t.deepEqual(open(bench, bench.datagrams()[0]!, key), padded(packet));
    t.true(engine.packets.bytes.subarray(end, end + 64).every((byte) => byte === 0xee));
  });

  engineTest('a whole batch is sealed in order', (t, bench) => {
    const { engine } = bench;
    const key = engine.installKey(A, A, 1)!;
    const packets = Array.from({ length: 64 }, (_, i) =>
      udp({ source: '10.0.0.1', destination: '10.0.0.2', data: counting(i * 7, i) }),
    );
    for (const [i, packet] of packets.entries())
      place(engine.packets, i, packet, { mark: MARK_SEAL, key });
    engine.seal(engine.packets);
    const arrived = bench.datagrams().map((datagram) => open(bench, datagram, key));
    t.deepEqual(arrived, packets.map(padded));
  });

  engineTest('a packet that arrived is sealed again in its place', (t, bench) => {
    const { engine } = bench;
    const [incoming, outgoing] = [engine.installKey(A, A, 1)!, engine.installKey(B, B, 2)!];
    const packet = udp({ source: '10.0.0.2', destination: '10.0.0.3', data: counting(200) });
    const [datagram] = seal(bench, packet, incoming);
    open(bench, datagram!, incoming);
    const { datagrams } = engine;
    setMarks(datagrams, 0, {
      mark: MARK_SEAL,
      key: outgoing,
      offset: datagrams.descriptors[OFFSET]!,
      length: packet.length,
    });
    engine.seal(datagrams);
    const [resealed] = bench.datagrams();
    t.deepEqual(open(bench, resealed!, outgoing), padded(packet));
  });

  engineTest('only what is marked is sealed, opened or written', (t, bench) => {
    const { engine } = bench;
    const key = engine.installKey(A, A, 1)!;
    for (const mark of [0, 2, 3, 6, 7, 8, 9, 10]) {
      for (const batch of [engine.packets, engine.datagrams]) {
        place(batch, 0, counting(64), { mark, key });
        const before = batch.descriptors.slice(0, DESCRIPTOR_WORDS);
        engine.open(batch);
        engine.seal(batch);
        engine.writeTun(batch);
        t.deepEqual(batch.descriptors.slice(0, DESCRIPTOR_WORDS), before);
      }
    }
    t.deepEqual(bench.datagrams(), []);
    t.deepEqual(bench.packets(), []);
  });

  engineTest('descriptors past the count are left alone', (t, bench) => {
    const { engine } = bench;
    const key = engine.installKey(A, A, 1)!;
    place(engine.packets, 1, counting(64), { mark: MARK_SEAL, key });
    engine.packets.count = 1;
    setMarks(engine.packets, 0, { mark: MARK_DROP });
    engine.packets.count = 1;
    engine.seal(engine.packets);
    t.is(markOf(engine.packets, 1), MARK_SEAL);
    t.deepEqual(bench.datagrams(), []);
  });

  engineTest('nothing is sent to an endpoint that is not there', (t, bench) => {
    const { engine } = bench;
    const key = engine.installKey(A, A, 1)!;
    place(engine.packets, 0, new Uint8Array(0), {
      mark: MARK_SEAL,
      key,
      address: TARGET + 1,
    });
    engine.seal(engine.packets);
    engine.send(counting(50), TARGET + 2);
    t.deepEqual(bench.datagrams(), []);
  });

  // ---- limits of messages (6.2) ----

  test(`${name}: a key that has sent enough says so, and one at its limit seals no more`, (t) => {
    const openLimited = (): EngineBench =>
      openBench({ rekeyAfterMessages: 4, rejectAfterMessages: 6 });
    withBench(openLimited, (bench) => {
      const key = bench.engine.installKey(A, B, 1)!;
      const sent: bigint[] = [];
      const marks = Array.from({ length: 12 }, (_, i) => {
        const datagrams = seal(bench, i % 2 === 0 ? counting(40, 0x45) : new Uint8Array(0), key);
        for (const datagram of datagrams) sent.push(viewOf(datagram).getBigUint64(8, true));
        return markOf(bench.engine.packets, 0);
      });
      t.deepEqual(marks, [
        ...Array.from({ length: 3 }, () => MARK_SEALED),
        ...Array.from({ length: 3 }, () => MARK_SEALED_REKEY),
        ...Array.from({ length: 6 }, () => MARK_SEAL_EXHAUSTED),
      ]);
      // A counter that wraps would use a nonce twice.
      t.deepEqual(sent, [0n, 1n, 2n, 3n, 4n, 5n]);
    });
  });

  test(`${name}: a batch that is larger than what a key may still send is sealed up to the limit`, (t) => {
    const openLimited = (): EngineBench => openBench({ rejectAfterMessages: 6 });
    withBench(openLimited, (bench) => {
      const { packets } = bench.engine;
      const key = bench.engine.installKey(A, B, 1)!;
      const other = bench.engine.installKey(B, A, 2)!;
      for (let i = 0; i < 10; i++) place(packets, i, counting(40, 0x45), { mark: MARK_SEAL, key });
      place(packets, 10, counting(40, 0x45), { mark: MARK_SEAL, key: other });
      bench.engine.seal(packets);
      const marks = Array.from({ length: 11 }, (_, i) => markOf(packets, i));
      t.deepEqual(marks, [
        ...Array.from({ length: 6 }, () => MARK_SEALED),
        ...Array.from({ length: 4 }, () => MARK_SEAL_EXHAUSTED),
        MARK_SEALED,
      ]);
      t.is(bench.datagrams().length, 7);
    });
  });

  test(`${name}: a key that may send no more still opens`, (t) => {
    withBench(
      () => openBench({ rejectAfterMessages: 1 }),
      (bench) => {
        const key = bench.engine.installKey(A, A, 1)!;
        const [datagram] = seal(bench, counting(40, 0x45), key);
        t.deepEqual(seal(bench, counting(40, 0x45), key), []);
        t.deepEqual(open(bench, datagram!, key), padded(counting(40, 0x45)));
      },
    );
  });

  test(`${name}: limits of messages may be lowered, but never raised`, (t) => {
    const refused: MessageLimits[] = [
      { rekeyAfterMessages: REKEY_AFTER_MESSAGES + 1 },
      { rejectAfterMessages: REJECT_AFTER_MESSAGES + 1 },
      { rejectAfterMessages: 2 ** 64 },
      { rejectAfterMessages: Number.POSITIVE_INFINITY },
      { rejectAfterMessages: Number.NaN },
      { rejectAfterMessages: -1 },
      { rejectAfterMessages: 5.5 },
      { rekeyAfterMessages: 0 },
      { rejectAfterMessages: '9' as unknown as number },
    ];
    for (const limits of refused)
      t.throws(() => openBench(limits), { instanceOf: TypeError }, JSON.stringify(limits));
    const highest = {
      rekeyAfterMessages: REKEY_AFTER_MESSAGES,
      rejectAfterMessages: REJECT_AFTER_MESSAGES,
    };
    withBench(
      () => openBench(highest),
      (bench) => {
        const key = bench.engine.installKey(A, B, 1)!;
        t.is(seal(bench, counting(40, 0x45), key).length, 1);
        t.is(markOf(bench.engine.packets, 0), MARK_SEALED);
      },
    );
  });

  // ---- opening ----

  engineTest('a wrong key opens nothing', (t, bench) => {
    const [right, wrong] = [bench.engine.installKey(A, A, 1)!, bench.engine.installKey(B, B, 1)!];
    const [datagram] = seal(bench, counting(40, 0x45), right);
    t.is(open(bench, datagram!, wrong), null);
    t.is(markOf(bench.engine.datagrams, 0), MARK_OPEN_FAILED);
    t.not(open(bench, datagram!, right), null);
  });

  engineTest('no bit of counter, text and tag may differ', (t, bench) => {
    const key = bench.engine.installKey(A, A, 1)!;
    const [datagram] = seal(bench, counting(40, 0x45), key);
    for (let i = 8; i < datagram!.length; i++) {
      const forged = datagram!.slice();
      forged[i]! ^= 1 << (i % 8);
      if (open(bench, forged, key) !== null) t.fail(`${i}`);
    }
    t.not(open(bench, datagram!, key), null);
  });

  engineTest('a datagram that was cut off, anywhere, opens nothing', (t, bench) => {
    const key = bench.engine.installKey(A, A, 1)!;
    const [datagram] = seal(bench, counting(40, 0x45), key);
    for (let length = 0; length < datagram!.length; length++)
      if (open(bench, datagram!.slice(0, length), key) !== null) t.fail(`${length}`);
    t.pass();
  });

  engineTest('a failure in a batch does not touch its neighbours', (t, bench) => {
    const { engine } = bench;
    const key = engine.installKey(A, A, 1)!;
    const datagrams = Array.from({ length: 9 }, (_, i) => seal(bench, counting(30, i), key)[0]!);
    engine.datagrams.count = 0;
    for (const [i, datagram] of datagrams.entries()) {
      if (i % 2 === 1) datagram[20]! ^= 1;
      place(engine.datagrams, i, datagram, { mark: MARK_OPEN, key });
    }
    engine.open(engine.datagrams);
    for (let i = 0; i < 9; i++) {
      t.is(markOf(engine.datagrams, i), i % 2 === 1 ? MARK_OPEN_FAILED : MARK_OPENED);
      if (i % 2 === 0) t.deepEqual(contentOf(engine.datagrams, i), padded(counting(30, i)));
    }
  });

  engineTest('keys that take turns in a batch are not mixed up', (t, bench) => {
    const { engine } = bench;
    const keys = [engine.installKey(A, A, 1)!, engine.installKey(B, B, 2)!];
    const datagrams = Array.from(
      { length: 8 },
      (_, i) => seal(bench, counting(30, i), keys[i % 2]!)[0]!,
    );
    engine.datagrams.count = 0;
    for (const [i, datagram] of datagrams.entries())
      place(engine.datagrams, i, datagram, { mark: MARK_OPEN, key: keys[i % 2]! });
    engine.open(engine.datagrams);
    for (let i = 0; i < 8; i++)
      t.deepEqual(contentOf(engine.datagrams, i), padded(counting(30, i)), `${i}`);
  });

  // docs/bugs-of-others.md#bug-1: 64-bit counters.
  engineTest('the counter of a message is read in all its 64 bits', (t, bench) => {
    const key = bench.engine.installKey(A, A, 1)!;
    const [datagram] = seal(bench, counting(20), key);
    for (let i = 8; i < 16; i++) {
      const other = datagram!.slice();
      other[i] = 0x80;
      t.is(open(bench, other, key), null);
    }
  });

  // ---- keys ----

  engineTest('keys are copied when they are installed', (t, bench) => {
    const [send, receive] = [A.slice(), A.slice()];
    const key = bench.engine.installKey(send, receive, 1)!;
    send.fill(0);
    receive.fill(0);
    const [datagram] = seal(bench, counting(20), key);
    const other = bench.engine.installKey(A, A, 1)!;
    t.not(open(bench, datagram!, other), null);
  });

  engineTest('a removed key seals and opens nothing', (t, bench) => {
    const { engine } = bench;
    const key = engine.installKey(A, A, 1)!;
    const [datagram] = seal(bench, counting(20), key);
    engine.removeKey(key.slot, key.generation);
    t.deepEqual(seal(bench, counting(20), key), []);
    t.is(markOf(engine.packets, 0), MARK_SEAL_EXHAUSTED);
    t.is(open(bench, datagram!, key), null);
  });

  engineTest('a slot that serves again refuses its old handle', (t, bench) => {
    const { engine } = bench;
    const old = engine.installKey(A, A, 1)!;
    engine.removeKey(old.slot, old.generation);
    const fresh = engine.installKey(A, A, 2)!;
    t.is(fresh.slot, old.slot);
    t.not(fresh.generation, old.generation);
    t.deepEqual(seal(bench, counting(20), old), []);
    const [datagram] = seal(bench, counting(20), fresh);
    t.is(open(bench, datagram!, old), null);
    t.not(open(bench, datagram!, fresh), null);
  });

  engineTest('a slot that serves again does not remember the key before it', (t, bench) => {
    const { engine } = bench;
    const old = engine.installKey(A, A, 1)!;
    const [before] = seal(bench, counting(20), old);
    open(bench, before!, old);
    engine.removeKey(old.slot, old.generation);
    const fresh = engine.installKey(B, B, 1)!;
    t.is(open(bench, before!, fresh), null);
    const [after] = seal(bench, counting(20), fresh);
    t.is(viewOf(after!).getBigUint64(8, true), 0n);
    t.notDeepEqual(after, before);
    t.not(open(bench, after!, fresh), null);
  });

  engineTest('removing a key twice, or one that never was, does nothing', (t, bench) => {
    const { engine } = bench;
    const [a, b] = [engine.installKey(A, A, 1)!, engine.installKey(B, B, 1)!];
    engine.removeKey(a.slot, a.generation);
    engine.removeKey(a.slot, a.generation);
    engine.removeKey(b.slot, b.generation + 1);
    engine.removeKey(999, 0);
    engine.removeKey(-1, 0);
    t.not(engine.installKey(A, A, 1)!.slot, engine.installKey(A, A, 1)!.slot);
    t.is(seal(bench, counting(20), b).length, 1);
  });

  engineTest('there is room for three keypairs of every peer, and for no more', (t, bench) => {
    const { engine } = bench;
    const first = engine.installKey(A, B, 0)!;
    for (let i = 1; i < MAX_KEYPAIRS; i++) if (engine.installKey(A, B, i) === null) t.fail(`${i}`);
    t.is(engine.installKey(A, B, 0), null);
    engine.removeKey(first.slot, first.generation);
    t.not(engine.installKey(A, B, 0), null);
  });

  // ---- sending, writing, closing ----

  engineTest('a handshake message is copied, and leaves as it was', (t, bench) => {
    const message = counting(148, 1);
    bench.engine.send(message, TARGET);
    message.fill(0);
    t.deepEqual(bench.datagrams(), [counting(148, 1)]);
  });

  engineTest(
    'messages and sealed packets leave in the order in which they were made',
    (t, bench) => {
      const { engine } = bench;
      const key = engine.installKey(A, A, 1)!;
      engine.send(counting(92), TARGET);
      place(engine.packets, 0, counting(20), { mark: MARK_SEAL, key });
      engine.seal(engine.packets);
      engine.send(counting(64), TARGET);
      t.deepEqual(
        bench.datagrams().map((datagram) => datagram.length),
        [92, 64, 64],
      );
    },
  );

  engineTest('a packet comes out at the TUN, without its padding', (t, bench) => {
    const { engine } = bench;
    const packets = ['10.0.0.1', 'fd00::1'].map((destination) =>
      udp({ source: destination.replace('1', '2'), destination, data: 'hello' }),
    );
    for (const [i, packet] of packets.entries()) {
      place(engine.datagrams, i, padded(packet), { mark: MARK_TUN });
      engine.datagrams.descriptors[i * DESCRIPTOR_WORDS + LENGTH] = packet.length;
    }
    engine.writeTun(engine.datagrams);
    t.deepEqual(bench.packets(), packets);
    t.is(markOf(engine.datagrams, 0), MARK_DROP);
  });
}

// ---- what only the TypeScript engine does ----------------------------------------------------

function typeScriptEngine(): TypeScriptEngine {
  return new TypeScriptEngine(portablePrimitives, createEndpointTable(128), MTU, {
    sendDatagram: () => undefined,
    writePacket: () => {
      throw new Error('the interface is gone');
    },
  });
}

test('a full batch of datagrams takes no more', (t) => {
  const engine = typeScriptEngine();
  const source = new Uint8Array([127, 0, 0, 1]);
  for (let i = 0; i < 64; i++) t.true(engine.acceptDatagram(counting(10), source, 9));
  t.false(engine.acceptDatagram(counting(10), source, 9));
  t.is(engine.datagrams.count, 64);
});

test('a full batch of packets takes no more', (t) => {
  const engine = typeScriptEngine();
  for (let i = 0; i < 64; i++) t.true(engine.acceptPacket(counting(10)));
  t.false(engine.acceptPacket(counting(10)));
  t.is(engine.packets.count, 64);
});

test('a datagram larger than a slot is counted and takes no place', (t) => {
  const engine = typeScriptEngine();
  t.true(engine.acceptDatagram(new Uint8Array(70_000), new Uint8Array([127, 0, 0, 1]), 9));
  t.is(engine.datagrams.count, 0);
  t.is(engine.errors[0], 1);
});

test('a packet that the interface refuses is counted and dropped, and the next one is tried', (t) => {
  const engine = typeScriptEngine();
  for (let i = 0; i < 3; i++) place(engine.datagrams, i, counting(28), { mark: MARK_TUN });
  engine.writeTun(engine.datagrams);
  t.is(engine.errors[3], 3);
  for (let i = 0; i < 3; i++) t.is(markOf(engine.datagrams, i), MARK_DROP);
});

test('closing wipes all keys', (t) => {
  const engine = typeScriptEngine();
  const key = engine.installKey(A, B, 1)!;
  engine.close();
  place(engine.packets, 0, counting(20), { mark: MARK_SEAL, key });
  engine.seal(engine.packets);
  t.is(markOf(engine.packets, 0), MARK_SEAL_EXHAUSTED);
});
