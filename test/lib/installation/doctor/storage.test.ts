// The doctor on the data folder. What it finds in databases: index.test.ts.

import test from 'ava';
import { isOpenToOthers } from '../../../../lib/installation/doctor/storage.ts';

test('a folder is its owner’s, and of whoever has the group of root', (t) => {
  for (const [mode, gid, is] of [
    [0o40700, 1_000, false],
    [0o40700, 0, false],
    [0o40770, 0, false],
    [0o42770, 0, false],
    [0o40770, 1_000, true],
    [0o40710, 1_000, true],
    [0o40701, 0, true],
    [0o41777, 0, true],
  ] as const)
    t.is(isOpenToOthers({ mode, gid }), is, `${mode.toString(8)} ${gid}`);
});
