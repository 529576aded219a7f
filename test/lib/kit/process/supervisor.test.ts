// What a supervisor is sent, and when it is sent nothing.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { Reports } from '../../../../lib/kit/process/supervisor.ts';
import { type LogLine, logInto } from '../../../support/api/server.ts';

function reportsTo(watchdogMs: number | null): { reports: Reports; heard: string[] } {
  const heard: string[] = [];
  const notify = (socket: string, lines: readonly string[]): void =>
    void heard.push(`${socket}: ${lines.join(' ')}`);
  return { reports: new Reports({ socket: '/s', watchdogMs }, notify, logInto([])), heard };
}

test('the supervisor gets start, reload and stop in this order', (t) => {
  const { reports, heard } = reportsTo(null);
  t.true(reports.isSupervised);
  reports.ready('well', () => true);
  let read = 0;
  reports.reloading(() => void read++);
  reports.stopping();
  t.is(read, 1);
  t.deepEqual(heard, [
    '/s: READY=1 STATUS=well',
    '/s: RELOADING=1',
    '/s: READY=1',
    '/s: STOPPING=1 STATUS=Postern stops',
  ]);
});

test('the watchdog gets messages twice as often as it must, but only while the data plane is alive', async (t) => {
  const { reports, heard } = reportsTo(100);
  let isAlive = true;
  reports.ready('well', () => isAlive);
  await sleep(260);
  const beats = (): number => heard.filter((line) => line === '/s: WATCHDOG=1').length;
  t.true(beats() >= 3, `${beats()} beats`);
  isAlive = false;
  const before = beats();
  await sleep(200);
  t.is(beats(), before);
  isAlive = true;
  await sleep(200);
  t.true(beats() > before);
  reports.stopping();
  const last = beats();
  await sleep(150);
  t.is(beats(), last, 'nothing after the stop');
});

test('without a supervisor nothing is sent, and a supervisor that cannot be reached is no failure', (t) => {
  const nobody = new Reports({ socket: null, watchdogMs: null }, () => t.fail(), logInto([]));
  t.false(nobody.isSupervised);
  nobody.ready('well', () => true);
  nobody.stopping();
  const log: LogLine[] = [];
  const fails = (): never => {
    throw new Error('gone');
  };
  new Reports({ socket: '/s', watchdogMs: null }, fails, logInto(log)).ready('well', () => true);
  t.like(log[0], { level: 'warn', message: 'the supervisor got no report' });
});
