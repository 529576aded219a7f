// A sample is taken in parts, each by a turn of the worker, because ten thousand devices that moved
// would hold up packets for 20 ms. Here are the parts, and how they are put together.

import type { PeerSample, RuleSample, Sample, SamplePart } from './contract.ts';
import type { Filter } from './filter/filter.ts';
import { faultReasons, reasonNames } from './reasons.ts';
import { Round } from './slices.ts';
import type { Tunnel } from './wireguard/tunnel.ts';

/** Samples of a tunnel's peers and a filter's rules, each part given the drops as of it. */
export class Sampling {
  readonly #round: Round<PeerSample | RuleSample>;

  constructor(tunnel: Pick<Tunnel, 'takeNews'>, filter: Pick<Filter, 'takeHits'>) {
    this.#round = new Round(function* () {
      yield* tunnel.takeNews();
      yield* filter.takeHits();
    });
  }

  part(drops: Sample['drops']): SamplePart {
    const news = this.#round.take();
    return {
      peers: news.filter((one) => 'publicKey' in one),
      rules: news.filter((one) => 'id' in one),
      drops,
      isLast: !this.#round.isUnderWay,
    };
  }

  /** All parts at once, for those whom nobody waits for. */
  whole(drops: Sample['drops']): Sample {
    const whole = new WholeSample();
    while (!whole.isWhole) whole.add(this.part(drops));
    return whole.sample;
  }
}

/** Counts by name; those of zero are left out. */
export function dropsByName(counts: Float64Array, faults: Float64Array): Sample['drops'] {
  const drops: Record<string, number> = {};
  for (const [reason, count] of counts.entries()) {
    if (count > 0) drops[reasonNames[reason]!] = count;
  }
  for (const [fault, reason] of faultReasons.entries()) {
    const count = faults[fault]!;
    if (count > 0) drops[reason] = count;
  }
  return drops;
}

/** Puts the parts of one round together. */
export class WholeSample {
  readonly #peers: PeerSample[] = [];
  readonly #rules: RuleSample[] = [];
  #drops: Sample['drops'] = {};
  #isWhole = false;

  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** What was added until now. */
  get sample(): Sample {
    return { peers: this.#peers, rules: this.#rules, drops: this.#drops };
  }

  add({ peers, rules, drops, isLast }: SamplePart): void {
    this.#peers.push(...peers);
    this.#rules.push(...rules);
    this.#drops = drops;
    this.#isWhole = isLast;
  }
}

/** Puts the samples of several workers together: drops of one reason are added up. */
export function joinSamples(samples: readonly Sample[]): Sample {
  const drops: Record<string, number> = {};
  for (const sample of samples)
    for (const [reason, count] of Object.entries(sample.drops))
      drops[reason] = (drops[reason] ?? 0) + count;
  return {
    peers: samples.flatMap(({ peers }) => peers),
    rules: samples.flatMap(({ rules }) => rules),
    drops,
  };
}
