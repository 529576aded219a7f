// Questions to the thread in which SQLite works (sqlite-thread.js), and their answers. There is one
// thread for a process; it begins with the first question and sleeps while there is none. It is
// woken by a futex, which costs half of what a message to a sleeping event loop does.

import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { type Refusal, sqliteError } from './sqlite-error.ts';

/** What the thread does for a connection. */
export type Act = 'open' | 'exec' | 'run' | 'all' | 'close';

/** What the thread sends: names of columns and values of all rows, or changes and the last id. */
type Answer = [
  id: number,
  refusal?: Refusal | null,
  namesOrChanges?: string[] | number,
  valuesOrId?: unknown[] | number,
];

/** What a question came to: rows of `all`, the others of `run`. */
export interface Found {
  readonly rows: Record<string, unknown>[];
  readonly changes: number;
  readonly lastID: number;
}

/** The thread needs little memory for young objects; statements that are over go with them. */
const YOUNG_MB = 1;

/** The thread, from here. */
class SqliteThread {
  readonly #port: MessagePort;
  readonly #bell = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  readonly #waiting = new Map<number, PromiseWithResolvers<Found>>();
  #lastId = 0;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    // An error of the thread itself is none of a statement: it ends the process, as it should.
    new Worker(new URL('./sqlite-thread.js', import.meta.url), {
      workerData: { port: port2, bell: this.#bell },
      transferList: [port2],
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    }).unref();
    this.#port = port1;
    port1.on('message', (answer: Answer) => this.#hear(answer));
    port1.unref();
  }

  ask(connection: number, act: Act, values: readonly unknown[]): Promise<Found> {
    this.#lastId += 1;
    const waiting = Promise.withResolvers<Found>();
    this.#port.postMessage([this.#lastId, connection, act, ...values]);
    Atomics.add(this.#bell, 0, 1);
    Atomics.notify(this.#bell, 0);
    if (this.#waiting.size === 0) this.#port.ref();
    this.#waiting.set(this.#lastId, waiting);
    return waiting.promise;
  }

  #hear([id, refusal, namesOrChanges, valuesOrId]: Answer): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#port.unref();
    if (refusal) waiting?.reject(sqliteError(refusal));
    else if (Array.isArray(namesOrChanges))
      waiting?.resolve({
        rows: rowsOf(namesOrChanges, valuesOrId as unknown[]),
        changes: 0,
        lastID: 0,
      });
    else
      waiting?.resolve({
        rows: [],
        changes: namesOrChanges ?? 0,
        lastID: (valuesOrId as number | undefined) ?? 0,
      });
  }
}

let thread: SqliteThread | null = null;
let lastConnection = 0;

/** The number of another connection; numbers tell connections apart in the thread. */
export function nextConnection(): number {
  lastConnection += 1;
  return lastConnection;
}

/** Starts the thread; what will ask it is loaded meanwhile. */
export function startSqliteThread(): void {
  thread ??= new SqliteThread();
}

/** Asks the thread; rejects with an error of SQLite where it refuses. */
export function askThread(
  connection: number,
  act: Act,
  ...values: readonly unknown[]
): Promise<Found> {
  thread ??= new SqliteThread();
  return thread.ask(connection, act, values);
}

/** Rows of the names of their columns and all values, row after row. */
export function rowsOf(
  names: readonly string[],
  values: readonly unknown[],
): Record<string, unknown>[] {
  const rows: Record<string, unknown>[] = [];
  for (let at = 0; at < values.length; at += names.length) {
    const row: Record<string, unknown> = {};
    for (let i = 0; i < names.length; i += 1) row[names[i] as string] = shown(values[at + i]);
    rows.push(row);
  }
  return rows;
}

/** Bytes come through a message as those of any array. */
function shown(value: unknown): unknown {
  return value instanceof Uint8Array
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : value;
}
