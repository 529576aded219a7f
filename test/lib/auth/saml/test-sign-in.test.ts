// The end of a test sign-in through SAML: what the provider signs is kept for the entry, and only
// for an administrator who still is one.

import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { findReport } from '../../../../lib/auth/identity/test-report.ts';
import { keepRequest } from '../../../../lib/auth/identity/request.ts';
import { addressesOf } from '../../../../lib/auth/saml/service-provider.ts';
import { consumeSaml, type SamlContext } from '../../../../lib/auth/saml/sign-in.ts';
import { lastSamlTest } from '../../../../lib/auth/saml/test-sign-in.ts';
import type { Database, User } from '../../../../models/index.ts';
import { addUser } from '../../../models/fixtures.ts';
import {
  answerXml,
  base64,
  BOTH,
  goodWords,
  idpKey,
  idpMetadata,
  OUR_ENTITY_ID,
  type Said,
  type Signing,
} from '../../../support/auth/bad-saml-provider.ts';
import {
  firstKind,
  openDatabase,
  type TestDatabaseKind,
} from '../../../support/database/databases.ts';
import { signOnService } from '../../../support/auth/identity-provider.ts';
import { samlEntry } from '../../../support/auth/provider-entries.ts';

const REQUEST = '_request1';

async function open(t: ExecutionContext, kind: TestDatabaseKind, role: User['role'] = 'admin') {
  const database = await openDatabase(t, kind);
  const provider = samlEntry({ metadata: idpMetadata(signOnService()) });
  const ours = { entityId: OUR_ENTITY_ID, key: idpKey };
  const context: SamlContext = { database, provider, ours };
  const sessionId = await addSession(database, role);
  const finish = async (signing: Partial<Signing> = {}, said: Partial<Said> = {}) => {
    const state = randomBytes(32).toString('base64url');
    const begun = { kind: 'saml', providerId: provider.id, browserSha256: 'b'.repeat(64) } as const;
    const secrets = { samlRequestId: REQUEST };
    await keepRequest(database, { ...begun, state, userId: null, testBy: sessionId, secrets });
    const words = { ...goodWords(REQUEST, addressesOf(provider).consume), ...said };
    const samlResponse = base64(answerXml(words, { ...BOTH, ...signing }));
    const tested = await consumeSaml(context, { samlResponse, relayState: state });
    if (tested.kind !== 'tested') throw new Error(tested.kind);
    const wanted = { kind: 'saml', provider_id: provider.id, sessionId } as const;
    return findReport(database, { ...wanted, ticket: tested.ticket });
  };
  return { database, provider, finish };
}

async function addSession(database: Database, role: User['role']): Promise<string> {
  const user = await addUser(database, { role });
  const now = new Date();
  const session = { user_id: user.id, sha256: 'a'.repeat(64), state: 'open', method: 'email' };
  const times = { inserted_at: now, seen_at: now };
  return (await database.models.Session.create({ ...session, ...times } as never)).id;
}

for (const kind of firstKind()) {
  test(`${kind}: what is signed is kept for the entry, the last test in the place of others`, async (t) => {
    const { database, provider, finish } = await open(t, kind);
    t.is(await lastSamlTest(database, provider), null);
    for (const [signing, signed] of [
      [{}, 'both'],
      [{ response: false }, 'assertion'],
      [{ assertion: false }, 'response'],
    ] as const) {
      const report = await finish(signing);
      t.true((report?.findings.length ?? 0) > 3);
      t.is((await lastSamlTest(database, provider))?.signed, signed);
    }
    const later = `${provider.metadata}<!-- read again -->`;
    t.is((await lastSamlTest(database, { ...provider, metadata: later }))?.signed, 'response');
  });

  test(`${kind}: what does not answer the test says nothing of the entry`, async (t) => {
    const { database, provider, finish } = await open(t, kind);
    t.truthy(await finish({}, { subjectInResponseTo: '_other' }));
    t.truthy(await finish({ response: false, assertion: false }));
    t.is(await lastSamlTest(database, provider), null);
  });

  test(`${kind}: who is no administrator ends no test`, async (t) => {
    const { database, finish } = await open(t, kind, 'unprivileged');
    await t.throwsAsync(finish(), { message: /.*/, name: 'ApiError' });
    t.is(await database.models.SamlTest.count(), 0);
    t.is(await database.models.SignInRequest.count(), 0);
  });
}
