// The order in which passwords are computed. bcrypt is slow on purpose, so strangers who send
// passwords by the hundred must not keep others from signing in. People who signed in from an
// address before have places of their own, and turns alternate between them and strangers. Among
// each, the network that waited longest for a turn is next; where all places are taken, a network
// that has fewer of them takes one from the network that has most.

import { ApiError } from '../kit/http/errors.ts';
import { TunnelAddresses, type TunnelSettings } from '../kit/http/tunnel-addresses.ts';

/** From where a password comes. */
export interface Asker {
  /** An IPv6 /64, an IPv4 address, a device. */
  readonly scope: string;
  /** An IPv6 /48, an IPv4 /24, a device: what one customer may have. */
  readonly network: string;
  /** Whether somebody signed in from there before. */
  readonly isKnown: boolean;
}

/** Passwords that are computed at once, so that files and names of hosts have threads too. */
const AT_ONCE_MAX = 2;
/** Places of strangers and of known askers, each: some 8 s of work; more come back later. */
export const PLACES_MAX = 64;
/** Places that strangers of one scope, and of one network, take at most. */
export const STRANGER_PLACES = { scope: 8, network: 16 } as const;
/** Networks whose last turn is remembered. */
const TURNS_MAX = 1_000;

interface Waiting {
  readonly asker: Asker;
  readonly start: () => void;
  readonly refuse: (error: ApiError) => void;
}

/** The asker of an address. */
export function askerAt(config: TunnelSettings, address: string, isKnown: boolean): Asker {
  const tunnel = new TunnelAddresses(config);
  return { scope: tunnel.scopeOf(address), network: tunnel.networkOf(address), isKnown };
}

/** Gives turns to those who wait. */
export class PasswordQueue {
  #waiting: Waiting[] = [];
  #running = 0;
  #turn = 0;
  #wasKnown = false;
  /** By network and by scope, the number of its last turn. */
  readonly #turns = new Map<string, number>();

  /** Runs work at the asker's turn; throws `service_unavailable` where there is no place. */
  async run<T>(asker: Asker, work: () => Promise<T>): Promise<T> {
    if (this.#running >= AT_ONCE_MAX) await this.#wait(asker);
    else this.#running += 1;
    try {
      return await work();
    } finally {
      const next = this.#next();
      // The place is handed over, not given back.
      if (next === null) this.#running -= 1;
      else next.start();
    }
  }

  #wait(asker: Asker): Promise<void> {
    this.#makePlace(asker);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ asker, start: resolve, refuse: reject });
    });
  }

  #makePlace(asker: Asker): void {
    const rivals = this.#waiting.filter((one) => one.asker.isKnown === asker.isKnown);
    const inNetwork = rivals.filter((one) => one.asker.network === asker.network);
    const inScope = inNetwork.filter((one) => one.asker.scope === asker.scope);
    const { scope, network } = STRANGER_PLACES;
    if (!asker.isKnown && (inScope.length >= scope || inNetwork.length >= network)) throw full();
    if (rivals.length < PLACES_MAX) return;
    const byNetwork = Map.groupBy(rivals, (one) => one.asker.network);
    const [greatest = []] = [...byNetwork.values()].toSorted((a, b) => b.length - a.length);
    if (greatest.length <= inNetwork.length + 1) throw full();
    const last = greatest.at(-1) as Waiting;
    this.#waiting = this.#waiting.filter((one) => one !== last);
    last.refuse(full());
  }

  /** Takes out whose turn it is: the other kind, then the network, then the scope that waited. */
  #next(): Waiting | null {
    const others = this.#waiting.filter(({ asker }) => asker.isKnown !== this.#wasKnown);
    const candidates = others.length > 0 ? others : this.#waiting;
    let first: Waiting | null = null;
    for (const one of candidates) if (first === null || this.#isBefore(one, first)) first = one;
    if (first === null) return null;
    this.#waiting = this.#waiting.filter((one) => one !== first);
    const { network, scope, isKnown } = first.asker;
    if (this.#turns.size >= TURNS_MAX) this.#turns.clear();
    this.#turn += 1;
    this.#turns.set(`network ${network}`, this.#turn).set(`scope ${scope}`, this.#turn);
    this.#wasKnown = isKnown;
    return first;
  }

  /** In order of arrival: only an earlier turn moves somebody before the others. */
  #isBefore({ asker: one }: Waiting, { asker: other }: Waiting): boolean {
    const network =
      this.#turnOf(`network ${one.network}`) - this.#turnOf(`network ${other.network}`);
    if (network !== 0) return network < 0;
    return this.#turnOf(`scope ${one.scope}`) < this.#turnOf(`scope ${other.scope}`);
  }

  #turnOf(key: string): number {
    return this.#turns.get(key) ?? 0;
  }
}

function full(): ApiError {
  const options = { reason: 'too_many_passwords', detail: 'too many passwords wait' };
  return new ApiError('service_unavailable', options);
}
