// Takes a sample in parts, one in each turn of the worker, and puts the parts together. A sample of
// ten thousand active devices at once would delay packets by 20 ms.

import { setTimeout as sleep } from 'node:timers/promises';
import type { PeerSample, RuleSample, Sample, SamplePart, SampleSums } from '../contract.ts';
import type { Filter } from '../filter/filter.ts';
import { errorReasons, reasonNames } from '../reasons.ts';
import { Round } from '../slices.ts';
import type { Arrivals } from '../wireguard/arrivals.ts';
import type { Tunnel } from '../wireguard/tunnel.ts';

/** Takes samples of a tunnel's peers and a filter's rules. */
export class Sampling {
  readonly #round: Round<PeerSample | RuleSample>;
  readonly #arrivals: Arrivals;

  constructor(tunnel: Pick<Tunnel, 'takeNews' | 'arrivals'>, filter: Pick<Filter, 'takeHits'>) {
    this.#arrivals = tunnel.arrivals;
    this.#round = new Round(function* () {
      yield* tunnel.takeNews();
      yield* filter.takeHits();
    });
  }

  /** Takes the next part; `sums` are the totals now. */
  part(sums: SampleSums): SamplePart {
    if (!this.#round.isUnderWay) this.#arrivals.sampled();
    const news = this.#round.take();
    return {
      peers: news.filter((one) => 'publicKey' in one),
      rules: news.filter((one) => 'id' in one),
      ...sums,
      isLast: !this.#round.isUnderWay,
    };
  }

  /** Takes all parts at once, where no packet waits. */
  whole(sums: SampleSums): Sample {
    const whole = new WholeSample();
    while (!whole.isWhole) whole.add(this.part(sums));
    return whole.sample;
  }
}

/** Counts by name; those of zero are left out. */
export function dropsByName(counts: Float64Array, errors: Float64Array): Sample['drops'] {
  const drops: Record<string, number> = {};
  for (const [reason, count] of counts.entries()) {
    if (count > 0) drops[reasonNames[reason]!] = count;
  }
  for (const [error, reason] of errorReasons.entries()) {
    const count = errors[error]!;
    if (count > 0) drops[reason] = count;
  }
  return drops;
}

/** Puts the parts of one round together. */
export class WholeSample {
  readonly #peers: PeerSample[] = [];
  readonly #rules: RuleSample[] = [];
  #sums: SampleSums = { drops: {}, forgotten: {} };
  #isWhole = false;

  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** The sum of the parts so far. */
  get sample(): Sample {
    return { peers: this.#peers, rules: this.#rules, ...this.#sums };
  }

  add({ peers, rules, isLast, ...sums }: SamplePart): void {
    this.#peers.push(...peers);
    this.#rules.push(...rules);
    this.#sums = sums;
    this.#isWhole = isLast;
  }
}

/** What samples saw that nobody has taken yet, added up: it grows with peers, not with samples. */
export class KeptSample {
  #peers = new Map<string, PeerSample>();
  #rules = new Map<string, RuleSample>();

  get isEmpty(): boolean {
    return this.#peers.size === 0 && this.#rules.size === 0;
  }

  add({ peers, rules }: Pick<Sample, 'peers' | 'rules'>): void {
    for (const peer of peers) {
      const kept = this.#peers.get(peer.publicKey);
      this.#peers.set(peer.publicKey, kept === undefined ? peer : joinPeer(kept, peer));
    }
    for (const rule of rules) {
      const { packets = 0, bytes = 0 } = this.#rules.get(rule.id) ?? {};
      this.#rules.set(rule.id, {
        ...rule,
        packets: packets + rule.packets,
        bytes: bytes + rule.bytes,
      });
    }
  }

  /** Hands it over, and begins with nothing. */
  take(): Pick<Sample, 'peers' | 'rules'> {
    const taken = { peers: [...this.#peers.values()], rules: [...this.#rules.values()] };
    this.#peers = new Map();
    this.#rules = new Map();
    return taken;
  }
}

/** `wg show` waits so long for workers. */
const REFRESH_MS = 1_000;

/** Takes one sample after the other: two at once would divide the parts between them. */
export class Samples {
  readonly #take: () => Promise<Sample>;
  /** What was seen for `refresh`, since the last sample. */
  readonly #kept = new KeptSample();
  #last: Promise<unknown> = Promise.resolve();

  constructor(take: () => Promise<Sample>) {
    this.#take = take;
  }

  sample(): Promise<Sample> {
    const sample = this.#last.then(async () => {
      const fresh = await this.#take();
      if (this.#kept.isEmpty) return fresh;
      this.#kept.add(fresh);
      return { ...fresh, ...this.#kept.take() };
    });
    this.#last = sample.catch(() => undefined);
    return sample;
  }

  /**
   * Brings totals up to date; the next sample has what was seen. A worker that does not answer in
   * time is shown as it was. Never rejects.
   */
  async refresh(): Promise<void> {
    this.#last = this.#last
      .then(async () => this.#kept.add(await this.#take()))
      .catch(() => undefined);
    await Promise.race([this.#last, sleep(REFRESH_MS, undefined, { ref: false })]);
  }
}

/** The later one says where the peer is. */
function joinPeer(kept: PeerSample, later: PeerSample): PeerSample {
  return {
    ...(later.endpoint === null
      ? { ...later, endpoint: kept.endpoint, local: kept.local ?? null }
      : later),
    latestHandshakeMs: later.latestHandshakeMs ?? kept.latestHandshakeMs,
    rxBytes: kept.rxBytes + later.rxBytes,
    txBytes: kept.txBytes + later.txBytes,
    rxInnerBytes: kept.rxInnerBytes + later.rxInnerBytes,
    txInnerBytes: kept.txInnerBytes + later.txInnerBytes,
  };
}

/** Adds up counts by name of all workers, also of those that ended. */
export class SumTotals {
  /** The counts of workers that ended. */
  #former: Record<string, number> = {};
  readonly #ofWorkers: Sample['drops'][] = [];

  /** Sets what a worker has counted since it began. */
  set(worker: number, counts: Sample['drops']): void {
    this.#ofWorkers[worker] = counts;
  }

  /** Notes that a worker ended; the next one begins with nothing. */
  restart(worker: number): void {
    this.#former = sumOf([this.#former, this.#ofWorkers[worker] ?? {}]);
    this.#ofWorkers[worker] = {};
  }

  /** The sums since the gateway began. */
  get all(): Sample['drops'] {
    return sumOf([this.#former, ...this.#ofWorkers]);
  }
}

/** Sums of all workers, also of those that ended. */
export class SampleTotals {
  readonly #drops = new SumTotals();
  readonly #forgotten = new SumTotals();
  readonly #answers = new SumTotals();
  readonly #retransmits = new SumTotals();
  /** What the workers have now: it ends with them. */
  readonly #sockets: Record<string, number>[] = [];

  /** Sets what a worker has counted since it began. */
  set(worker: number, sums: SampleSums): void {
    this.#drops.set(worker, sums.drops);
    this.#forgotten.set(worker, sums.forgotten);
    this.#answers.set(worker, sums.answers ?? {});
    this.#retransmits.set(worker, sums.retransmits ?? {});
    this.#sockets[worker] = sums.sockets ?? {};
  }

  /** Notes that a worker ended; the next one begins with nothing. */
  restart(worker: number): void {
    for (const totals of [this.#drops, this.#forgotten, this.#answers, this.#retransmits])
      totals.restart(worker);
    this.#sockets[worker] = {};
  }

  /** The sums since the gateway began. */
  get all(): SampleSums {
    return {
      drops: this.#drops.all,
      forgotten: this.#forgotten.all,
      ...withCounts('answers', this.#answers.all),
      ...withCounts('sockets', socketsOf(this.#sockets)),
      ...withCounts('retransmits', this.#retransmits.all),
    };
  }
}

/** Counts that are left out while there are none. */
function withCounts(
  name: 'answers' | 'sockets' | 'retransmits',
  counts: Record<string, number>,
): Partial<SampleSums> {
  return Object.keys(counts).length === 0 ? {} : { [name]: counts };
}

/** Adds up counts by name. */
export function sumOf(all: readonly Sample['drops'][]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const drops of all)
    for (const [reason, count] of Object.entries(drops)) sum[reason] = (sum[reason] ?? 0) + count;
  return sum;
}

/** What the workers have together, and how many sockets the one has that has most. */
function socketsOf(all: readonly Record<string, number>[]): Record<string, number> {
  const sum = sumOf(all);
  if (Object.keys(sum).length === 0) return sum;
  const counts = all.map(({ tcp = 0, udp = 0, echo = 0 }) => tcp + udp + echo);
  return { ...sum, most: Math.max(...counts) };
}

/** Joins the samples of several workers: counts of one name are added up. */
export function joinSamples(samples: readonly Sample[]): Sample {
  return {
    peers: samples.flatMap(({ peers }) => peers),
    rules: samples.flatMap(({ rules }) => rules),
    drops: sumOf(samples.map(({ drops }) => drops)),
    forgotten: sumOf(samples.map(({ forgotten }) => forgotten)),
    ...withCounts('answers', sumOf(samples.map(({ answers = {} }) => answers))),
    ...withCounts('sockets', socketsOf(samples.map(({ sockets = {} }) => sockets))),
    ...withCounts('retransmits', sumOf(samples.map(({ retransmits = {} }) => retransmits))),
  };
}
