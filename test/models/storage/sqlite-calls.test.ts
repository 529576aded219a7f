// The thread in which SQLite works: one for all connections, asleep while nobody asks, and fair.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { askThread, nextConnection, rowsOf } from '../../../models/storage/sqlite-calls.ts';
import { temporaryFolder } from '../../support/suite/temporary-folder.ts';

const MODULE = new URL('../../../models/storage/sqlite-calls.ts', import.meta.url).href;

/** Opens so many connections to one new file. */
async function open(t: ExecutionContext, count: number): Promise<number[]> {
  const path = join(temporaryFolder('postern-calls-'), 'db.sqlite');
  writeFileSync(path, '');
  const numbers = Array.from({ length: count }, () => nextConnection());
  for (const number of numbers) await askThread(number, 'open', pathToFileURL(path).href, {});
  t.teardown(() => Promise.all(numbers.map((number) => askThread(number, 'close'))));
  await askThread(numbers[0]!, 'exec', 'PRAGMA journal_mode = WAL; CREATE TABLE a (x)');
  return numbers;
}

test('values come back as they went, and undefined as null', async (t) => {
  const [number] = (await open(t, 1)) as [number];
  const values = { $a: undefined, $b: true, $c: false, $d: 'ü', $e: 1.5, $f: Buffer.from([1, 2]) };
  const sql = 'SELECT $a AS a, $b AS b, $c AS c, $d AS d, $e AS e, $f AS f';
  const { rows } = await askThread(number, 'all', sql, values, true);
  t.deepEqual(rows, [{ a: null, b: 1, c: 0, d: 'ü', e: 1.5, f: Buffer.from([1, 2]) }]);
  t.true(Buffer.isBuffer(rows[0]?.['f']));
});

test('a whole number stays one', async (t) => {
  const [number] = (await open(t, 1)) as [number];
  const sql = 'SELECT typeof($a) AS type, json_array($a) AS json';
  const { rows } = await askThread(number, 'all', sql, { $a: 5 }, true);
  t.deepEqual(rows, [{ type: 'integer', json: '[5]' }]);
});

test('a number that JavaScript cannot hold is rounded', async (t) => {
  const [number] = (await open(t, 1)) as [number];
  for (const end of ['', ' LIMIT 1']) {
    const sql = `SELECT 9007199254740993 AS large, 1 AS small${end}`;
    const { rows } = await askThread(number, 'all', sql, [], false);
    t.deepEqual(rows, [{ large: 9007199254740992, small: 1 }]);
  }
});

test('changes and the last id are those of the statement', async (t) => {
  const [number] = (await open(t, 1)) as [number];
  const insert = 'INSERT INTO a VALUES (1), (2)';
  t.like(await askThread(number, 'run', insert, [], false), { changes: 2, lastID: 2 });
});

test('a long answer lets others have their turn, and is whole', async (t) => {
  const [reader, other] = (await open(t, 2)) as [number, number];
  const many = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
    SELECT i FROM n`;
  const order: string[] = [];
  const long = askThread(reader, 'all', many, [], false).then(({ rows }) => {
    order.push('long');
    return rows;
  });
  const short = askThread(other, 'run', 'INSERT INTO a VALUES (7)', [], false).then(() =>
    order.push('short'),
  );
  const [rows] = await Promise.all([long, short]);
  t.deepEqual(order, ['short', 'long']);
  t.is(rows.length, 300_000);
  t.deepEqual(rows.at(-1), { i: 300_000 });
});

test('a statement that gave few rows, and then many, lets others have their turn again', async (t) => {
  const [reader, other] = (await open(t, 2)) as [number, number];
  const sql = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $count)
    SELECT i FROM n`;
  const ask = ($count: number) => askThread(reader, 'all', sql, { $count }, true);
  await ask(1);
  await ask(1_000);
  const order: string[] = [];
  const long = ask(300_000).then(() => order.push('long'));
  const insert = askThread(other, 'run', 'INSERT INTO a VALUES (7)', [], false);
  await Promise.all([long, insert.then(() => order.push('short'))]);
  t.deepEqual(order, ['short', 'long']);
});

test('a statement that fails in the middle of its rows holds nothing', async (t) => {
  const [number, other] = (await open(t, 2)) as [number, number];
  const fails = 'SELECT abs(x) FROM (SELECT 1 AS x UNION ALL SELECT -9223372036854775808)';
  await t.throwsAsync(askThread(number, 'all', fails, [], false), { message: /integer overflow/ });
  await askThread(other, 'exec', 'ALTER TABLE a ADD COLUMN y');
  t.deepEqual((await askThread(number, 'all', 'SELECT * FROM a', [], false)).rows, []);
});

test('rows have the names of their columns', (t) => {
  t.deepEqual(rowsOf(['a', 'b'], [1, 2, 3, 4]), [
    { a: 1, b: 2 },
    { a: 3, b: 4 },
  ]);
  t.deepEqual(rowsOf([], []), []);
});

/** Runs a program with a connection of its own; gives what it says, and how it ends. */
async function runProgram(body: string): Promise<{ said: number; code: number }> {
  const program = `
    const { askThread, nextConnection } = await import('${MODULE}');
    const number = nextConnection();
    await askThread(number, 'open', ':memory:', {});
    ${body}
    process.stdout.write(String(said));
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return { said: Number(said), code: code as number };
}

test('the thread sleeps while nobody asks, and does not keep the process alive', async (t) => {
  const { said, code } = await runProgram(`
    const before = process.cpuUsage();
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const { user, system } = process.cpuUsage(before);
    const said = (user + system) / 1000;
  `);
  t.is(code, 0);
  t.true(said < 150, `${said} ms of CPU in 1.5 s`);
});

test('statements that come once leave no memory behind', async (t) => {
  const { said } = await runProgram(`
    await askThread(number, 'exec', 'CREATE TABLE a (x)');
    const ask = async (count) => {
      for (let i = 0; i < count; i += 1)
        await askThread(number, 'all', "SELECT x FROM a WHERE x = 'value " + i + "'", [], false);
    };
    await ask(3_000);
    const before = process.memoryUsage.rss();
    await ask(12_000);
    const said = (process.memoryUsage.rss() - before) / 2 ** 20;
  `);
  // Kept, they would take 40.
  t.true(said < 16, `${said.toFixed(0)} MiB`);
});

test('old garbage of the thread is collected while nobody waits for it', async (t) => {
  const program = `
    const { askThread } = await import('${MODULE}');
    await askThread(1, 'open', ':memory:', {});
    const numbers = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2e4)';
    await askThread(1, 'exec', 'CREATE TABLE a AS ' + numbers + " SELECT 'row ' || i AS x FROM n");
    for (let i = 0; i < 10; i++) {
      await askThread(1, 'all', 'SELECT x FROM a', {}, true);
      for (let j = 0; j < 500; j++) await askThread(1, 'all', 'SELECT 1 LIMIT 1', {}, true);
    }
    process.exit();
  `;
  // As the launcher has it: V8 by itself would wait until a heap has 64 MB.
  const flags = ['--expose-gc', '--initial-heap-size=64', '--trace-gc', '--input-type=module'];
  const child = spawn(process.execPath, [...flags, '--eval', program]);
  const said = await text(child.stdout);
  t.regex(said, /Mark-Compact.* testing/, 'the thread asked for it');
});
