// Metrics of the process, under the names of Prometheus' client libraries.

import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { ProcessMetrics } from '../../../../lib/observe/metrics/process.ts';
import { readExposition, valueOf } from '../../../support/observe/exposition.ts';

test('memory, CPU, descriptors and start are those of this process', async (t) => {
  const metrics = new ProcessMetrics();
  t.teardown(() => metrics.stop());
  const families = readExposition(await metrics.metrics());
  const value = (name: string): number => valueOf(families, name) ?? Number.NaN;
  t.true(Math.abs(value('process_resident_memory_bytes') - process.memoryUsage().rss) < 1e8);
  t.true(value('process_virtual_memory_bytes') > value('process_resident_memory_bytes'));
  t.true(value('process_open_fds') > 3 && value('process_open_fds') < value('process_max_fds'));
  t.true(Math.abs(value('process_start_time_seconds') + process.uptime() - Date.now() / 1_000) < 5);
  const [user, system] = [
    value('process_cpu_user_seconds_total'),
    value('process_cpu_system_seconds_total'),
  ];
  t.true(Math.abs(value('process_cpu_seconds_total') - user - system) < 1e-6 && user > 0);
  t.true(value('nodejs_heap_size_used_bytes') <= value('nodejs_heap_size_total_bytes'));
  t.is(valueOf(families, 'nodejs_version_info', { version: process.version }), 1);
});

test('what holds the loop is seen by the next scrape, and by that one alone', async (t) => {
  const metrics = new ProcessMetrics();
  t.teardown(() => metrics.stop());
  const max = async (): Promise<number> =>
    valueOf(readExposition(await metrics.metrics()), 'nodejs_eventloop_lag_max_seconds') ?? 0;
  await max();
  await sleep(50);
  const until = performance.now() + 400;
  while (performance.now() < until);
  await sleep(50);
  t.true((await max()) > 0.3);
  await sleep(50);
  t.true((await max()) < 0.3);
});

test('a scrape after the stop still answers', async (t) => {
  const metrics = new ProcessMetrics();
  metrics.stop();
  t.is(valueOf(readExposition(await metrics.metrics()), 'nodejs_eventloop_lag_p99_seconds'), 0);
});
