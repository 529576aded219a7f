// The rings between workers, with each engine at either end: everything arrives whole and in order,
// a full ring says so, and what the other side broke is never followed.

import { Worker } from 'node:worker_threads';
import test from 'ava';
import fc from 'fast-check';
import { HANDED_PER_TURN, RING_BYTES, RING_HEADER_BYTES } from '../../../dataplane/constants.ts';
import {
  createSharedMemory,
  KIND_DATAGRAM,
  KIND_FROM_PEER,
  KIND_FROM_TUN,
  KIND_INITIATION,
  LENGTH,
  OFFSET,
  SLEEPING_WORDS,
  type Team,
} from '../../../dataplane/contract.ts';
import { readEndpoint, writeEndpoint } from '../../../dataplane/wire/address.ts';
import { counting } from '../../support/dataplane/packets.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { EVENT_HANDED, EVENT_WAKE, type NativeEngine } from '../../../dataplane/native/index.ts';
import { address } from '../../support/dataplane/packets.ts';
import { SEEDED } from '../../support/dataplane/simulation.ts';
import {
  contents,
  type EngineKind,
  engineKinds,
  type Handed,
  handOver,
  mark,
  openTeam,
  openWorker,
  takeAll,
} from '../../support/dataplane/team.ts';

const pairs = engineKinds.flatMap((from) => engineKinds.map((to) => [from, to] as const));

/** Something to hand over that can be recognized. */
function thing(i: number, length: number): Handed {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at++) bytes[at] = (i * 31 + at * 7) & 0xff;
  return { kind: KIND_FROM_PEER, bytes, peer: i, generation: i + 1 };
}

/** Compares without the texts of a difference, which take long for 64 KiB. */
function isSame(a: Handed, b: Handed): boolean {
  return (
    a.kind === b.kind &&
    a.peer === b.peer &&
    a.generation === b.generation &&
    Buffer.compare(a.bytes, b.bytes) === 0
  );
}

for (const kinds of pairs) {
  const name = kinds.join(' to ');

  test(`${name}: a packet from the TUN brings its virtio_net_hdr`, (t) => {
    const [from, to] = openTeam(kinds);
    mark(from!.packets, 0, 1, { kind: KIND_FROM_TUN, bytes: counting(1_000) });
    const before = from!.packets.descriptors[OFFSET]!;
    from!.packets.bytes.set([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], before - 10);
    t.is(from!.handOver(from!.packets), 0);
    to!.takeHanded(0);
    const { bytes, descriptors, count } = to!.handed[0]!;
    t.is(count, 1);
    const offset = descriptors[OFFSET]!;
    t.deepEqual(Array.from(bytes.slice(offset - 10, offset)), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    t.deepEqual(bytes.slice(offset, offset + descriptors[LENGTH]!), counting(1_000));
  });

  test(`${name}: a packet of a peer brings its place, and an empty virtio_net_hdr`, (t) => {
    const [from, to] = openTeam(kinds);
    const peer = { kind: KIND_FROM_PEER, bytes: counting(60), peer: 65_535, generation: -7 };
    t.is(handOver(from!, 1, [peer, peer]), 0);
    to!.takeHanded(0);
    const { bytes, descriptors } = to!.handed[0]!;
    const offset = descriptors[OFFSET]!;
    t.deepEqual(bytes.slice(offset - 10, offset), new Uint8Array(10));
    to!.freeHanded(0);
    t.is(handOver(from!, 1, [peer]), 0);
    t.deepEqual(takeAll(to!, 0), [peer]);
  });

  test(`${name}: a datagram and an initiation bring their sender`, (t) => {
    const [from, to] = openTeam(kinds);
    const senders = [KIND_DATAGRAM, KIND_INITIATION].map((kind, i) => {
      const endpoint = { address: `2001:db8::${i + 1}`, port: 4_000 + i };
      writeEndpoint(from!.endpoints, 5 + i, address(endpoint.address), endpoint.port);
      return { endpoint, handed: { kind, bytes: counting(148 + i), address: 5 + i } };
    });
    t.is(
      handOver(
        from!,
        1,
        senders.map(({ handed }) => handed),
      ),
      0,
    );
    const taken = takeAll(to!, 0);
    for (const [i, { endpoint, handed }] of senders.entries()) {
      t.is(taken[i]!.kind, handed.kind);
      t.deepEqual(taken[i]!.bytes, handed.bytes);
      t.deepEqual(readEndpoint(to!.endpoints, taken[i]!.address!), endpoint);
    }
    t.not(taken[0]!.address, taken[1]!.address);
  });

  test(`${name}: a full ring takes nothing more, until the other side gave memory back`, (t) => {
    const [from, to] = openTeam(kinds);
    const large = (i: number): Handed => thing(i, 65_536);
    let fit = 0;
    while (handOver(from!, 1, [large(fit)]) === 0) fit++;
    t.true(fit >= 30 && fit <= RING_BYTES / 65_536, `${fit}`);
    t.is(handOver(from!, 1, [large(fit), large(fit)]), 2);
    to!.takeHanded(0);
    t.is(handOver(from!, 1, [large(fit)]), 1, 'taken, and not given back yet');
    to!.freeHanded(0);
    t.is(handOver(from!, 1, [large(fit)]), 0);
    const rest = takeAll(to!, 0);
    t.is(rest.at(-1)!.peer, fit);
    t.deepEqual(rest.at(-1), large(fit));
  });

  test(`${name}: the rest at the end of the memory, which a record skips, takes room`, (t) => {
    const [from, to] = openTeam(kinds);
    // 64 bytes less than the others: its room is enough only together with the rest at the end.
    t.is(handOver(from!, 1, [thing(0, 65_536 - 64)]), 0);
    to!.takeHanded(0);
    const waiting: Handed[] = [];
    while (handOver(from!, 1, [thing(waiting.length, 65_536)]) === 0)
      waiting.push(thing(waiting.length, 65_536));
    to!.freeHanded(0);
    t.is(handOver(from!, 1, [thing(99, 65_536)]), 1);
    const taken = takeAll(to!, 0);
    t.is(taken.length, waiting.length);
    t.true(taken.every((one, i) => isSame(one, waiting[i]!)));
  });

  test(`${name}: one turn takes so many, in order`, (t) => {
    const [from, to] = openTeam(kinds);
    const all = Array.from({ length: HANDED_PER_TURN + 3 }, (_, i) => thing(i, 40));
    t.is(handOver(from!, 1, all), 0);
    to!.takeHanded(0);
    t.is(to!.handed[0]!.count, HANDED_PER_TURN);
    to!.freeHanded(0);
    t.deepEqual(
      takeAll(to!, 0).map(({ peer }) => peer),
      [HANDED_PER_TURN, HANDED_PER_TURN + 1, HANDED_PER_TURN + 2],
    );
  });

  test(`${name}: a worker that begins forgets what was written for the one before`, (t) => {
    const memory = createSharedMemory(2);
    const [from] = openTeam(kinds, memory);
    t.is(handOver(from!, 1, [thing(1, 500), thing(2, 500)]), 0);
    const to = openWorker(kinds[1], { self: 1, size: 2, memory, wakes: [-1, -1] });
    t.deepEqual(takeAll(to, 0), []);
    t.is(handOver(from!, 1, [thing(3, 500)]), 0);
    t.deepEqual(takeAll(to, 0), [thing(3, 500)]);
    const again = openWorker(kinds[0], { self: 0, size: 2, memory, wakes: [-1, -1] });
    t.is(handOver(again, 1, [thing(4, 500)]), 0);
    t.deepEqual(takeAll(to, 0), [thing(4, 500)]);
  });

  test(`${name}: any course of writing and reading goes as with a list`, (t) => {
    const length = fc.oneof(fc.nat(1_500), fc.integer({ min: 60_000, max: 65_536 }));
    const step = fc.oneof(
      fc.record({ write: fc.array(length, { maxLength: 20 }) }),
      fc.constant('take' as const),
      fc.constant('free' as const),
    );
    const [from, to] = openTeam(kinds);
    let number = 0;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const written: Handed[] = [];
        const taken: Handed[] = [];
        let isTaken = false;
        for (const one of steps) {
          if (typeof one === 'object') {
            for (const bytes of one.write) {
              const next = thing(number++, bytes);
              if (handOver(from!, 1, [next]) === 0) written.push(next);
            }
          } else if (one === 'take' && !isTaken) {
            to!.takeHanded(0);
            isTaken = true;
          } else if (one === 'free' && isTaken) {
            taken.push(...contents(to!.handed[0]!));
            to!.freeHanded(0);
            isTaken = false;
          }
        }
        taken.push(...contents(to!.handed[0]!));
        to!.freeHanded(0);
        taken.push(...takeAll(to!, 0));
        t.is(taken.length, written.length);
        for (const [i, one] of taken.entries()) t.true(isSame(one, written[i]!));
      }),
      { ...SEEDED, numRuns: 60 },
    );
  });
}

test('what is no proper thing to hand over is lost', (t) => {
  for (const kind of engineKinds) {
    const [from] = openTeam([kind, kind]);
    t.is(handOver(from!, 0, [thing(1, 40)]), 1, 'to itself');
    t.is(handOver(from!, 2, [thing(1, 40)]), 1, 'to nobody');
    t.is(handOver(from!, -1, [thing(1, 40)]), 1);
  }
});

nativeTest('whatever the memory of a ring holds, nothing outside of it is read', (t) => {
  const memory = createSharedMemory(2);
  const ring = memory.rings[0]![1]!;
  const [, to] = openTeam(['native', 'native'], memory);
  const words = new Int32Array(ring);
  const random = fc.oneof(fc.integer(), fc.integer({ min: -200, max: 70_000 }));
  fc.assert(
    fc.property(fc.array(random, { minLength: 40, maxLength: 80 }), (numbers) => {
      const begin = (RING_HEADER_BYTES + (((words[0]! & ~63) >>> 0) % RING_BYTES)) / 4;
      for (const [i, number] of numbers.entries())
        words[RING_HEADER_BYTES / 4 + ((begin + i * 8) % (RING_BYTES / 4))] = number;
      // A position may be inside of a record too.
      words[0] = (words[0]! + numbers[0]!) | 0;
      to!.takeHanded(0);
      const batch = to!.handed[0]!;
      for (let i = 0; i < batch.count; i++) {
        const d = batch.descriptors.subarray(i * 8);
        t.true(d[OFFSET]! >= RING_HEADER_BYTES && d[LENGTH]! >= 0);
        t.true(d[OFFSET]! + d[LENGTH]! <= RING_HEADER_BYTES + RING_BYTES);
      }
      to!.freeHanded(0);
    }),
    { ...SEEDED, numRuns: 2_000 },
  );
});

nativeTest('a worker that sleeps is woken once, one that is awake is not', (t, native) => {
  const memory = createSharedMemory(2);
  const wake = native.openWake();
  t.teardown(() => native.closeFd(wake));
  const [from, to] = [0, 1].map(
    (self) => openWorker('native', { self, size: 2, memory, wakes: [-1, wake] }) as NativeEngine,
  );
  const sleeping = new Int32Array(memory.sleeping);
  t.is(to!.poll(0), 0);
  t.is(handOver(from!, 1, [thing(1, 40)]), 0);
  t.is(to!.poll(1_000), EVENT_HANDED, 'it does not wait');
  t.deepEqual(takeAll(to!, 0), [thing(1, 40)]);
  t.is(to!.poll(0), 0);
  sleeping[SLEEPING_WORDS] = 1;
  t.is(handOver(from!, 1, [thing(2, 40), thing(3, 40)]), 0);
  t.is(to!.poll(1_000), EVENT_HANDED | EVENT_WAKE);
  t.is(sleeping[SLEEPING_WORDS], 0);
  t.deepEqual(takeAll(to!, 0), [thing(2, 40), thing(3, 40)]);
  t.is(to!.poll(10), 0);
});

nativeTest('an engine is not made of crooked rings', (t) => {
  const memory = createSharedMemory(2);
  const make = (changes: Partial<Team>, kind: EngineKind = 'native'): unknown =>
    openWorker(kind, { self: 1, size: 2, memory, wakes: [-1, -1], ...changes });
  t.notThrows(() => make({}));
  const short = new SharedArrayBuffer(1_000);
  const own = memory.rings[0]![1]!;
  for (const changes of [
    { self: 2 },
    { size: 9 },
    { wakes: [] },
    {
      memory: {
        ...memory,
        rings: [
          [null, short],
          [own, null],
        ],
      },
    },
    {
      memory: {
        ...memory,
        rings: [
          [null, own],
          [short, null],
        ],
      },
    },
    { memory: { ...memory, sleeping: new SharedArrayBuffer(4) } },
  ])
    t.throws(() => make(changes), undefined, JSON.stringify(changes));
});

nativeTest('two threads lose and change nothing', async (t) => {
  const memory = createSharedMemory(2);
  const things = 200_000;
  const folder = new URL('../../support/dataplane/', import.meta.url).href;
  const script = `
    import { workerData } from 'node:worker_threads';
    import { openWorker, mark } from '${folder}team.ts';
    const engine = openWorker('native', { self: 0, size: 2, memory: workerData, wakes: [-1, -1] });
    let state = 1;
    for (let i = 0; i < ${things}; ) {
      let count = 0;
      for (; count < 32 && i + count < ${things}; count++) {
        state = (state * 1103515245 + 12345) & 0x7fffffff;
        const length = state % 97 === 0 ? 40000 + (state % 25000) : 20 + (state % 1400);
        const bytes = new Uint8Array(length).fill((i + count) & 0xff);
        mark(engine.packets, count, 1, { kind: 1, bytes, peer: i + count, generation: length });
      }
      i += count;
      // What found no room is not sent again: the other side counts what it misses.
      engine.handOver(engine.packets);
      engine.packets.count = 0;
    }
    mark(engine.packets, 0, 1, { kind: 1, bytes: new Uint8Array(1), peer: -1 });
    while (engine.handOver(engine.packets) === 1)
      mark(engine.packets, 0, 1, { kind: 1, bytes: new Uint8Array(1), peer: -1 });
  `;
  const to = openWorker('native', { self: 1, size: 2, memory, wakes: [-1, -1] });
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(script)}`), {
    workerData: memory,
  });
  const ended = new Promise((resolve, reject) => worker.on('exit', resolve).on('error', reject));
  let last = -1;
  let seen = 0;
  for (let isEnd = false; !isEnd;) {
    to.takeHanded(0);
    const batch = to.handed[0]!;
    for (let i = 0; i < batch.count; i++) {
      const d = batch.descriptors.subarray(i * 8);
      const [offset, length, peer, generation] = [d[0]!, d[1]!, d[2]!, d[3]!];
      if (peer === -1) {
        isEnd = true;
        break;
      }
      seen++;
      const isWhole =
        length === generation &&
        batch.bytes[offset] === (peer & 0xff) &&
        batch.bytes[offset + length - 1] === (peer & 0xff) &&
        batch.bytes[offset + (length >> 1)] === (peer & 0xff);
      if (!isWhole || peer <= last) t.fail(`${peer} after ${last}: ${length} of ${generation}`);
      last = peer;
    }
    to.freeHanded(0);
    if (batch.count === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await ended;
  t.true(seen > things / 100, `${seen} arrived`);
  t.log(`${seen} of ${things} found room`);
});
