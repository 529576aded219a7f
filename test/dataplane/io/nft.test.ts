// Answers of nft: output, or its first complaint. There is one without nft, and without rights.

import test from 'ava';
import { runNft } from '../../../dataplane/io/nft.ts';

test('nft answers, or says that it is not installed', async (t) => {
  const answer = await runNft(['--version']);
  if ('fault' in answer) t.is(answer.fault, 'the program nft is not installed');
  else t.regex(answer.output, /^nftables v/);
});

test('a script that is none is a fault in one line', async (t) => {
  const answer = await runNft(['--check', '-f', '-'], 'this is no rule\nnor is this\n');
  t.true('fault' in answer && answer.fault !== '' && !answer.fault.includes('\n'));
});
