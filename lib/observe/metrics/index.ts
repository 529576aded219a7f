// All metrics of one gateway, as a text that is made while it is sent: with 10,000 devices it has
// megabytes, and packets, requests and timers of the main thread must not wait for it. Nothing is
// read from the database; a scrape works while that is away.
// ../decisions/2026-11-21-metrics-text.md.

import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import type { Services } from '../../services.ts';
import type { CounterFamily } from '../counters.ts';
import { deviceMetrics } from './devices.ts';
import { byLabel, type MetricType } from './exposition.ts';
import {
  dropMetrics,
  factMetrics,
  presenceMetrics,
  reconcilerMetrics,
  ruleMetrics,
} from './gateway.ts';
import { ProcessMetrics } from './process.ts';
import { RequestMetrics } from './requests.ts';

/** What is made before others have their turn. */
const SLICE_MS = 2;
/** Characters that are sent at once. */
const CHUNK = 65_536;
/** Pieces between two looks at the clock. */
const PIECES = 16;

const { version } = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
) as { version: string };

/** How the counts of refusals and sign-ins are called, by their families. */
const counted: Readonly<
  Record<CounterFamily, readonly [name: string, help: string, label: string]>
> = {
  requests_refused: [
    'wg_gateway_requests_refused_total',
    'Requests that were refused, by reason.',
    'reason',
  ],
  connections_refused: [
    'wg_gateway_connections_refused_total',
    'Connections to the HTTP listener that were refused, by reason.',
    'reason',
  ],
  sign_ins: [
    'wg_gateway_sign_ins_total',
    'Sign-ins and other proofs of who somebody is, by what became of them.',
    'result',
  ],
  refreshes: [
    'wg_gateway_refreshes_total',
    'Questions after accounts at OpenID providers, by what became of them.',
    'result',
  ],
};

/** What metrics are made of. */
export type MetricsSources = Pick<
  Services,
  'config' | 'counters' | 'observed' | 'readiness' | 'serverPublicKey' | 'watched'
>;

/** The metrics of one server. */
export class Metrics {
  readonly requests = new RequestMetrics();
  readonly #process = new ProcessMetrics();
  readonly #sources: MetricsSources;

  constructor(sources: MetricsSources) {
    this.#sources = sources;
  }

  stop(): void {
    this.#process.stop();
  }

  /** The whole text, in chunks; between two of them, others have their turn. */
  async *text(): AsyncGenerator<string> {
    let text = await this.#process.metrics();
    let pieces = 0;
    let began = performance.now();
    for (const piece of this.#pieces()) {
      text += piece;
      if (++pieces % PIECES !== 0) continue;
      if (text.length < CHUNK && performance.now() - began < SLICE_MS) continue;
      yield text;
      text = '';
      await setImmediate();
      began = performance.now();
    }
    yield text;
  }

  *#pieces(): Generator<string> {
    const { config, counters, observed, readiness, serverPublicKey, watched } = this.#sources;
    const { wireguardInterface: tunnel, metricsPerDevice } = config;
    const about = { version, tunnel, publicKey: serverPublicKey };
    yield* factMetrics(watched?.facts() ?? null, readiness(), about);
    const counts = counters.read();
    for (const [key, [name, help, label]] of Object.entries(counted)) {
      const family = [name, 'counter' as MetricType, help] as const;
      yield* byLabel(family, label, Object.entries(counts[key as CounterFamily]));
    }
    yield* this.requests.metrics();
    if (watched === undefined || observed === undefined) return;
    yield* dropMetrics(observed.drops());
    yield* reconcilerMetrics(watched, observed.problems);
    yield* presenceMetrics(watched);
    yield* ruleMetrics(observed.rules, watched.ruleActions);
    if (metricsPerDevice) yield* deviceMetrics(watched, tunnel, Date.now());
  }
}
