// Backups are found by their names, and sort by them; nothing else is.

import test from 'ava';
import { backupName, namesOf } from '../../../../lib/installation/backups/names.ts';

const NAMES = namesOf(String.raw`before-(?<of>(?:upgrade|restore)-\d{4})`);

test('a name is found again, with its time', (t) => {
  const name = backupName('before-upgrade-0006', new Date('2026-11-21T08:59:00.123Z'));
  t.is(name, 'before-upgrade-0006-20261121T085900.123Z.backup');
  const groups = { of: 'upgrade-0006', time: '20261121T085900.123Z' };
  t.like(NAMES.whole.exec(name)?.groups, groups);
  t.is(NAMES.part.exec(name), null);
  t.like(NAMES.part.exec(`${name}.17.part`)?.groups, { ...groups, pid: '17' });
  t.is(NAMES.whole.exec(`${name}.17.part`), null);
});

test('names sort by their times', (t) => {
  const names = ['2025-12-31T23:59:59.999Z', '2026-01-01T00:00:00.000Z'].map((time) =>
    backupName('postern', new Date(time)),
  );
  t.deepEqual(names.toSorted(), names);
});

test('files of others are not found', (t) => {
  for (const name of [
    'mine-before-upgrade-0006-20261121T085900.123Z.backup',
    'before-upgrade-0006-20261121T085900.123Z.backup.gz',
    'before-upgrade-0006-20261121T085900x123Z.backup',
    'before-upgrade-0006-20261121T085900.123Zxbackup',
    'before-downgrade-0006-20261121T085900.123Z.backup',
    'postern-20261121T085900.123Z.backup',
  ])
    t.is(NAMES.whole.exec(name) ?? NAMES.part.exec(`${name}.17.part`), null, name);
});
