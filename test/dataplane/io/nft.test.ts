// Answers of nft: output, or its first error. There is one without nft, and without rights.

import test from 'ava';
import { fixOfNft, NFT_MISSING, runNft } from '../../../dataplane/io/nft.ts';

test('nft answers, or says that it is not installed', async (t) => {
  const answer = await runNft(['--version']);
  if ('error' in answer) t.is(answer.error, NFT_MISSING);
  else t.regex(answer.output, /^nftables v/);
});

test('a script that is none is an error in one line', async (t) => {
  const answer = await runNft(['--check', '-f', '-'], 'this is no rule\nnor is this\n');
  t.true('error' in answer && answer.error !== '' && !answer.error.includes('\n'));
});

test('only a program that is missing is to be installed', (t) => {
  t.is(fixOfNft(NFT_MISSING), 'apt-get install nftables');
  const fix = fixOfNft('Error: Could not process rule: Operation not permitted');
  t.regex(fix, /^run as root or with CAP_NET_ADMIN/);
  t.notRegex(fix, /install/);
});
