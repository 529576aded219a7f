// Counts and durations of HTTP requests, by method, route and status. The route is that of the
// table of routes, never a path: paths hold ids and e-mails, and anybody may invent them.

import { family, labelText, sample } from './exposition.ts';

/** Upper ends of the buckets of durations, in seconds. */
const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface Durations {
  readonly labels: Readonly<Record<string, string>>;
  /** By bucket, not added up. */
  readonly counts: Float64Array;
  count: number;
  sumSeconds: number;
}

/** What one request was. */
export interface AnsweredRequest {
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly seconds: number;
}

/** The requests of one server. */
export class RequestMetrics {
  readonly #answers = new Map<string, number>();
  readonly #durations = new Map<string, Durations>();

  /** Adds a request that was answered. */
  add({ method, route, status, seconds }: AnsweredRequest): void {
    const answer = labelText({ method, route, status: String(status) });
    this.#answers.set(answer, (this.#answers.get(answer) ?? 0) + 1);
    const labels = { method, route };
    const key = labelText(labels);
    const durations = this.#durations.get(key) ?? {
      labels,
      counts: new Float64Array(BUCKETS.length),
      count: 0,
      sumSeconds: 0,
    };
    this.#durations.set(key, durations);
    const bucket = BUCKETS.findIndex((end) => seconds <= end);
    if (bucket >= 0) durations.counts[bucket] = (durations.counts[bucket] ?? 0) + 1;
    durations.count += 1;
    durations.sumSeconds += seconds;
  }

  /** The families, piece by piece. */
  *metrics(): Generator<string> {
    yield family('http_requests_total', 'counter', 'Requests that were answered.');
    for (const [labels, count] of this.#answers) yield sample('http_requests_total', labels, count);
    const name = 'http_request_duration_seconds';
    yield family(name, 'histogram', 'From the headers of a request to the end of its answer.');
    for (const [key, { labels, counts, count, sumSeconds }] of this.#durations) {
      let below = 0;
      for (const [i, end] of BUCKETS.entries()) {
        below += counts[i] ?? 0;
        yield sample(`${name}_bucket`, labelText({ ...labels, le: String(end) }), below);
      }
      yield sample(`${name}_bucket`, labelText({ ...labels, le: '+Inf' }), count);
      yield sample(`${name}_sum`, key, sumSeconds);
      yield sample(`${name}_count`, key, count);
    }
  }
}
