// The doctor's checks for the dashboard: nobody waits for them, and they are made again when old.

import test, { type ExecutionContext } from 'ava';
import {
  Checkup,
  checkupOf,
  inspectInThread,
} from '../../../../lib/installation/doctor/checkup.ts';
import { failed, type Finding, ok } from '../../../../lib/installation/doctor/finding.ts';
import { hostOf } from '../../../../lib/installation/doctor/host.ts';
import { type LogLine, logInto } from '../../../../lib/testing/log.ts';
import { readOrCreateConfiguration } from '../../../../models/index.ts';
import { addUser } from '../../../models/fixtures.ts';
import { openDatabase } from '../../../support/database/databases.ts';
import { configOf } from '../../../support/api/server.ts';
import { until } from '../../../support/gateway/postern.ts';

const ERROR = failed('nft', 'it is not there', 'install it');

/** A check that answers when the test says so. */
function held(): {
  look: () => Promise<Finding[]>;
  answer: (found: Finding[]) => void;
  looks: () => number;
} {
  let resolve: (found: Finding[]) => void = () => undefined;
  let count = 0;
  const look = (): Promise<Finding[]> => {
    count += 1;
    return new Promise((done) => (resolve = done));
  };
  return { look, answer: (found) => resolve(found), looks: () => count };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('nobody waits: what was found last is shown, and only what is not well', async (t) => {
  const { look, answer, looks } = held();
  const checkup = new Checkup(logInto([]), [[1_000, look]]);
  t.deepEqual(checkup.findings(0), []);
  t.deepEqual(checkup.findings(5_000), [], 'a look goes on');
  t.is(looks(), 1);
  answer([ok('tun', 'there'), ERROR]);
  await settled();
  t.deepEqual(checkup.findings(900), [ERROR]);
  t.is(looks(), 1);
  t.deepEqual(checkup.findings(1_100), [ERROR], 'old, and shown until the next is known');
  t.is(looks(), 2);
  answer([]);
  await settled();
  t.deepEqual(checkup.findings(1_200), []);
});

test('a page waits for the first look alone', async (t) => {
  const { look, answer, looks } = held();
  const checkup = new Checkup(logInto([]), [[0, look]]);
  const first = checkup.firstLook();
  answer([ERROR]);
  await first;
  t.is(looks(), 1);
  const began = performance.now();
  await checkup.firstLook();
  t.is(looks(), 2, 'the next look goes on');
  t.true(performance.now() - began < 1_000);
  t.deepEqual(checkup.findings(), [ERROR]);
});

test('a check that fails is logged, and costs the others nothing', async (t) => {
  const log: LogLine[] = [];
  const checkup = new Checkup(logInto(log), [
    [1_000, () => Promise.reject(new Error('away'))],
    [1_000, async () => [ERROR]],
  ]);
  checkup.findings(0);
  await settled();
  t.deepEqual(checkup.findings(1), [ERROR]);
  t.like(log[0], { level: 'warn', fields: { error: 'away' } });
});

async function served(t: ExecutionContext) {
  const database = await openDatabase(t, 'sqlite');
  const config = configOf({
    TRUSTED_PROXIES: 'no-such-host.invalid',
    WIREGUARD_TUN: 'off',
    SMTP_URL: 'smtp://127.0.0.1:1',
    MAIL_FROM: 'vpn@example.com',
  });
  const log = logInto([]);
  return {
    config,
    database,
    log,
    warnings: ['HTTP_PORTT?'],
    runningTun: () => null,
    egress: { way: 'none', reason: 'WIREGUARD_TUN=off' } as const,
    hasHost: true,
  };
}

test('a gateway that serves is looked at as the doctor does', async (t) => {
  const known = await served(t);
  await readOrCreateConfiguration(known.database);
  await addUser(known.database, { role: 'admin' });
  const checkup = checkupOf(known);
  const checks = (): string[] => checkup.findings().map(({ check }) => check);
  const wanted = ['settings', 'trusted proxies', 'administrator', 'mail'];
  await until('all is found', () => wanted.every((check) => checks().includes(check)));
  t.regex(JSON.stringify(checkup.findings()), /HTTP_PORTT\?.*no administrator can sign in/);
});

test('the host is inspected in a thread of its own', async (t) => {
  const asked = {
    ...hostOf(configOf({ WIREGUARD_TUN: 'off' }), false),
    isRunning: true,
    runningTun: null,
  };
  const findings = await inspectInThread(asked);
  t.like(findings[0], { check: 'tun', level: 'ok' });
  t.true(findings.some(({ check }) => check === 'WireGuard port'));
});
