// Metrics of the process, under the names that Prometheus' client libraries gave them. Values of
// the kernel are read from /proc; if they cannot be read, their families are absent.

import { readdir, readFile } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { setImmediate } from 'node:timers/promises';
import { readFilesMax } from '../../../dataplane/index.ts';
import { family, labelText, sample, single } from './exposition.ts';
import { LoopDelay } from './loop-delay.ts';

/** The process; its loop is watched from the first scrape until the end. */
export class ProcessMetrics {
  readonly #delay = new LoopDelay();

  stop(): void {
    this.#delay.stop();
  }

  /** The families as one text. */
  async metrics(): Promise<string> {
    return cpu() + memory() + (await kernel()) + version() + (await this.#loop());
  }

  async #loop(): Promise<string> {
    const began = performance.now();
    await setImmediate();
    const lagSeconds = (performance.now() - began) / 1_000;
    const { active, idle } = performance.eventLoopUtilization();
    const { mean, p99, max } = this.#delay.take();
    return [
      gauge('nodejs_eventloop_lag_seconds', 'How late one turn of the loop was.', lagSeconds),
      gauge(
        'nodejs_eventloop_lag_mean_seconds',
        'Mean lateness since the last scrape.',
        mean / 1_000,
      ),
      gauge(
        'nodejs_eventloop_lag_p99_seconds',
        '99th percentile of lateness since the last scrape.',
        p99 / 1_000,
      ),
      gauge(
        'nodejs_eventloop_lag_max_seconds',
        'Greatest lateness since the last scrape.',
        max / 1_000,
      ),
      counter(
        'nodejs_eventloop_active_seconds_total',
        'Time in which the loop of the main thread worked.',
        active / 1_000,
      ),
      counter(
        'nodejs_eventloop_idle_seconds_total',
        'Time in which the loop of the main thread waited.',
        idle / 1_000,
      ),
    ].join('');
  }
}

function gauge(name: string, help: string, value: number): string {
  return single(name, 'gauge', help, value);
}

function counter(name: string, help: string, value: number): string {
  return single(name, 'counter', help, value);
}

function cpu(): string {
  const { user, system } = process.cpuUsage();
  return [
    counter('process_cpu_user_seconds_total', 'CPU time in user mode.', user / 1e6),
    counter('process_cpu_system_seconds_total', 'CPU time in the kernel.', system / 1e6),
    counter('process_cpu_seconds_total', 'CPU time.', (user + system) / 1e6),
    gauge(
      'process_start_time_seconds',
      'Unix time at which the process began.',
      Math.round(performance.timeOrigin) / 1_000,
    ),
  ].join('');
}

function memory(): string {
  const { rss, heapTotal, heapUsed, external, arrayBuffers } = process.memoryUsage();
  return [
    gauge('process_resident_memory_bytes', 'Resident memory.', rss),
    gauge('nodejs_heap_size_total_bytes', 'Heap of the main thread.', heapTotal),
    gauge('nodejs_heap_size_used_bytes', 'Heap of the main thread in use.', heapUsed),
    gauge('nodejs_external_memory_bytes', 'Memory outside the heap.', external),
    gauge('nodejs_array_buffers_bytes', 'Buffers outside the heap.', arrayBuffers),
  ].join('');
}

async function kernel(): Promise<string> {
  const read = (name: string): Promise<string> =>
    readFile(`/proc/self/${name}`, 'utf8').catch(() => '');
  const [status, fds] = await Promise.all([
    read('status'),
    readdir('/proc/self/fd').catch(() => null),
  ]);
  const virtualKib = /^VmSize:\s*(\d+)/m.exec(status)?.[1];
  const fdsMax = readFilesMax();
  return [
    virtualKib === undefined
      ? ''
      : gauge('process_virtual_memory_bytes', 'Virtual memory.', Number(virtualKib) * 1_024),
    fds === null ? '' : gauge('process_open_fds', 'Open file descriptors.', fds.length),
    fdsMax === null
      ? ''
      : gauge('process_max_fds', 'Most file descriptors that may be open.', fdsMax),
  ].join('');
}

function version(): string {
  const [major = '', minor = '', patch = ''] = process.versions.node.split('.');
  const labels = { version: process.version, major, minor, patch };
  const name = 'nodejs_version_info';
  return family(name, 'gauge', 'The version of Node.') + sample(name, labelText(labels), 1);
}
