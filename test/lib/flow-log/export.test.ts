// The flow log reports what the data plane hands on, some at a time, and counts what is lost.

import test from 'ava';
import type { LoggedFlow } from '../../../dataplane/index.ts';
import { FlowLogExport, startFlowLog } from '../../../lib/flow-log/export.ts';
import type { FlowTarget } from '../../../lib/flow-log/targets.ts';
import { loggedFlow } from '../../support/observe/logged-flows.ts';
import { until } from '../../support/gateway/postern.ts';

class Recorded implements FlowTarget {
  readonly taken: LoggedFlow[] = [];
  flushes = 0;
  isClosed = false;
  unsent = 5;

  take(flow: LoggedFlow): void {
    this.taken.push(flow);
  }

  flush(): void {
    this.flushes++;
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
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
  const reporting = new FlowLogExport(sourceOf(waiting), target);
  reporting.start();
  await until('the first ones are reported', () => target.taken.length === 3);
  waiting.push(loggedFlow());
  await reporting.stop();
  t.is(target.taken.length, 4);
  t.true(target.isClosed && target.flushes >= 2);
  t.deepEqual(reporting.counts, {
    records: { opened: 1, ended: 2, refused: 1 },
    lost: { ring_full: 3, device_share: 4, unsent: 5 },
  });
});

test('one look takes a limited number, and others have their turn meanwhile', async (t) => {
  const waiting = Array.from({ length: 10_000 }, () => loggedFlow());
  const target = new Recorded();
  const reporting = new FlowLogExport(sourceOf(waiting), target);
  const look = reporting.look();
  await new Promise(setImmediate);
  t.true(target.taken.length < 4_096);
  await look;
  t.is(target.taken.length, 4_096);
  t.is(target.flushes, 1);
});

test('where nothing is wanted, nothing is started', (t) => {
  const { log } = { log: { debug() {}, info() {}, warn() {}, error() {} } };
  const options = { gatewayId: 'g', deviceIdOf: () => null, log };
  t.is(startFlowLog({ config: { flowLog: 'off' }, gateway: { flowLog: null }, ...options }), null);
});
