// How long flows live, state by state: the table in the words of the law.

import test from 'ava';
import {
  FlowTable,
  ownerOf,
  REPLIED,
  STATE,
  TUN_OWNER,
} from '../../../dataplane/filter/flow-table.ts';
import { hold, isClosed, isFinished, notice } from '../../../dataplane/filter/lifetime.ts';
import { InnerPacket } from '../../../dataplane/wire/ip.ts';
import { flagsOf } from '../../support/dataplane/packets.ts';
import { chance } from '../../support/dataplane/seeded-test.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** A flow and how long it lives from now on. */
class Watched {
  readonly table = new FlowTable({ random: chance(1), capacity: 8, quota: 8 });
  readonly flow: number;
  readonly #packet = new InnerPacket();
  now = 0;

  constructor(protocol: number) {
    Object.assign(this.#packet, { version: 4, protocol, source0: 1, destination0: 2 });
    this.flow = this.table.add(this.#packet, 1, 2, ownerOf(0, 4), TUN_OWNER);
  }

  /** "S>" is a SYN of who opened it, "<SA" an answer; "-" is a packet without flags. */
  say(words: string): this {
    for (const word of words.split(' ')) {
      this.#packet.flags = flagsOf(word.replaceAll(/[<>-]/g, ''));
      notice(this.table, this.flow, this.#packet, word.startsWith('<') ? 1 : 0);
    }
    return this;
  }

  refuse(): this {
    hold(this.table, this.flow, this.#packet);
    return this;
  }

  wait(ms: number): this {
    this.now += ms;
    this.table.begin(this.now);
    return this;
  }

  /** Milliseconds until it is not found any more. */
  left(): number {
    const lives = (ms: number): boolean => {
      const probe = this.table;
      probe.begin(this.now + ms);
      const isAlive = !probe.hasEnded(this.flow);
      probe.begin(this.now);
      return isAlive;
    };
    let [low, high] = [0, 24 * 60 * MINUTE];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (lives(middle)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const ESTABLISHED = 124 * MINUTE;
const courses: readonly (readonly [protocol: number, words: string, wanted: number])[] = [
  [17, '->', 180 * SECOND],
  [17, '-> <-', 180 * SECOND],
  [47, '->', 180 * SECOND],
  [1, '->', 30 * SECOND],
  [58, '-> <-', 30 * SECOND],
  [6, 'S>', 120 * SECOND],
  [6, 'S> <SA', 120 * SECOND],
  [6, 'S> <SA A>', ESTABLISHED],
  [6, 'S> A>', 120 * SECOND],
  [6, 'A> <A A>', ESTABLISHED],
  [6, 'S> <SA A> FA>', ESTABLISHED],
  [6, 'S> <SA A> FA> <A', ESTABLISHED],
  [6, 'S> <SA A> FA> <FA', 10 * SECOND],
  [6, 'S> <SA A> <FA FA>', 10 * SECOND],
  [6, 'S> <SA A> FA> FA>', ESTABLISHED],
  [6, 'S> <RA', 10 * SECOND],
  [6, 'S> <SA A> R>', 10 * SECOND],
  [6, 'S> <SA A> R> A> <A', 10 * SECOND],
];

for (const [protocol, words, wanted] of courses) {
  test(`protocol ${protocol}, ${words}: ${wanted} ms`, (t) => {
    t.is(new Watched(protocol).say(words).left(), wanted);
  });
}

test('what comes after the end does not put it off', (t) => {
  t.is(
    new Watched(6)
      .say('S> <SA A> R>')
      .wait(4 * SECOND)
      .say('A> <A FA>')
      .left(),
    6 * SECOND,
  );
});

test('each packet of datagrams puts the end off, also while the flow is refused', (t) => {
  const flow = new Watched(17).say('->').wait(100 * SECOND);
  t.is(flow.left(), 80 * SECOND);
  t.is(flow.refuse().left(), 180 * SECOND);
});

test('a connection that is refused keeps its time, and two minutes at least', (t) => {
  t.is(new Watched(6).say('S> <SA A>').refuse().left(), ESTABLISHED);
  t.is(
    new Watched(6)
      .say('S>')
      .wait(100 * SECOND)
      .refuse()
      .left(),
    120 * SECOND,
  );
});

test('an answer is noted, and the end of a connection', (t) => {
  const flow = new Watched(6).say('S>');
  t.is(flow.table.get(flow.flow, STATE) & REPLIED, 0);
  flow.say('<SA');
  t.is(flow.table.get(flow.flow, STATE) & REPLIED, REPLIED);
  t.false(isClosed(flow.table, flow.flow));
  flow.say('R>');
  t.true(isClosed(flow.table, flow.flow));
  t.false(isFinished(flow.table, flow.flow));
  const closed = new Watched(6).say('S> <SA A> FA>');
  t.false(isFinished(closed.table, closed.flow));
  closed.say('<FA');
  t.true(isClosed(closed.table, closed.flow) && isFinished(closed.table, closed.flow));
});
