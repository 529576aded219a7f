// The thread in which SQLite works, for all connections of this process: a commit waits for the
// disk here, and the main thread goes on. It never waits for a lock of a file, so no connection
// keeps another waiting: SQLITE_BUSY goes back at once. An answer of many rows is made a part at a
// time, and short statements of other connections run between the parts. Plain JavaScript: a thread
// that can read TypeScript takes 14 MB more.

import { DatabaseSync } from 'node:sqlite';
import { getHeapStatistics } from 'node:v8';
import { receiveMessageOnPort, workerData } from 'node:worker_threads';

/** Prepared statements kept per connection; the one used longest ago gives way. */
const PREPARED_MAX = 100;
/** How long one answer may hold others up, ms. */
const PART_MS = 2;
/** Rows between two looks at the clock. */
const ROWS_PER_LOOK = 64;

/** Questions between two looks at the heap. */
const QUESTIONS_PER_LOOK = 1_000;
/** So much garbage is collected. V8 alone waits for a heap of `--initial-heap-size`. */
const GARBAGE_BYTES = 2 * 1024 * 1024;

/** The beginning of a text that may be asked again. */
const READING = /^\s*(SELECT|WITH)\b/i;
/** The end of a text that gives a page at most. */
const PAGE = /\sLIMIT \d{1,3}\s*;?$/i;

/** `bell` changes with every question, so that none is missed before a sleep. */
const { port, bell } = workerData;
/** Open connections by number: a database, and what is prepared for it, by the texts. */
const connections = new Map();
/** Reads that have given some rows; each goes on in its turn. */
const reads = [];
let questions = 0;
/** Bytes of the heap at its smallest since it was collected. */
let least = Infinity;

for (;;) {
  const heard = Atomics.load(bell, 0);
  let asked = receiveMessageOnPort(port);
  if (asked === undefined && reads.length === 0) {
    if (questions >= QUESTIONS_PER_LOOK) lookAtHeap();
    Atomics.wait(bell, 0, heard);
  }
  for (; asked !== undefined; asked = receiveMessageOnPort(port)) perform(asked.message);
  const read = reads.shift();
  if (read !== undefined) goOn(read);
}

/** Collects garbage in some milliseconds, while nobody waits. Without `--expose-gc` V8 decides. */
function lookAtHeap() {
  questions = 0;
  const bytes = getHeapStatistics().used_heap_size;
  least = Math.min(least, bytes);
  if (bytes - least < GARBAGE_BYTES) return;
  globalThis.gc?.();
  least = getHeapStatistics().used_heap_size;
}

/** Does one thing that sqlite-calls.ts asks for, and answers, or begins a read. */
function perform([id, connection, act, ...values]) {
  questions += 1;
  try {
    if (act === 'open') return port.postMessage([id, open(connection, ...values)]);
    const opened = connections.get(connection);
    if (act === 'close') {
      connections.delete(connection);
      return port.postMessage([id, opened.database.close()]);
    }
    if (act === 'exec') return port.postMessage([id, opened.database.exec(...values)]);
    ask(id, opened, act, ...values);
  } catch (error) {
    refuse(id, error);
  }
}

/** Runs a statement; one with rows may be at its end at once or go on later. */
function ask(id, opened, act, sql, parameters, isKept) {
  const known = prepared(opened, sql, isKept);
  const { statement } = known;
  const values = bind(parameters);
  if (act === 'all' && known.mayBeLong) {
    const iterator = statement.iterate(...values);
    return goOn({ id, opened, known, sql, values, iterator, rows: [] });
  }
  try {
    if (act === 'all') return answer(id, known, statement.all(...values));
    const { changes, lastInsertRowid } = statement.run(...values);
    port.postMessage([id, null, Number(changes), Number(lastInsertRowid)]);
  } catch (error) {
    opened.prepared.delete(sql);
    if (error.code !== 'ERR_OUT_OF_RANGE' || act !== 'all' || !READING.test(sql)) throw error;
    askRounded({ id, known, values });
  }
}

function open(connection, address, options) {
  connections.set(connection, {
    database: new DatabaseSync(address, { defensive: false, ...options, timeout: 0 }),
    prepared: new Map(),
  });
}

function prepared({ database, prepared: kept }, sql, isKept) {
  if (!isKept) return prepare(database, sql);
  const known = kept.get(sql) ?? prepare(database, sql);
  kept.delete(sql);
  kept.set(sql, known);
  if (kept.size > PREPARED_MAX) kept.delete(kept.keys().next().value);
  return known;
}

/** A statement, and whether its rows are taken in parts; an iterator costs as much as some rows. */
function prepare(database, sql) {
  const statement = database.prepare(sql);
  statement.setReturnArrays(true);
  const isOpenEnded = READING.test(sql) && !PAGE.test(sql);
  return { statement, isOpenEnded, mayBeLong: isOpenEnded };
}

/** Values as a column keeps them: whole numbers as such, where node:sqlite makes 5 a 5.0. */
function bind(parameters) {
  if (Array.isArray(parameters)) return parameters.map(bindable);
  for (const name of Object.keys(parameters)) parameters[name] = bindable(parameters[name]);
  return [parameters];
}

function bindable(value) {
  if (value === undefined) return null;
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (typeof value === 'number' && (value | 0) === value) return BigInt(value);
  return value;
}

/** Takes rows until the part is over; then others have their turn. */
function goOn(read) {
  const { id, opened, known, sql, iterator, rows } = read;
  const endsAt = performance.now() + PART_MS;
  try {
    do
      for (let i = 0; i < ROWS_PER_LOOK; i += 1) {
        const { done, value } = iterator.next();
        if (done) return answer(id, known, rows);
        rows.push(value);
      }
    while (performance.now() < endsAt);
    reads.push(read);
  } catch (error) {
    opened.prepared.delete(sql);
    iterator.return();
    if (error.code === 'ERR_OUT_OF_RANGE' && READING.test(sql)) askRounded(read);
    else refuse(id, error);
  }
}

/** Asks once more where a whole number was larger than JavaScript's: it is rounded, as a sum is. */
function askRounded({ id, known, values }) {
  const { statement } = known;
  try {
    statement.setReadBigInts(true);
    const rounded = (value) => (typeof value === 'bigint' ? Number(value) : value);
    answer(
      id,
      known,
      statement.all(...values).map((row) => row.map(rounded)),
    );
  } catch (error) {
    refuse(id, error);
  }
}

/** Sends rows: the names of their columns, and all values, row after row. */
function answer(id, known, rows) {
  // Where it gave few rows it is read at once the next time: at worst one answer is long.
  known.mayBeLong = known.isOpenEnded && rows.length > ROWS_PER_LOOK;
  // Asked after the statement has run: only then it knows of a change of its table.
  const names = rows.length === 0 ? [] : known.statement.columns().map(({ name }) => name);
  port.postMessage([id, null, names, rows.flat()]);
}

function refuse(id, { code, errcode, message }) {
  port.postMessage([id, { code, errcode, message }]);
}
