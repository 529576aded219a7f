// What is said of a record that is not there.

import test from 'ava';
import { noDevice, noGroup, noRule, noUser } from '../../../../lib/kit/process/absent.ts';

for (const [error, said] of [
  [
    noDevice('x'),
    /^there is no device x; DEVICE is ann@example\.com\/laptop, .*; see: .*device list$/,
  ],
  [noRule('x'), /^there is no rule x; see: .*rule list$/],
  [noGroup('x'), /^there is no group x; see: .*group list$/],
  [noUser('x'), /^there is no user x; see: .*user list, or make one by: .*user create --email E$/],
] as const)
  test(`"${error.message}" names the command that lists what is there`, (t) => {
    t.regex(error.message, said);
  });
