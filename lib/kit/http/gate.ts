// The gate before all work on a request: a client that has asked too often gets a short constant
// answer, which costs a small part of what the framework costs. Requests of strangers take turns,
// so that most of the main thread is left for others, however many connections they come by. A
// connection that is refused ten times in a row ends, unless it is that of a proxy.
// docs/api.md#rate-limits.

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Counters } from '../process/counters.ts';
import type { Peer } from './door.ts';

/** Why somebody may not go on, and what they read. */
export interface Refusal {
  /** The name under which the refusal is counted. */
  readonly reason: string;
  readonly body: string;
}

/** All refusals. */
export const refusals = {
  stranger: { reason: 'too_many_of_address', body: '{"error":"too_many_requests"}' },
  requests: {
    reason: 'too_many_of_user',
    body: JSON.stringify({
      error: 'too_many_requests',
      message: 'You asked too often. Wait a second, then ask again, and less often.',
    }),
  },
  writes: {
    reason: 'too_many_writes_of_user',
    body: JSON.stringify({
      error: 'too_many_requests',
      message: 'You changed something too often. Wait a second, then try again.',
    }),
  },
} as const satisfies Record<string, Refusal>;

export const REFUSED_STATUS = 429;
/** Every bucket gets at least one more each second. */
export const REFUSED_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'retry-after': '1',
} as const;

/** Refusals in a row after which a connection ends. */
const REFUSALS_MAX = 10;
/** Refusals of one connection that may wait: more come only if nobody reads the answers. */
const WAITING_MAX = 32;
/** How long a turn is, and what it may cost: a refusal costs one, a request that goes on four. */
const TURN_MS = 5;
const TURN = 12;
const GOING_ON = 4;
/** A refused body is read to its end if it is no larger; else the connection ends. */
const BODY_BYTES_MAX = 65_536;

/** Decides who may go on. A scope is what counts as one address. */
export interface Gatekeeper {
  /** Whether anything is limited at all. */
  readonly isOn: boolean;
  /** What counts as one address. */
  readonly scopeOf: (address: string) => string;
  /** Why a request may not go on; null where it may. */
  check(request: IncomingMessage, scope: string): Refusal | null | Promise<Refusal | null>;
  /** Whether a request that may go on is of somebody who is known. */
  isKnown(request: IncomingMessage): boolean;
  /** A TLS handshake begins; `taken`: it took one of the bucket of the address. */
  knock(scope: string): 'free' | 'taken' | 'refused';
  /** Gives one back to the bucket of an address. */
  giveBack(scope: string): void;
  /** Takes one, whatever is in it. */
  take(scope: string): void;
}

/** What a gate needs. */
export interface GateOptions {
  readonly keeper: Gatekeeper;
  readonly counters: Counters;
  /** The address of a request, as far as proxies are believed. */
  readonly addressOf: (request: IncomingMessage) => string | Promise<string>;
  /** Whether a peer is a proxy that is trusted. */
  readonly isProxy: (peer: Peer) => boolean;
  /** Whether a peer could be a proxy: one that is trusted, or this host. */
  readonly mayBeProxy: (peer: Peer) => boolean;
  /** Whether headers name the client of a proxy, whether or not the proxy is trusted. */
  readonly isForwarded: (headers: IncomingMessage['headers']) => boolean;
  readonly isTls: boolean;
  /** Called for each request that is refused here. */
  readonly onRefused: (request: IncomingMessage) => void;
}

/** A request, and what it would go on to. */
interface Arrived {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly goOn: () => void;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** What is known of a connection. */
interface Connection {
  /** Whether a request came already. */
  isUsed: boolean;
  refusedInRow: number;
  /** Refusals that are not answered yet. */
  waiting: number;
  /** The scope of the other end, for requests that nobody forwarded. */
  scope: string | null;
}

/** Puts the gate before everything that listens for requests already. */
export function guardListener(listener: Server, options: GateOptions): void {
  if (!options.keeper.isOn) return;
  const gate = new Gate(options);
  for (const event of ['request', 'checkContinue', 'checkExpectation']) {
    const handlers = listener.listeners(event) as Handler[];
    if (handlers.length === 0) continue;
    listener.removeAllListeners(event);
    listener.on(event, (request: IncomingMessage, response: ServerResponse) => {
      gate.check(request, response, () => {
        for (const handler of handlers) handler.call(listener, request, response);
      });
    });
  }
  if (options.isTls) listener.on('connection', (socket: Socket) => gate.knock(socket));
}

class Gate {
  readonly #options: GateOptions;
  readonly #lane = new Lane();
  readonly #connections = new WeakMap<Socket, Connection>();
  /** Scopes of the connections whose handshake took one, by the other end. */
  readonly #knocked = new Map<string, string>();

  constructor(options: GateOptions) {
    this.#options = options;
  }

  knock(socket: Socket): void {
    if (socket.destroyed || this.#options.isProxy(socket)) return;
    const { keeper, counters } = this.#options;
    const scope = keeper.scopeOf(socket.remoteAddress ?? '');
    const answer = keeper.knock(scope);
    if (answer === 'refused') {
      counters.add('connections_refused', 'too_many_handshakes');
      socket.destroy();
    } else if (answer === 'taken') {
      const end = endOf(socket);
      this.#knocked.set(end, scope);
      socket.once('close', () => this.#knocked.delete(end));
    }
  }

  check(request: IncomingMessage, response: ServerResponse, goOn: () => void): void {
    // What came with requests for which the connection was ended.
    if (request.socket.destroyed) return;
    const connection = this.#connectionOf(request.socket);
    const scope = this.#scopeOf(request, connection);
    if (typeof scope === 'string') this.#checkFrom(scope, connection, { request, response, goOn });
    else
      void scope.then(
        (found) => this.#checkFrom(found, connection, { request, response, goOn }),
        () => response.destroy(),
      );
  }

  /** To read an address takes as long as to refuse its request, so that is done once. */
  #scopeOf(request: IncomingMessage, connection: Connection): string | Promise<string> {
    const { addressOf, isForwarded, keeper } = this.#options;
    const isDirect = !isForwarded(request.headers);
    if (isDirect && connection.scope !== null) return connection.scope;
    const address = addressOf(request);
    if (typeof address !== 'string') return address.then(keeper.scopeOf);
    const scope = keeper.scopeOf(address);
    if (isDirect) connection.scope = scope;
    return scope;
  }

  #checkFrom(scope: string, connection: Connection, { request, response, goOn }: Arrived): void {
    const { keeper } = this.#options;
    // A handshake costs nothing where its first request may go on.
    const knocked = connection.isUsed ? null : this.#takeKnock(request.socket);
    connection.isUsed = true;
    if (knocked !== null) keeper.giveBack(knocked);
    const end = (refusal: Refusal | null): void => {
      if (refusal === null) {
        connection.refusedInRow = 0;
        if (keeper.isKnown(request)) goOn();
        else this.#lane.add(GOING_ON, goOn);
        return;
      }
      if (knocked !== null) keeper.take(knocked);
      this.#refuse(refusal, { request, response }, connection);
    };
    const answer = keeper.check(request, scope);
    if (answer instanceof Promise) void answer.then(end, () => response.destroy());
    else end(answer);
  }

  #refuse(
    { reason, body }: Refusal,
    { request, response }: Pick<Arrived, 'request' | 'response'>,
    connection: Connection,
  ): void {
    const { counters, onRefused } = this.#options;
    counters.add('requests_refused', reason);
    onRefused(request);
    connection.refusedInRow += 1;
    connection.waiting += 1;
    if (connection.waiting > WAITING_MAX) {
      request.socket.destroy();
      return;
    }
    const isOver =
      (connection.refusedInRow >= REFUSALS_MAX && !this.#isOfProxy(request)) ||
      hasLargeBody(request);
    this.#lane.add(1, () => {
      connection.waiting -= 1;
      if (response.destroyed || request.socket.destroyed) return;
      response.writeHead(REFUSED_STATUS, {
        ...REFUSED_HEADERS,
        'content-length': String(body.length),
        ...(isOver ? { connection: 'close' } : {}),
      });
      response.end(body);
    });
  }

  /** A proxy of this host may be one that nobody named. */
  #isOfProxy({ socket, headers }: IncomingMessage): boolean {
    const { isProxy, mayBeProxy, isForwarded } = this.#options;
    return isProxy(socket) || (isForwarded(headers) && mayBeProxy(socket));
  }

  #connectionOf(socket: Socket): Connection {
    const present = this.#connections.get(socket);
    if (present !== undefined) return present;
    const fresh = { isUsed: false, refusedInRow: 0, waiting: 0, scope: null };
    this.#connections.set(socket, fresh);
    return fresh;
  }

  #takeKnock(socket: Socket): string | null {
    if (this.#knocked.size === 0) return null;
    const end = endOf(socket);
    const scope = this.#knocked.get(end) ?? null;
    this.#knocked.delete(end);
    return scope;
  }
}

/** Work of strangers, of which each turn does some. */
class Lane {
  #work: { readonly cost: number; readonly run: () => void }[] = [];
  #next = 0;
  #isTurning = false;
  #left = TURN;

  /** Runs the work now if this turn has room for it, else in its turn. */
  add(cost: number, run: () => void): void {
    if (this.#next === this.#work.length && this.#left >= cost) {
      this.#left -= cost;
      this.#turnSoon();
      run();
      return;
    }
    this.#work.push({ cost, run });
    this.#turnSoon();
  }

  #turnSoon(): void {
    if (this.#isTurning) return;
    this.#isTurning = true;
    setTimeout(() => this.#turn(), TURN_MS);
  }

  #turn(): void {
    this.#isTurning = false;
    this.#left = TURN;
    for (;;) {
      const one = this.#work[this.#next];
      if (one === undefined || one.cost > this.#left) break;
      this.#left -= one.cost;
      this.#next += 1;
      one.run();
    }
    if (this.#next < this.#work.length) {
      this.#turnSoon();
      return;
    }
    this.#work = [];
    this.#next = 0;
    if (this.#left < TURN) this.#turnSoon();
  }
}

function endOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function hasLargeBody({ headers }: IncomingMessage): boolean {
  if (headers['transfer-encoding'] !== undefined) return true;
  return Number(headers['content-length'] ?? 0) > BODY_BYTES_MAX;
}
