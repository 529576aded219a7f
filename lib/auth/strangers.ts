// Decides which clients are strangers, and how often strangers may ask: an address has one bucket
// for all requests that show neither a good token nor a good session. A token or session that is
// known in memory passes at once. Any other is looked up, eight at once for each address, and costs
// one of the bucket if it is not good. So the database is asked no more often than the bucket
// allows. pace.ts limits all other clients. docs/api.md#rate-limits.

import type { IncomingMessage } from 'node:http';
import { ApiError } from '../kit/http/errors.ts';
import { type Gatekeeper, type Refusal, refusals } from '../kit/http/gate.ts';
import { isLocal } from '../kit/http/local-socket.ts';
import { readCookie, hashSecret, isSecret } from './browser-cookies.ts';
import { Buckets } from './buckets.ts';
import type { KnownGood, Somebody } from './known-good.ts';
import { Pace } from './pace.ts';
import { readToken, tokenCheck } from './bearer-token.ts';
import { hashToken, isTokenText } from './tokens.ts';

/** What strangers of one address may ask in a second, and at once. */
export const STRANGERS = { perSecond: 20, burst: 40 };
/** Look-ups of one address at once. */
const LOOK_UPS_MAX = 8;
/** Requests of one address that wait for a look-up: more come only while the database is slow. */
const WAITING_MAX = 512;

/** Why the gate let a request in; `disown` may make it a stranger's later. */
type Standing = 'stranger' | 'known' | 'free';

/** A token or a session that a request shows. */
interface Shown {
  readonly kind: 'token' | 'session';
  readonly sha256: string;
}

/** Look-ups of one address. */
interface LookUps {
  running: number;
  /** Called with false where the bucket has become empty. */
  readonly waiting: ((mayGo: boolean) => void)[];
}

/** What strangers are recognised by. */
export interface StrangerOptions {
  /** API_RATE_LIMIT; 0 means no limit at all. */
  readonly perSecond: number;
  readonly nowMs?: (() => number) | undefined;
  readonly known: KnownGood;
  /** What counts as one address. */
  readonly scopeOf: (address: string) => string;
  /** The name of the cookie that a session has. */
  readonly cookie: string;
  readonly metricsToken: string | null;
  /** True for what costs nothing: health, and the files of pages. */
  readonly isFree: (request: IncomingMessage) => boolean;
  /** Looks in the database whose a token or a session is; null where it is not good. */
  readonly find: (shown: Shown) => Promise<Somebody | null>;
}

/** The strangers of one server. */
export class Strangers implements Gatekeeper {
  readonly #options: StrangerOptions;
  /** Null where nothing is limited. */
  readonly #buckets: Buckets | null;
  readonly #pace: Pace;
  readonly #isMetricsToken: (token: string | null) => boolean;
  readonly #standings = new WeakMap<IncomingMessage, Standing>();
  readonly #lookUps = new Map<string, LookUps>();

  constructor(options: StrangerOptions) {
    const { perSecond, nowMs, metricsToken } = options;
    this.#options = options;
    this.#buckets = perSecond === 0 ? null : new Buckets(STRANGERS, nowMs);
    this.#pace = new Pace(perSecond, nowMs);
    this.#isMetricsToken = tokenCheck(metricsToken);
  }

  get isOn(): boolean {
    return this.#buckets !== null;
  }

  get scopeOf(): (address: string) => string {
    return this.#options.scopeOf;
  }

  /** Whether a request was admitted already. */
  hasChecked(request: IncomingMessage): boolean {
    return this.#standings.has(request);
  }

  /** Whether a request needs no bucket. */
  isKnown(request: IncomingMessage): boolean {
    return this.#standings.get(request) === 'known';
  }

  check(request: IncomingMessage, scope: string): Refusal | null | Promise<Refusal | null> {
    if (this.#buckets === null || isLocal(request)) return this.#pass(request, 'known');
    const token = readToken(request);
    if (this.#isMetricsToken(token)) return this.#pass(request, 'known');
    const shown = this.#shownBy(request, token);
    const { known, isFree } = this.#options;
    for (const one of shown) {
      const somebody = known.find(one.sha256);
      if (somebody === null) continue;
      known.addAddress(scope);
      if (known.mustLookAgain(one.sha256)) void this.#lookAgain(one);
      return this.#checkSomebody(request, somebody);
    }
    if (isFree(request)) return this.#pass(request, 'free');
    if (shown.length > 0) return this.#lookUp(request, scope, shown);
    return this.#buckets.take(scope) ? this.#pass(request, 'stranger') : refusals.stranger;
  }

  knock(scope: string): 'free' | 'taken' | 'refused' {
    if (this.#buckets === null || this.#options.known.hasAddress(scope)) return 'free';
    return this.#buckets.take(scope) ? 'taken' : 'refused';
  }

  giveBack(scope: string): void {
    this.#buckets?.giveBack(scope);
  }

  take(scope: string): void {
    this.#buckets?.take(scope);
  }

  /**
   * A request that was admitted turned out to show nothing good; throws where that is one too many.
   * Its token or session is then no longer remembered as good. A client that was admitted as a
   * stranger has paid already.
   */
  disown(request: IncomingMessage, address = ''): void {
    const standing = this.#standings.get(request);
    if (standing === 'stranger' || this.#buckets === null) return;
    for (const { sha256 } of this.#shownBy(request, readToken(request)))
      this.#options.known.forget(sha256);
    this.#standings.set(request, 'stranger');
    if (!this.#buckets.take(this.scopeOf(address)))
      throw new ApiError('too_many_requests', { reason: refusals.stranger.reason });
  }

  /** Somebody who is known; what is free costs them nothing either. */
  #checkSomebody(request: IncomingMessage, somebody: Somebody): Refusal | null {
    const isFree = this.#options.isFree(request);
    return (isFree ? null : this.#pace.check(somebody, request)) ?? this.#pass(request, 'known');
  }

  #pass(request: IncomingMessage, standing: Standing): null {
    this.#standings.set(request, standing);
    return null;
  }

  #shownBy(request: IncomingMessage, token: string | null): Shown[] {
    const shown: Shown[] = [];
    if (token !== null && isTokenText(token))
      shown.push({ kind: 'token', sha256: hashToken(token) });
    const secret = readCookie(request, this.#options.cookie);
    if (secret !== null && isSecret(secret))
      shown.push({ kind: 'session', sha256: hashSecret(secret) });
    return shown;
  }

  /** Nobody waits for it: what a request may do is checked by its token or session anyway. */
  async #lookAgain(shown: Shown): Promise<void> {
    const { known, find } = this.#options;
    try {
      const somebody = await find(shown);
      if (somebody === null) known.forget(shown.sha256);
      else known.add(shown.sha256, somebody);
    } catch {
      // The database is away: it stays known for another minute.
    }
  }

  /** Looks up what a request shows. */
  async #lookUp(
    request: IncomingMessage,
    scope: string,
    shown: readonly Shown[],
  ): Promise<Refusal | null> {
    if (!(await this.#turn(scope))) return refusals.stranger;
    const { known, find } = this.#options;
    let first: Somebody | null = null;
    try {
      for (const one of shown) {
        const somebody = await find(one);
        if (somebody === null) continue;
        first ??= somebody;
        known.add(one.sha256, somebody);
        known.addAddress(scope);
      }
    } catch {
      // The request itself meets the error, and answers for it.
    }
    this.#end(scope, first !== null);
    return first === null ? this.#pass(request, 'stranger') : this.#checkSomebody(request, first);
  }

  /** Waits for a place among the look-ups of an address, and takes one of its bucket. */
  #turn(scope: string): boolean | Promise<boolean> {
    const lookUps = this.#lookUps.get(scope) ?? { running: 0, waiting: [] };
    if (lookUps.running < LOOK_UPS_MAX && this.#buckets?.take(scope) === true) {
      lookUps.running += 1;
      this.#lookUps.set(scope, lookUps);
      return true;
    }
    // Else nobody is on the way who could give one back.
    if (lookUps.running === 0 || lookUps.waiting.length >= WAITING_MAX) return false;
    return new Promise((resolve) => lookUps.waiting.push(resolve));
  }

  #end(scope: string, isSomebody: boolean): void {
    if (isSomebody) this.giveBack(scope);
    const lookUps = this.#lookUps.get(scope);
    if (lookUps === undefined) return;
    lookUps.running -= 1;
    while (lookUps.waiting.length > 0 && lookUps.running < LOOK_UPS_MAX) {
      if (this.#buckets?.take(scope) === false) break;
      lookUps.running += 1;
      lookUps.waiting.shift()?.(true);
    }
    if (lookUps.running > 0) return;
    this.#lookUps.delete(scope);
    for (const refuse of lookUps.waiting) refuse(false);
  }
}
