// All metrics of one gateway, as a text that is made while it is sent: with 10,000 devices it has
// megabytes, and packets, requests and timers of the main thread must not wait for it. Nothing is
// read from the database; a scrape works while that is away.
// ../decisions/2026-11-21-metrics-text.md.

import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import type { Shared } from '../../kit/process/shared.ts';
import type {
  CaptureCounts,
  FlowLogCounts,
  Observed,
  Readiness,
  Watched,
} from '../gateway-state.ts';
import type { CounterFamily, Counters } from '../../kit/process/counters.ts';
import { version } from '../../kit/process/version.ts';
import { deviceMetrics } from './devices.ts';
import { byLabel } from './exposition.ts';
import {
  captureMetrics,
  dropMetrics,
  factMetrics,
  fileMetrics,
  flowLogMetrics,
  answerMetrics,
  socketMetrics,
  forgottenMetrics,
  historyMetrics,
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

/** How a family of counts is shown. */
interface Counted {
  readonly name: string;
  readonly help: string;
  readonly label: 'reason' | 'result';
  /** What is there at 0 before it happens: only then is the first time an increase. */
  readonly early: readonly string[];
}

const counted: Readonly<Record<CounterFamily, Counted>> = {
  requests_refused: {
    name: 'wg_gateway_requests_refused_total',
    help: 'Requests that were refused, by reason.',
    label: 'reason',
    early: [
      'unauthenticated',
      'invalid_token',
      'forbidden',
      'through_tunnel',
      'too_many_of_token',
      'too_many_of_address',
      'service_unavailable',
      'internal_server_error',
    ],
  },
  connections_refused: {
    name: 'wg_gateway_connections_refused_total',
    help: 'Connections to the HTTP listener that were refused, by reason.',
    label: 'reason',
    early: ['too_many', 'too_few_files', 'too_many_from_address', 'too_many_handshakes'],
  },
  sign_ins: {
    name: 'wg_gateway_sign_ins_total',
    help: 'Sign-ins and other proofs of who somebody is, by what became of them.',
    label: 'result',
    early: [
      'completed',
      'refused',
      'bad_code',
      'too_many_for_account',
      'too_many_from_address',
      'too_many_codes',
    ],
  },
  refreshes: {
    name: 'wg_gateway_refreshes_total',
    help: 'Questions after accounts at OpenID providers, by what became of them.',
    label: 'result',
    early: ['good', 'internal'],
  },
  metadata_refreshes: {
    name: 'wg_gateway_saml_metadata_refreshes_total',
    help: 'Fetches of the metadata of SAML providers, by what became of them.',
    label: 'result',
    early: ['changed', 'same', 'unreachable', 'unfit', 'expired', 'other_entity'],
  },
  mails: {
    name: 'wg_gateway_mails_total',
    help: 'Mails with one-time links, by what became of them.',
    label: 'result',
    early: ['sent', 'mail_server_away', 'mail_login_refused', 'mail_refused', 'too_many_mails'],
  },
  pasta_ends: {
    name: 'wg_gateway_pasta_ends_total',
    help: 'Ends of pasta, which connects a gateway without root to its host; it is started again.',
    label: 'reason',
    early: ['hung', 'ended'],
  },
  clock_jumps: {
    name: 'wg_gateway_clock_jumps_total',
    help: 'Times at which the clock was days ahead of the last time that old rows were forgotten, or had been set back.',
    label: 'reason',
    early: ['ahead', 'back'],
  },
};

/** What metrics are made of. */
export interface MetricsSources extends Pick<Shared, 'config' | 'counters'> {
  readonly serverPublicKey: string;
  readonly readiness: () => Readiness;
  /** Left out where there is no data plane. */
  readonly observed?: Observed;
  readonly watched?: Watched;
  readonly captures?: () => CaptureCounts;
  /** Left out where there is no data plane. */
  readonly flowLog?: () => FlowLogCounts;
}

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
    const { captures, config, counters, flowLog, observed, readiness, serverPublicKey, watched } =
      this.#sources;
    const { wireguardInterface: tunnel, metricsPerDevice } = config;
    const about = { version, tunnel, publicKey: serverPublicKey };
    yield* factMetrics(watched?.facts() ?? null, readiness(), about);
    yield* countMetrics(counters);
    yield* this.requests.metrics();
    if (watched === undefined || observed === undefined) return;
    yield* dropMetrics(observed.drops());
    yield* forgottenMetrics(observed.forgotten());
    yield* answerMetrics(observed.answers?.() ?? {});
    yield* socketMetrics(observed.sockets?.() ?? {});
    yield* fileMetrics(watched.fileShares?.() ?? {});
    yield* reconcilerMetrics(watched, observed.problems);
    yield* presenceMetrics(watched);
    if (captures !== undefined) yield* captureMetrics(captures());
    if (flowLog !== undefined) yield* flowLogMetrics(flowLog());
    yield* historyMetrics(watched);
    yield* ruleMetrics(observed.rules, watched.ruleActions);
    if (metricsPerDevice) yield* deviceMetrics(watched, tunnel, Date.now());
  }
}

function* countMetrics(counters: Counters): Generator<string> {
  const counts = counters.read();
  for (const [family, { name, help, label, early }] of Object.entries(counted)) {
    const zeros = Object.fromEntries(early.map((word) => [word, 0]));
    const values = Object.entries({ ...zeros, ...counts[family as CounterFamily] });
    yield* byLabel([name, 'counter', help], label, values);
  }
}
