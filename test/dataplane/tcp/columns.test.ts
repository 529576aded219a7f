// No two columns share a place.

import test from 'ava';
import * as columns from '../../../dataplane/tcp/columns.ts';

const all = Object.entries(columns) as [string, number][];
const from = (name: string): number => all.findIndex(([one]) => one === name);

/** Columns that are wider than one word. */
const WIDTHS: Readonly<Record<string, number>> = {
  LOCAL: 4,
  REMOTE: 4,
  RECENT: 4,
  SND_STREAM: 6,
  RCV_STREAM: 6,
};

/** The source in its order: exports of a module are sorted by name. */
const STATES = ['CLOSED', 'WAITING', 'SYN_SENT', 'SYN_RECEIVED', 'ESTABLISHED', 'FIN_WAIT_1'];
const MORE_STATES = ['FIN_WAIT_2', 'CLOSE_WAIT', 'CLOSING', 'LAST_ACK', 'TIME_WAIT', 'ABORTED'];
const TIMES =
  'RETRANSMIT_AT ACK_AT PACE_AT LIFE_AT SRTT RTTVAR RTO MIN_RTT RACK_TIME RACK_RTT PACED_UNTIL HEARD_AT TS_RECENT_AT CHALLENGED_AT SENT_AT CWND SSTHRESH W_MAX W_EST K EPOCH CWND_PRIOR UNDO_CWND UNDO_SSTHRESH UNDO_W_MAX MIN_RTT_AT'.split(
    ' ',
  );
const FOR = ['FOR_RTO', 'FOR_TLP', 'FOR_REORDERING', 'FOR_WINDOW'];
const SIZES = ['WORDS', 'TIMES', 'NEVER'];

const isPowerOfTwo = (value: number): boolean => value > 0 && (value & (value - 1)) === 0;
const FLAG_NAMES =
  'SACK_OK TIMESTAMPS SCALED IS_IPV6 IS_ACTIVE FIN_WANTED FIN_KNOWN FIN_TAKEN FIN_REPORTED ORPHAN ACK_NOW SYN_DUE RST_DUE PROBE_DUE TLP_DUE READY LIMITED RECOVERY RTO_RECOVERY TLP_RETRANS TLP_IN_FLIGHT REORDERED IN_DSACK_ROUND DSACK_DUE WANTS_ROOM CAN_UNDO CONNECTING END_REPORTED OFFERED RST_LAST'.split(
    ' ',
  );

function valuesOf(names: readonly string[]): number[] {
  return names.map((name) => {
    if (from(name) === -1) throw new Error(`there is no ${name}`);
    return (columns as unknown as Record<string, number>)[name]!;
  });
}

test('states, times and timers each have a number of their own', (t) => {
  for (const names of [[...STATES, ...MORE_STATES], TIMES, FOR]) {
    const values = valuesOf(names);
    t.is(new Set(values).size, values.length);
  }
  t.true(Math.max(...valuesOf(TIMES)) < columns.TIMES);
});

test('each flag is a bit of its own', (t) => {
  const values = valuesOf(FLAG_NAMES);
  t.is(new Set(values).size, values.length);
  t.true(values.every(isPowerOfTwo));
});

test('whole numbers do not overlap, and all names are known', (t) => {
  const known = new Set([...STATES, ...MORE_STATES, ...TIMES, ...FOR, ...SIZES, ...FLAG_NAMES]);
  const words = all.filter(([name]) => !known.has(name));
  t.true(words.length > 60);
  const places = words.flatMap(([name, place]) =>
    Array.from({ length: WIDTHS[name] ?? 1 }, (_, i) => place + i),
  );
  t.is(new Set(places).size, places.length);
  t.true(Math.max(...places) < columns.WORDS);
});
