// One turn of a worker, with an engine and a pipeline that write down what they are asked.

import test from 'ava';
import type { Batch } from '../../../dataplane/contract.ts';
import { createDatagramBatch, createPacketBatch } from '../../../dataplane/contract.ts';
import {
  EVENT_HANDED,
  EVENT_SOCKETS,
  EVENT_TUN,
  EVENT_UDP,
} from '../../../dataplane/native/index.ts';
import { reasons } from '../../../dataplane/reasons.ts';
import { Turns } from '../../../dataplane/worker/turns.ts';

interface World {
  readonly turns: Turns;
  readonly engine: { substitute: { begin: (now: number) => void; deadline: number } | null };
  readonly calls: string[];
  readonly errors: unknown[];
  readonly datagrams: Batch;
  now: number;
  nextTimeout: number;
  events: number;
  /** How many datagrams come in a turn. */
  arriving: number;
  failsWith: Error | null;
}

function makeWorld(): World {
  const calls: string[] = [];
  const errors: unknown[] = [];
  const datagrams = createDatagramBatch();
  const packets = createPacketBatch();
  const note =
    (name: string) =>
    (...args: number[]): void => {
      calls.push([name, ...args].join(' '));
    };
  const world = {
    calls,
    errors,
    datagrams,
    now: 1_000,
    nextTimeout: Number.POSITIVE_INFINITY,
    events: 0,
    arriving: 0,
    failsWith: null as Error | null,
  };
  const engine = {
    datagrams,
    packets,
    substitute: null as { begin: (now: number) => void; deadline: number } | null,
    poll: (timeoutMs: number) => {
      calls.push(`poll ${timeoutMs}`);
      return world.events;
    },
    receive: () => {
      calls.push('receive');
      datagrams.count = world.arriving;
    },
    readTun: note('readTun'),
    readSockets: note('readSockets'),
    flush: note('flush'),
  };
  const pipeline = {
    nextTimeout: () => world.nextTimeout,
    inbound: (now: number, wallMs: number) => {
      calls.push(`inbound ${now} ${wallMs}`);
      if (world.failsWith !== null) throw world.failsWith;
    },
    outbound: note('outbound'),
    bySockets: note('bySockets'),
    handed: note('handed'),
    expire: note('expire'),
    drop: note('drop'),
  };
  const clock = { now: () => world.now, wall: () => 7 };
  const turns = new Turns(engine, pipeline, clock, (error) => errors.push(error));
  return Object.assign(world, { turns, engine });
}

test('a turn moves what has come, fires timers, and sends, in this order', (t) => {
  const world = makeWorld();
  world.events = EVENT_UDP | EVENT_TUN | EVENT_HANDED;
  world.arriving = 1;
  world.turns.wait(5);
  world.turns.move(world.turns.events);
  t.deepEqual(world.calls, [
    'poll 5',
    'receive',
    'inbound 1000 7',
    'readTun',
    'outbound 1000 7',
    'handed 1000 7',
    'expire 1000 7',
    'flush',
  ]);
  t.true(world.turns.hasMoved);
  t.is(world.datagrams.count, 0);
});

test('a turn in which nothing comes fires timers alone', (t) => {
  const world = makeWorld();
  world.turns.wait(5);
  world.turns.move(world.turns.events);
  t.deepEqual(world.calls, ['poll 5', 'expire 1000 7', 'flush']);
  t.false(world.turns.hasMoved);
  // A socket that is readable may have nothing nevertheless.
  world.turns.move(EVENT_UDP);
  t.false(world.turns.hasMoved);
});

test('an exception loses the packets of its turn, counted, and the next turn goes on', (t) => {
  const world = makeWorld();
  world.failsWith = new Error('broken');
  world.arriving = 3;
  world.turns.move(EVENT_UDP);
  t.deepEqual(world.errors, [world.failsWith]);
  t.true(world.calls.includes(`drop ${reasons.internal_error}`));
  t.is(world.calls.at(-1), 'flush');
  t.is(world.datagrams.count, 0);
  world.failsWith = null;
  world.turns.move(EVENT_UDP);
  t.is(world.errors.length, 1);
});

for (const [nextTimeout, freeMs] of [
  [Number.POSITIVE_INFINITY, 2_000],
  [100_000, 1_000],
  // Deadlines share wake-ups: at multiples of 64 ms.
  [1_001, 24],
  [1_024, 24],
  [1_025, 88],
  [1_000, 0],
  [10, 0],
] as const)
  test(`with the next deadline at ${nextTimeout} there are ${freeMs} ms from 1000 on`, (t) => {
    const world = makeWorld();
    world.nextTimeout = nextTimeout;
    t.is(world.turns.freeMs, freeMs);
    world.now = 1_000 + freeMs;
    world.turns.readClock();
    t.is(world.turns.now, world.now);
  });

test('what is in place of a TUN has its turn when it is due, and to the millisecond', (t) => {
  const world = makeWorld();
  const begun: number[] = [];
  world.engine.substitute = { begin: (now) => void begun.push(now), deadline: world.now + 3 };
  t.is(world.turns.freeMs, 3);
  world.turns.wait(3);
  world.turns.move(0);
  t.false(world.calls.some((call) => call.startsWith('bySockets')));
  world.now += 3;
  world.turns.wait(0);
  t.is(world.turns.freeMs, 0);
  t.true(world.turns.hasWork);
  world.turns.move(0);
  t.true(world.calls.some((call) => call.startsWith('bySockets')));
  t.is(begun.length, 2);
});

test('an event of a socket of the host fills the batch of packets', (t) => {
  const world = makeWorld();
  world.engine.substitute = { begin: () => undefined, deadline: Number.POSITIVE_INFINITY };
  world.events = EVENT_SOCKETS;
  world.turns.wait(5);
  t.true(world.turns.hasWork);
  world.turns.move(world.turns.events);
  t.deepEqual(world.calls.slice(1), ['readSockets', 'bySockets 1000 7', 'expire 1000 7', 'flush']);
});

test('beside a TUN, sockets fill the batch after it', (t) => {
  const world = makeWorld();
  world.engine.substitute = { begin: () => undefined, deadline: Number.POSITIVE_INFINITY };
  world.turns.move(EVENT_TUN);
  t.deepEqual(world.calls.splice(0), ['readTun', 'outbound 1000 7', 'expire 1000 7', 'flush']);
  world.turns.move(EVENT_TUN | EVENT_SOCKETS);
  const turn = ['readTun', 'outbound 1000 7', 'readSockets', 'bySockets 1000 7'];
  t.deepEqual(world.calls.slice(0, 4), turn);
});
