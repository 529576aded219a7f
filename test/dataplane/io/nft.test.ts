// Answers of nft: output, or its first complaint. There is one without nft, and without rights.

import process from 'node:process';
import test from 'ava';
import { fixOfNft, NFT_MISSING, runNft, tableName } from '../../../dataplane/io/nft.ts';

test('nft answers, or says that it is not installed', async (t) => {
  const answer = await runNft(['--version']);
  if ('fault' in answer) t.is(answer.fault, NFT_MISSING);
  else t.regex(answer.output, /^nftables v/);
});

test('a script that is none is a fault in one line', async (t) => {
  const answer = await runNft(['--check', '-f', '-'], 'this is no rule\nnor is this\n');
  t.true('fault' in answer && answer.fault !== '' && !answer.fault.includes('\n'));
});

test('only a program that is missing is to be installed', (t) => {
  t.is(fixOfNft(NFT_MISSING), 'apt-get install nftables');
  const fix = fixOfNft('Error: Could not process rule: Operation not permitted');
  t.regex(fix, /^run as root or with CAP_NET_ADMIN/);
  t.notRegex(fix, /install/);
});

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
  const fault = 'fault' in answer ? answer.fault : null;
  const isAble = process.getuid?.() === 0 && fault !== NFT_MISSING;
  if (isAble) t.is(fault, null);
  else t.notRegex(fault ?? '', /syntax/);
});
