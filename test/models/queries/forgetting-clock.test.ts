// The clock by which old rows are forgotten: how far jumps move it, and how it catches up.

import test from 'ava';
import {
  beginForgettingClock,
  JUMP_MAX_MS,
  moveForgettingClock,
  registerGateway,
} from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const START = Date.parse('2026-11-21T08:00:00.000Z');

for (const kind of databaseKinds()) {
  test(`${kind}: a jump moves the clock by 25 hours, however often a gateway starts`, async (t) => {
    const database = await openDatabase(t, kind);
    const look = async (atMs: number, runningMs = 0) => {
      const wish = { runningMs, now: new Date(START + atMs) };
      const { time, sinceMs, behindMs } = await moveForgettingClock(database, wish);
      return { at: time.getTime() - START, sinceMs, behindMs };
    };
    const ahead = 730 * DAY_MS;
    t.deepEqual(await look(0), { at: 0, sinceMs: 0, behindMs: 0 });
    t.deepEqual(await look(HOUR_MS, HOUR_MS), { at: HOUR_MS, sinceMs: HOUR_MS, behindMs: 0 });
    const jumped = await look(ahead);
    t.deepEqual(jumped, {
      at: HOUR_MS + JUMP_MAX_MS,
      sinceMs: ahead - HOUR_MS,
      behindMs: ahead - HOUR_MS - JUMP_MAX_MS,
    });
    t.is((await look(ahead + 1)).at, jumped.at + 1, 'another start');
    t.is((await look(2 * HOUR_MS)).at, 2 * HOUR_MS, 'the clock came back');
    t.is((await look(3 * HOUR_MS, HOUR_MS)).at, 3 * HOUR_MS);
    t.true((await look(ahead)).at < 2.2 * DAY_MS, 'and jumps once more');
  });

  test(`${kind}: what no gateway forgot for a month is made up by an extra day each day`, async (t) => {
    const database = await openDatabase(t, kind);
    const look = (atMs: number, runningMs: number) =>
      moveForgettingClock(database, { runningMs, now: new Date(START + atMs) });
    await look(0, 0);
    let hours = 30 * 24;
    const first = await look(hours * HOUR_MS, 600_000);
    t.is(first.behindMs, hours * HOUR_MS - JUMP_MAX_MS - 600_000);
    let { behindMs } = first;
    for (let n = 0; n < 4; n += 1) ({ behindMs } = await look((hours += 6) * HOUR_MS, 6 * HOUR_MS));
    t.is(first.behindMs - behindMs, DAY_MS);
    for (let n = 0; n < 28; n += 1) ({ behindMs } = await look((hours += 24) * HOUR_MS, DAY_MS));
    t.is(behindMs, 0);
  });

  test(`${kind}: a clock that was behind at a start is made good by the next`, async (t) => {
    const database = await openDatabase(t, kind);
    const look = async (ms: number) =>
      (await moveForgettingClock(database, { runningMs: 0, now: new Date(ms) })).time.getTime();
    await look(START);
    t.is(await look(0), 0, 'nothing is old by a clock of 1970');
    t.is(await look(START + HOUR_MS), START, 'it had gone back by a day at most');
  });

  test(`${kind}: it begins when a gateway was seen last, however far ahead the clock is`, async (t) => {
    const [used, fresh] = [await openDatabase(t, kind), await openDatabase(t, kind)];
    await registerGateway(used, { id: 'g', name: 'g', startedAt: new Date(START) });
    const later = new Date(START + 730 * DAY_MS);
    for (const database of [used, fresh]) await beginForgettingClock(database, later);
    await beginForgettingClock(used, new Date(START - DAY_MS));
    const look = async (database: typeof used) =>
      (await moveForgettingClock(database, { runningMs: 0, now: later })).time.getTime();
    t.is(await look(used), START + JUMP_MAX_MS);
    t.is(await look(fresh), later.getTime());
  });

  test(`${kind}: without another clock it follows that of the server, or ours`, async (t) => {
    const database = await openDatabase(t, kind);
    const { time } = await moveForgettingClock(database, { runningMs: 0 });
    t.true(Math.abs(time.getTime() - Date.now()) < 60_000);
  });

  test(`${kind}: looks of several gateways at once add up to one`, async (t) => {
    const database = await openDatabase(t, kind);
    const look = (atMs: number) =>
      moveForgettingClock(database, { runningMs: 0, now: new Date(START + atMs) });
    await look(0);
    await Promise.all(Array.from({ length: 8 }, () => look(90 * DAY_MS)));
    const { time } = await look(90 * DAY_MS);
    t.is(time.getTime() - START, JUMP_MAX_MS);
  });
}
