// Somebody finds a browser that was left open, or knows a password alone: they make no second
// factor of theirs, no token and no administrator, and they sign nobody out.

import test, { type ExecutionContext } from 'ava';
import { Secret, TOTP } from 'otpauth';
import { openServer, type TestServer } from '../support/api/server.ts';
import { addPerson, atGateway, PASSWORD, Visitor } from '../support/web/visitor.ts';

const OWNER = 'owner@example.com';
const SECRET = 'JBSWY3DPEHPK3PXP';

/** A gateway that listens, and its owner's browser, signed in some minutes ago. */
async function open(t: ExecutionContext, minutesAgo: number) {
  // The limit of requests would only slow the attack down.
  const gateway = await openServer(t, 'sqlite over a socket', { API_RATE_LIMIT: '0' });
  const visitor = (): Visitor => new Visitor(atGateway(gateway.server.info.uri));
  const user = await addPerson(gateway.database, OWNER, { role: 'admin' });
  const owner = visitor();
  t.is((await owner.signIn(OWNER)).status, 303);
  await owner.get('/user_account');
  const inserted_at = new Date(Date.now() - minutesAgo * 60_000);
  await gateway.database.models.Session.update({ inserted_at }, { where: {} });
  return { gateway, owner, user, visitor };
}

const counts = async ({ database: { models } }: TestServer): Promise<number[]> =>
  Promise.all([models.SecondFactor.count(), models.ApiToken.count(), models.User.count()]);

test('a browser left open registers no first second factor', async (t) => {
  const { gateway, owner } = await open(t, 6);
  const before = await counts(gateway);
  const { text } = await owner.get('/user_account/register_mfa');
  const sealed = /name="sealed" value="([^"]+)"/.exec(text)?.[1] ?? '';
  const secret = /<code>([A-Z2-7 ]+)<\/code>/.exec(text)?.[1]?.replaceAll(' ', '') ?? SECRET;
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
  await owner.post('/user_account/register_mfa', { sealed, name: 'finder', code });
  t.deepEqual(await counts(gateway), before);
});

test('a browser left open makes no token and no link of its own', async (t) => {
  const { gateway, owner } = await open(t, 6);
  const before = await counts(gateway);
  const links = await gateway.database.models.OneTimeLink.count();
  await owner.post('/api_tokens/new', { name: 'finder', days: '90' });
  await owner.post('/users/enrol', { emails: OWNER, hours: '72' });
  t.deepEqual(await counts(gateway), before);
  t.is(await gateway.database.models.OneTimeLink.count(), links);
});

test('a browser left open for longer makes no administrator', async (t) => {
  const { gateway, owner, user } = await open(t, 16);
  const before = await counts(gateway);
  await owner.post('/api_tokens/new', { name: 'finder', days: '90' });
  const fields = { email: 'finder@example.com', role: 'admin' };
  const passwords = { password: PASSWORD, password_confirmation: PASSWORD };
  await owner.post('/users/new', { ...fields, ...passwords });
  await owner.post(`/users/${user.id}/edit`, { email: 'finder@example.com', role: 'admin' });
  t.deepEqual(await counts(gateway), before);
  await user.reload();
  t.is(user.email, OWNER);
});

test('who knows only the password signs the owner out of nothing', async (t) => {
  const { gateway, owner, user, visitor } = await open(t, 1);
  const now = new Date();
  const factor = { user_id: user.id, name: 'phone', secret: SECRET, last_step: 0 };
  await gateway.database.models.SecondFactor.create({ ...factor, inserted_at: now });
  for (let n = 0; n < 25; n += 1) t.is((await visitor().signIn(OWNER)).location, '/mfa/auth');
  t.is((await owner.get('/user_account')).status, 200);
});
