// Rows of the audit trail in the words of the API, and back.

import test from 'ava';
import { shownNames, storedWords } from '../../../../lib/kit/records/audit-names.ts';
import type { AuditRow } from '../../../../models/index.ts';

function rowOf(fields: Partial<AuditRow>): AuditRow {
  return { actor: 'user', kind: 'rule', changes: {}, ...fields } as AuditRow;
}

test('actors and kinds have the names of the API, and rows are found by both', (t) => {
  const stored = { who: 'command line', kind: 'token' };
  const shown = shownNames(rowOf({ actor: 'command line', kind: 'token' }));
  t.like(shown, { actor: 'command_line', kind: 'api_token' });
  t.deepEqual(storedWords({ who: shown.actor, kind: shown.kind }), stored);
  t.deepEqual(storedWords(stored), stored);
  t.deepEqual(storedWords({}), {});
  t.deepEqual(storedWords({ who: 'a_b@c.example', kind: 'policy_test' }), {
    who: 'a_b@c.example',
    kind: 'policy_test',
  });
  for (const kind of ['second factor', 'recovery code', 'recovery codes', 'group_membership']) {
    const name = shownNames(rowOf({ kind })).kind;
    t.regex(name, /^[a-z_]+$/);
    t.deepEqual(storedWords({ kind: name }), { kind });
  }
});

test('fields have the names and values of the API', (t) => {
  const time = '0099-06-01T00:00:00.000Z';
  const changes = {
    expires_at: { from: null, to: time },
    disabled_at: { from: time, to: null },
    description: { to: time },
    preshared_key: { changed: true },
  } as const;
  t.deepEqual(shownNames(rowOf({ kind: 'device', changes })).changes, {
    ends_at: { from: null, to: '0099-06-01T00:00:00.000000Z' },
    enabled: { from: false, to: true },
    description: { to: time },
    preshared_key: { changed: true },
  });
  const members = { added: ['10.0.0.1'], removed: [] };
  t.deepEqual(shownNames(rowOf({ kind: 'device', changes: { dns: members } })).changes, {
    dns: members,
  });
  const ofToken = { scopes: { from: 'read capture' }, expires_at: { from: time } };
  t.deepEqual(shownNames(rowOf({ kind: 'token', changes: ofToken })).changes, {
    scopes: { from: ['read', 'capture'] },
    expires_at: { from: '0099-06-01T00:00:00.000000Z' },
  });
});
