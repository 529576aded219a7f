// Transactions on a table: names, sets of networks as nft lists them, counters.

import process from 'node:process';
import test from 'ava';
import { isOwnTable, tableName } from '../../../../dataplane/io/netfilter/table.ts';
import { NFT_MISSING, runNft } from '../../../../dataplane/io/nft.ts';
import { inOwnNetwork } from '../../../support/network/rights.ts';

test('each interface has a table of its own, and the relay another', (t) => {
  const names = ['wg-1', 'wg.1', 'wg_1', 'wg=1', 'wg+1', 'wg.2e1', 'wg1', 'relay_wg_1', '.', '-'];
  const tables = names.flatMap((name) => [tableName(name), tableName(name, 'postern-relay')]);
  t.is(new Set(tables).size, tables.length, tables.join(' '));
  t.is(tableName('wg_1'), 'postern_wg_1', 'as version 1.0.0 calls it');
  // Kernels before Linux 4.14 have room for 31 characters; no usual name is longer.
  t.is(tableName('wg-postern-name', 'postern-relay').length, 29);
});

test('nft takes the names of tables for all that interfaces may be called', async (t) => {
  const signs = ['_', '=', '+', '.', '-'];
  const names = signs.flatMap((sign) => [`wg${sign}1`, `${sign}1`, sign.repeat(15)]);
  const script = [...names.map((name) => tableName(name)), tableName('-', 'postern-relay')]
    .map((table) => `table inet ${table} { counter one { }; }\ndelete table inet ${table}\n`)
    .join('');
  const answer = await runNft(['--check', '-f', '-'], script);
  const error = 'error' in answer ? answer.error : null;
  const isAble = process.getuid?.() === 0 && error !== NFT_MISSING;
  if (isAble) t.is(error, null);
  else t.notRegex(error ?? '', /syntax/);
});

test('tables of all families are listed, and own ones are known by name', async (t) => {
  const found = await inOwnNetwork(
    t,
    `[
      table.readTables(),
      await load('table ip a { }; table inet b { }; table ip6 postern { }; table arp postern_c { };'),
      table.readTables().toSorted(),
    ]`,
  );
  const listed = [[], { output: '' }, ['a', 'b', 'postern', 'postern_c']];
  t.deepEqual(found ?? listed, listed);
  t.deepEqual(
    ['postern_wg0', 'postern-relay_wg0', 'postern', 'poster_n', 'filter'].map(isOwnTable),
    [true, true, false, false, false],
  );
});

/** A statement that makes these the networks of the set s. */
const networks = (...ranges: readonly [bytes: readonly number[], bits: number][]): string =>
  `.replaceNetworks('s', [${ranges
    .map(([bytes, bits]) => `{ network: Uint8Array.of(${bytes.join(',')}), prefixBits: ${bits} }`)
    .join(', ')}])`;

test('a set has the networks that it is given, the last of all and neighbours too', async (t) => {
  const one = networks([[10, 0, 0, 0], 24], [[10, 0, 1, 0], 24], [[10, 9, 9, 9], 32]);
  const other = networks([[255, 255, 0, 0], 16], [[0, 0, 0, 0], 8], [[10, 0, 1, 7], 24]);
  const found = await inOwnNetwork(
    t,
    `await (async () => {
      const on = () => new table.Transaction('one');
      const list = () => nft('list', 'set', 'inet', 'one', 's');
      const many = Array.from({ length: 1_700 }, (_, i) => ({
        network: Uint8Array.of(20, i >> 8, i & 255, 0),
        prefixBits: 24,
      }));
      return [
        on().addTable().addNetworkSet('s', 4)${one}.commit(), await list(),
        on()${other}.commit(), await list(),
        on().replaceNetworks('s', many).commit(), await list(),
        on()${networks()}.commit(), await list(),
        on().replaceNetworks('gone', many).commit().message,
      ];
    })()`,
  );
  if (found === null) {
    t.pass();
    return;
  }
  const elementsIn = (text: unknown): string[] =>
    (/elements = \{([^}]*)\}/.exec(String(text))?.[1] ?? '')
      .split(',')
      .map((element) => element.trim())
      .filter((element) => element !== '');
  const [first, one1, second, two, third, three, fourth, none, gone] = found as unknown[];
  t.deepEqual([first, second, third, fourth], [null, null, null, null]);
  t.deepEqual(elementsIn(one1), ['10.0.0.0/24', '10.0.1.0/24', '10.9.9.9']);
  t.deepEqual(elementsIn(two), ['0.0.0.0/8', '10.0.1.0/24', '255.255.0.0/16']);
  const all = elementsIn(three);
  t.deepEqual([all.length, all[0], all.at(-1)], [1_700, '20.0.0.0/24', '20.6.163.0/24']);
  t.deepEqual(elementsIn(none), []);
  t.regex(String(gone), /^the kernel refuses networks of the set gone: no such file/);
});
