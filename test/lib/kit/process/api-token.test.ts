// How an API token is made.

import test from 'ava';
import { newApiToken } from '../../../../lib/kit/process/api-token.ts';

test('a token is 32 random bytes behind its prefix', (t) => {
  const tokens = Array.from({ length: 100 }, newApiToken);
  t.is(new Set(tokens).size, 100);
  for (const token of tokens) {
    t.regex(token, /^pst_[\w-]{43}$/);
    t.is(Buffer.from(token.slice(4), 'base64url').length, 32);
  }
  // Every byte takes many values, so that none is fixed.
  const bytes = tokens.map((token) => Buffer.from(token.slice(4), 'base64url'));
  for (let at = 0; at < 32; at += 1) t.true(new Set(bytes.map((one) => one[at])).size > 50);
});
