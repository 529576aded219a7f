// Which test files run again with several workers.

import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import test from 'ava';
import { findTests } from './sharing.ts';
import { aloneWithWorkers, ofDataplane, withOneWorker, withOwnWorkers } from './workers.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

test('files that drive gateways are found', (t) => {
  for (const name of [
    'worker/pipeline',
    'gateway/gateway',
    'memory/gateway',
    'path/inward',
    'restarts',
  ])
    t.true(ofDataplane.includes(`test/dataplane/${name}.test.ts`), name);
  t.false(ofDataplane.includes('test/dataplane/filter/compile.test.ts'));
});

test('each test that is left out exists', (t) => {
  for (const file of Object.keys({ ...withOneWorker, ...withOwnWorkers }))
    t.true(existsSync(resolve(ROOT, file)), file);
});

// Whoever takes the number of WORKERS takes it from these.
test('files that say themselves how many workers there are do not ask for the number', (t) => {
  const asking =
    /\bWORKERS\b[^;]*simulation\.ts|loopback-gateway\.ts|memory\/scene\.ts|twoGateways\(/;
  for (const file of Object.keys(withOwnWorkers)) {
    const text = readFileSync(resolve(ROOT, file), 'utf8');
    t.notRegex(text, asking, file);
    if (/gatewayAndClients?\(/.test(text)) t.regex(text, /workers\b/, file);
  }
});

test('of the files that want the machine for themselves, those with packets are known', (t) => {
  t.deepEqual(aloneWithWorkers, [
    'test/dataplane/gateway/worker-link.test.ts',
    'test/e2e/graceful-restart.test.ts',
    'test/e2e/restart.test.ts',
    'test/e2e/revocation.test.ts',
  ]);
});

test('what only a kernel shows of several workers is tested with them', (t) => {
  const files = findTests(['test/e2e/*.test.ts']).filter((file) => !(file in withOneWorker));
  t.deepEqual(files, [
    'test/e2e/ecn.test.ts',
    'test/e2e/graceful-restart.test.ts',
    'test/e2e/link-local.test.ts',
    'test/e2e/metrics.test.ts',
    'test/e2e/native.test.ts',
    'test/e2e/path-mtu.test.ts',
    'test/e2e/restart.test.ts',
    'test/e2e/revocation.test.ts',
    'test/e2e/rootless.test.ts',
    'test/e2e/sockets.test.ts',
    'test/e2e/unprivileged.test.ts',
  ]);
});

test('each of the three kinds runs with two workers', (t) => {
  const script = readFileSync(resolve(ROOT, 'test/all.sh'), 'utf8');
  for (const phase of ['dataplane', 'e2e', 'alone'])
    t.true(script.includes(`  several ${phase} 2`), phase);
});
