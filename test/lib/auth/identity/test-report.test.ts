// Reports of test sign-ins: only the session that began finds them, for a limited time and size.

import test from 'ava';
import { findReport, keepReport, makeReport } from '../../../../lib/auth/identity/test-report.ts';
import { keepRequest, takeRequest } from '../../../../lib/auth/identity/request.ts';
import { good } from '../../../../lib/auth/identity/finding.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';

const SESSION = '00000000-0000-4000-8000-000000000001';
const report = makeReport([good('It works.')], [{ name: 'mail', values: ['ann@example.com'] }]);

for (const kind of databaseKinds()) {
  test(`${kind}: a report belongs to one session and one entry, for ten minutes`, async (t) => {
    const database = await openDatabase(t, kind);
    const ending = { state: 's'.repeat(43), kind: 'saml', providerId: 'adfs' } as const;
    const begun = { ...ending, browserSha256: 'b'.repeat(64), userId: null, testBy: SESSION };
    await keepRequest(database, { ...begun, secrets: {} });
    const request = await takeRequest(database, ending);
    t.is(request.secrets.testBy, SESSION);
    const { ticket } = await keepReport(database, request, report);
    const wanted = { kind: 'saml', provider_id: 'adfs', ticket, sessionId: SESSION } as const;
    for (let i = 0; i < 2; i += 1) t.deepEqual(await findReport(database, wanted), report);
    for (const other of [
      { sessionId: '00000000-0000-4000-8000-000000000002' },
      { sessionId: '' },
      { provider_id: 'other' },
      { kind: 'oidc' },
      { ticket: 't'.repeat(43) },
    ] as const)
      t.is(await findReport(database, { ...wanted, ...other }), null, JSON.stringify(other));
    const [rows] = await database.sequelize.query('SELECT * FROM sign_in_requests');
    t.notRegex(JSON.stringify(rows), /ann@example|It works/, 'sealed');
    await database.models.SignInRequest.update({ expires_at: new Date() }, { where: {} });
    t.is(await findReport(database, wanted), null);
  });

  test(`${kind}: a sign-in that is no test leaves no report to anybody`, async (t) => {
    const database = await openDatabase(t, kind);
    const state = 's'.repeat(43);
    const begun = { kind: 'saml', providerId: 'adfs', browserSha256: 'b'.repeat(64) } as const;
    await keepRequest(database, { ...begun, state, userId: null, secrets: { samlRequestId: '_' } });
    for (const sessionId of ['', SESSION]) {
      const wanted = { kind: 'saml', provider_id: 'adfs', ticket: state, sessionId } as const;
      t.is(await findReport(database, wanted), null);
    }
  });

  test(`${kind}: the largest report fits into its row`, async (t) => {
    const database = await openDatabase(t, kind);
    const long = '\u0001€'.repeat(10_000);
    const claims = Array.from({ length: 2_000 }, (_, i) => ({
      name: `${i}`,
      values: [long, long],
    }));
    const large = makeReport(
      Array.from({ length: 20 }, () => good('x'.repeat(300))),
      claims,
    );
    t.true(large.claims.length > 5 && large.leftOut === 2_000 - large.claims.length);
    const request = { kind: 'saml', provider_id: 'adfs', browser_sha256: 'b'.repeat(64) } as const;
    const rest = { network_sha256: null, scope_sha256: null, secrets: { testBy: SESSION } };
    const { ticket } = await keepReport(database, { ...request, ...rest } as never, large);
    const wanted = { kind: 'saml', provider_id: 'adfs', ticket, sessionId: SESSION } as const;
    t.deepEqual(await findReport(database, wanted), large);
  });
}

test('long values are cut, and the report says how many are left out', (t) => {
  const values = Array.from({ length: 25 }, (_, i) => `${i}`);
  const { claims } = makeReport(
    [],
    [
      { name: 'groups', values },
      { name: 'n'.repeat(300), values: ['v'.repeat(300)] },
    ],
  );
  t.is(claims[0]?.values.length, 21);
  t.is(claims[0]?.values.at(-1), '… and 5 more');
  t.deepEqual([claims[1]?.name.length, claims[1]?.values[0]?.length], [201, 201]);
});
