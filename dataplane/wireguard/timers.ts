// The timers of WireGuard (paper, section 6). A peer has four deadlines, which are moved only by
// the protocol events below; they are those of the kernel. One heap over all peers gives the next
// deadline of all, so that the gateway needs a single timer.

import {
  INITIATIONS_PER_TURN,
  KEEPALIVE_TIMEOUT_MS,
  REJECT_AFTER_TIME_MS,
  REKEY_ATTEMPT_TIME_MS,
  REKEY_TIMEOUT_JITTER_MS,
  REKEY_TIMEOUT_MS,
} from '../constants.ts';

const NEVER = Number.POSITIVE_INFINITY;
const MAX_HANDSHAKE_ATTEMPTS = REKEY_ATTEMPT_TIME_MS / REKEY_TIMEOUT_MS;

/** What expired timers do. `P` is a peer. */
export interface TimerActions<P> {
  /** Sends an initiation; `isRetry` when an earlier one went unanswered. */
  initiate(peer: P, isRetry: boolean, now: number): void;
  keepalive(peer: P, now: number): void;
  /** Drops the packets that wait for a keypair, because the peer does not answer. */
  giveUp(peer: P): void;
  /** Wipes all keys and the handshake of a peer that has been silent for long. */
  forgetKeys(peer: P): void;
}

/** The deadlines of one peer. */
export class PeerTimers {
  retransmitHandshakeAt = NEVER;
  sendKeepaliveAt = NEVER;
  newHandshakeAt = NEVER;
  forgetKeysAt = NEVER;
  handshakeAttempts = 0;
  needsAnotherKeepalive = false;
  /** Whether the last-minute renewal of the keypair was begun; there is one per keypair. */
  sentLastMinuteHandshake = false;
  /** Its key in the heap; never later than its earliest deadline. */
  scheduledAt = NEVER;
  /** Its place in the heap, -1 when it is not there. */
  heapIndex = -1;

  get deadline(): number {
    return Math.min(
      this.retransmitHandshakeAt,
      this.sendKeepaliveAt,
      this.newHandshakeAt,
      this.forgetKeysAt,
    );
  }
}

interface Timed {
  readonly timers: PeerTimers;
}

/** The deadlines of all peers, and the events that move them. */
export class Timers<P extends Timed> {
  /** A binary heap by scheduledAt. An entry stays in place when its deadline moves to later. */
  readonly #heap: P[] = [];
  readonly #actions: TimerActions<P>;
  /** A whole number of milliseconds in [0, limit). */
  readonly #jitter: (limit: number) => number;
  /** The time of the last turn that made initiations. */
  #turn = Number.NEGATIVE_INFINITY;
  /** How many initiations that turn has made. */
  #initiations = 0;

  constructor(actions: TimerActions<P>, jitter: (limit: number) => number) {
    this.#actions = actions;
    this.#jitter = jitter;
  }

  // ---- events ----

  /** Data, not a keepalive, was sent: without an answer a handshake follows. */
  dataSent(peer: P, now: number): void {
    const { timers } = peer;
    if (timers.newHandshakeAt !== NEVER) return;
    timers.newHandshakeAt =
      now + KEEPALIVE_TIMEOUT_MS + REKEY_TIMEOUT_MS + this.#jitter(REKEY_TIMEOUT_JITTER_MS);
    this.#schedule(peer, timers.newHandshakeAt);
  }

  /** Data, not a keepalive, was received: without an answer a keepalive follows. */
  dataReceived(peer: P, now: number): void {
    const { timers } = peer;
    if (timers.sendKeepaliveAt !== NEVER) {
      timers.needsAnotherKeepalive = true;
      return;
    }
    timers.sendKeepaliveAt = now + KEEPALIVE_TIMEOUT_MS;
    this.#schedule(peer, timers.sendKeepaliveAt);
  }

  anyAuthenticatedPacketSent(peer: P): void {
    peer.timers.sendKeepaliveAt = NEVER;
  }

  anyAuthenticatedPacketReceived(peer: P): void {
    peer.timers.newHandshakeAt = NEVER;
  }

  /**
   * An initiation will be made. After the host slept, old keys may have to be wiped first, or the
   * wiping would destroy the new handshake.
   */
  handshakeBegins(peer: P, now: number): void {
    if (peer.timers.forgetKeysAt > now) return;
    peer.timers.forgetKeysAt = NEVER;
    this.#actions.forgetKeys(peer);
  }

  handshakeInitiated(peer: P, now: number): void {
    this.#initiations = this.#madeIn(now) + 1;
    this.#turn = now;
    this.#retransmitAfter(peer, now);
  }

  /**
   * An initiation is asked for too soon after our last handshake message, which may be a response.
   * It is made later, unless a session comes first.
   */
  handshakePutOff(peer: P, sentAt: number): void {
    if (peer.timers.retransmitHandshakeAt === NEVER) this.#retransmitAfter(peer, sentAt);
  }

  #retransmitAfter(peer: P, sentAt: number): void {
    const { timers } = peer;
    const jitter = this.#jitter(REKEY_TIMEOUT_JITTER_MS);
    timers.retransmitHandshakeAt = sentAt + REKEY_TIMEOUT_MS + jitter;
    this.#schedule(peer, timers.retransmitHandshakeAt);
  }

  handshakeComplete(peer: P): void {
    peer.timers.retransmitHandshakeAt = NEVER;
    peer.timers.handshakeAttempts = 0;
    peer.timers.sentLastMinuteHandshake = false;
  }

  sessionDerived(peer: P, now: number): void {
    peer.timers.forgetKeysAt = now + 3 * REJECT_AFTER_TIME_MS;
    this.#schedule(peer, peer.timers.forgetKeysAt);
  }

  /**
   * Schedules an initiation at `at`, unless a handshake is under way. Spreads initiations over
   * time.
   */
  initiateAt(peer: P, at: number): void {
    if (peer.timers.retransmitHandshakeAt !== NEVER) return;
    peer.timers.newHandshakeAt = Math.min(peer.timers.newHandshakeAt, at);
    this.#schedule(peer, at);
  }

  /** Whether this turn has made as many initiations as it can while packets wait. */
  hasInitiatedEnough(now: number): boolean {
    return this.#madeIn(now) >= INITIATIONS_PER_TURN;
  }

  #madeIn(now: number): number {
    return now === this.#turn ? this.#initiations : 0;
  }

  /** Stops every timer of a peer. */
  cancel(peer: P): void {
    const { timers } = peer;
    timers.retransmitHandshakeAt = NEVER;
    timers.sendKeepaliveAt = NEVER;
    timers.newHandshakeAt = NEVER;
    timers.forgetKeysAt = NEVER;
    timers.needsAnotherKeepalive = false;
    this.#remove(peer);
  }

  // ---- expiry ----

  /** When `expire` must be called next; infinite when no timer is set. */
  get nextDeadline(): number {
    return this.#heap[0]?.timers.scheduledAt ?? NEVER;
  }

  /**
   * Fires timers that are due: of at most `limit` peers, and none after the turn has made
   * `initiations` initiations, so that many peers do not delay packets. Returns how many
   * initiations the turn has made.
   */
  expire(now: number, limit: number, initiations: number): number {
    for (let taken = 0; taken < limit && this.#madeIn(now) < initiations; taken++) {
      const peer = this.#heap[0];
      if (peer === undefined || peer.timers.scheduledAt > now) break;
      this.#remove(peer);
      this.#fire(peer, now);
      if (peer.timers.deadline !== NEVER) this.#schedule(peer, peer.timers.deadline);
    }
    return this.#madeIn(now);
  }

  #fire(peer: P, now: number): void {
    const { timers } = peer;
    if (timers.retransmitHandshakeAt <= now) this.#retransmitHandshake(peer, now);
    if (timers.sendKeepaliveAt <= now) {
      timers.sendKeepaliveAt = NEVER;
      this.#actions.keepalive(peer, now);
      if (timers.needsAnotherKeepalive) {
        timers.needsAnotherKeepalive = false;
        timers.sendKeepaliveAt = now + KEEPALIVE_TIMEOUT_MS;
      }
    }
    if (timers.newHandshakeAt <= now) {
      timers.newHandshakeAt = NEVER;
      this.#actions.initiate(peer, false, now);
    }
    if (timers.forgetKeysAt <= now) {
      timers.forgetKeysAt = NEVER;
      this.#actions.forgetKeys(peer);
    }
  }

  #retransmitHandshake(peer: P, now: number): void {
    const { timers } = peer;
    timers.retransmitHandshakeAt = NEVER;
    if (timers.handshakeAttempts >= MAX_HANDSHAKE_ATTEMPTS) {
      timers.sendKeepaliveAt = NEVER;
      this.#actions.giveUp(peer);
      if (timers.forgetKeysAt === NEVER) timers.forgetKeysAt = now + 3 * REJECT_AFTER_TIME_MS;
      return;
    }
    timers.handshakeAttempts++;
    this.#actions.initiate(peer, true, now);
  }

  // ---- heap ----

  #schedule(peer: P, at: number): void {
    const { timers } = peer;
    if (at >= timers.scheduledAt) return;
    timers.scheduledAt = at;
    if (timers.heapIndex === -1) {
      timers.heapIndex = this.#heap.length;
      this.#heap.push(peer);
    }
    this.#siftUp(timers.heapIndex);
  }

  #remove(peer: P): void {
    const { timers } = peer;
    const index = timers.heapIndex;
    timers.scheduledAt = NEVER;
    if (index === -1) return;
    timers.heapIndex = -1;
    const last = this.#heap.pop();
    if (last === undefined || last === peer) return;
    this.#place(last, index);
    this.#siftUp(index);
    this.#siftDown(last.timers.heapIndex);
  }

  #siftUp(from: number): void {
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#isEarlier(index, parent)) return;
      this.#swap(index, parent);
      index = parent;
    }
  }

  #siftDown(from: number): void {
    let index = from;
    for (;;) {
      const left = 2 * index + 1;
      if (left >= this.#heap.length) return;
      const right = left + 1;
      const child = right < this.#heap.length && this.#isEarlier(right, left) ? right : left;
      if (!this.#isEarlier(child, index)) return;
      this.#swap(index, child);
      index = child;
    }
  }

  #isEarlier(a: number, b: number): boolean {
    return this.#heap[a]!.timers.scheduledAt < this.#heap[b]!.timers.scheduledAt;
  }

  #swap(a: number, b: number): void {
    const peer = this.#heap[a]!;
    this.#place(this.#heap[b]!, a);
    this.#place(peer, b);
  }

  #place(peer: P, index: number): void {
    this.#heap[index] = peer;
    peer.timers.heapIndex = index;
  }
}
