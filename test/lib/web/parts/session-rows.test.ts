// The browsers in which a person is signed in: the latest first, and none that has ended.

import test from 'ava';
import { IDLE_MS } from '../../../../lib/kit/records/session-life.ts';
import { methodName } from '../../../../lib/web/parts/session-rows.ts';
import { openConsole } from '../../../support/web/console.ts';

test('a way to sign in has a name', (t) => {
  const nameOf = (method: string) => `the name of ${method}`;
  t.is(methodName(null, nameOf), 'password');
  t.is(methodName('email', nameOf), 'password');
  t.is(methodName('oidc/okta', nameOf), 'the name of oidc/okta');
});

test('a session that is idle for too long is not shown', async (t) => {
  const { admin, database, plainUser } = await openConsole(t, 'sqlite');
  const shown = async () => {
    const { text } = await admin.get(`/users/${plainUser.id}/sign_in`);
    return text.match(/name="session" value="/g)?.length ?? 0;
  };
  t.is(await shown(), 1);
  const seen_at = new Date(Date.now() - IDLE_MS - 1_000);
  await database.models.Session.update({ seen_at }, { where: { user_id: plainUser.id } });
  t.is(await shown(), 0);
});
