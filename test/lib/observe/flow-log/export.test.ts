// The flow log reports what the data plane hands on, some at a time, and counts what is lost.

import test from 'ava';
import type { LoggedFlow } from '../../../../dataplane/index.ts';
import { FlowLogExport, startFlowLog } from '../../../../lib/observe/flow-log/export.ts';
import type { FlowTarget } from '../../../../lib/observe/flow-log/targets.ts';
import { loggedFlow } from '../../../support/observe/logged-flows.ts';
import { until } from '../../../support/gateway/postern.ts';

class Recorded implements FlowTarget {
  readonly taken: LoggedFlow[] = [];
  flushes = 0;
  /** How many were taken before the stop; null: it has not begun. */
  takenBefore: number | null = null;
  isClosed = false;
  unsent = 5;

  take(flow: LoggedFlow): void {
    this.taken.push(flow);
  }

  flush(): void {
    this.flushes++;
  }

  hurry(): void {
    this.takenBefore = this.taken.length;
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

function warned(): { warnings: unknown[][]; log: { warn(...given: unknown[]): void } } {
  const warnings: unknown[][] = [];
  return { warnings, log: { warn: (...given) => void warnings.push(given) } };
}

function sourceOf(waiting: LoggedFlow[]): {
  take: () => LoggedFlow | null;
  lost: { full: number; share: number };
} {
  return { take: () => waiting.shift() ?? null, lost: { full: 3, share: 4 } };
}

test('what waits is reported, also at the end', async (t) => {
  const waiting = [loggedFlow(), loggedFlow({ event: 'opened' }), loggedFlow({ event: 'refused' })];
  const target = new Recorded();
  const { warnings, log } = warned();
  const reporting = new FlowLogExport(sourceOf(waiting), target, log);
  reporting.start();
  await until('the first ones are reported', () => target.taken.length === 3);
  waiting.push(loggedFlow());
  await reporting.stop(Promise.resolve());
  t.deepEqual(warnings, []);
  t.is(target.taken.length, 4);
  t.true(target.isClosed && target.flushes >= 2);
  t.is(target.takenBefore, 3);
  t.deepEqual(reporting.counts, {
    records: { opened: 1, ended: 2, refused: 1 },
    lost: { ring_full: 3, device_share: 4, unsent: 5 },
  });
});

test('one look takes a limited number, and others have their turn meanwhile', async (t) => {
  const waiting = Array.from({ length: 10_000 }, () => loggedFlow());
  const target = new Recorded();
  const reporting = new FlowLogExport(sourceOf(waiting), target, warned().log);
  const look = reporting.look();
  await new Promise(setImmediate);
  t.true(target.taken.length < 4_096);
  await look;
  t.is(target.taken.length, 4_096);
  t.is(target.flushes, 1);
});

test('what is written while the data plane closes is reported, more than a ring has', async (t) => {
  const waiting: LoggedFlow[] = [];
  const source = sourceOf(waiting);
  const target = new Recorded();
  const { warnings, log } = warned();
  const reporting = new FlowLogExport(source, target, log);
  const close = async (): Promise<void> => {
    for (let part = 0; part < 5; part++) {
      waiting.push(...Array.from({ length: 10_000 }, () => loggedFlow()));
      await until('it is taken', () => waiting.length < 5_000);
    }
    source.lost.full += 2;
    throw new Error('the last worker failed');
  };
  await reporting.stop(close());
  t.is(target.taken.length, 50_000);
  t.true(target.isClosed);
  t.deepEqual(warnings, [[{ records: 2 }, 'records of flows were lost while the gateway stopped']]);
});

test('where nothing is wanted, nothing is started', async (t) => {
  const { log } = { log: { debug() {}, info() {}, warn() {}, error() {} } };
  const named = { gatewayId: 'g', deviceIdOf: () => null, ownerIdOf: () => null };
  const options = { named, log };
  const nothing = { config: { flowLog: 'off' }, gateway: { flowLog: null } };
  t.is(await startFlowLog({ ...nothing, ...options }), null);
});
