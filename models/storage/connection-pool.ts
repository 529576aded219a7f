// A pool of connections handed out in the order of asking. With a limit of one it is a mutex, by
// which the writes of one process to a SQLite file take turns. It knows nothing of SQL.

import { ConnectionAcquireTimeoutError } from 'sequelize';

/** How a pool makes and ends its connections, and its limits. */
export interface PoolOptions<Connection> {
  open: () => Promise<Connection>;
  close: (connection: Connection) => Promise<void>;
  /** How many connections may be open at once. */
  limit: number;
  /** How long one may wait for a connection. */
  acquireTimeoutMs: number;
}

interface Waiter<Connection> {
  resolve: (connection: Connection) => void;
  reject: (error: Error) => void;
  timer: NodeJS.Timeout;
  /** Monotonic ms. */
  askedAt: number;
}

/** Keeps connections open between uses and lends each to one user at a time. */
export class ConnectionPool<Connection> {
  readonly #options: PoolOptions<Connection>;
  readonly #idle: Connection[] = [];
  readonly #lent = new Set<Connection>();
  readonly #waiters: Waiter<Connection>[] = [];
  #opening = 0;
  #closed = false;
  #whenUnused: (() => void) | null = null;

  constructor(options: PoolOptions<Connection>) {
    this.#options = options;
  }

  /** Lends a connection; waits while all are lent, fails after the time limit. */
  async acquire(): Promise<Connection> {
    if (this.#closed) throw new Error('The database is closed');
    const idle = this.#idle.pop();
    if (idle !== undefined) {
      this.#lent.add(idle);
      return idle;
    }
    if (this.#opening + this.#lent.size >= this.#options.limit) return this.#wait();
    this.#opening += 1;
    try {
      const connection = await this.#options.open();
      this.#lent.add(connection);
      return connection;
    } catch (error) {
      // Whoever waits behind this place must not wait for a connection that never came.
      queueMicrotask(() => this.#serveNext());
      throw error;
    } finally {
      this.#opening -= 1;
      this.#noticeUnused();
    }
  }

  /** Takes back a connection that is fit for the next user; ignores one that is not lent. */
  release(connection: Connection): void {
    if (!this.#lent.has(connection)) return;
    const waiter = this.#waiters.shift();
    if (waiter === undefined) {
      this.#lent.delete(connection);
      this.#idle.push(connection);
      this.#noticeUnused();
      return;
    }
    clearTimeout(waiter.timer);
    waiter.resolve(connection);
  }

  /** Ends a connection whose state is unknown, and opens another for whoever waits. */
  async destroy(connection: Connection): Promise<void> {
    if (!this.#lent.delete(connection)) return;
    try {
      await this.#options.close(connection);
    } finally {
      this.#serveNext();
      this.#noticeUnused();
    }
  }

  /** Refuses those who have waited for so long, where waiting on would come to the same. */
  refuseWaiters(waitedMs: number, error: Error): void {
    const now = performance.now();
    // They stand in the order of asking.
    const staying = this.#waiters.findIndex(({ askedAt }) => now - askedAt < waitedMs);
    const count = staying === -1 ? this.#waiters.length : staying;
    for (const waiter of this.#waiters.splice(0, count)) {
      clearTimeout(waiter.timer);
      waiter.reject(error);
    }
  }

  /** True while this connection is lent by this pool. */
  owns(connection: Connection): boolean {
    return this.#lent.has(connection);
  }

  /** Refuses further users, lets present ones finish, then ends every connection. */
  async close(): Promise<void> {
    this.#closed = true;
    this.refuseWaiters(0, new Error('The database was closed'));
    if (this.#lent.size + this.#opening > 0)
      await new Promise<void>((resolve) => (this.#whenUnused = resolve));
    await Promise.all(this.#idle.splice(0).map((idle) => this.#options.close(idle)));
  }

  #wait(): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        const text = `No database connection came free within ${this.#options.acquireTimeoutMs} ms`;
        reject(new ConnectionAcquireTimeoutError(new Error(text)));
      }, this.#options.acquireTimeoutMs);
      const waiter: Waiter<Connection> = { resolve, reject, timer, askedAt: performance.now() };
      this.#waiters.push(waiter);
    });
  }

  #serveNext(): void {
    const waiter = this.#waiters.shift();
    if (waiter === undefined) return;
    clearTimeout(waiter.timer);
    this.acquire().then(waiter.resolve, waiter.reject);
  }

  #noticeUnused(): void {
    if (this.#lent.size + this.#opening === 0) this.#whenUnused?.();
  }
}
