// What a user typed before a form asked for another sign-in, in a real browser. For each form that
// asks, the text is there again, without secrets, and for nobody else.

import test, { type ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import { RECENT_ADMINISTRATION_MS } from '../../lib/kit/records/session-life.ts';
import { inspect, make, openBrowser, type ServedStage, signIn } from '../support/web/browser.ts';
import { FIRST_ADMIN } from '../support/gateway/gateway-process.ts';

/** Changes the time of every sign-in to an earlier one. */
async function wait({ gateway }: ServedStage): Promise<void> {
  const inserted_at = new Date(Date.now() - RECENT_ADMINISTRATION_MS - 1_000);
  await gateway.database.models.Session.update({ inserted_at }, { where: {} });
}

async function answerQuestion(page: Page): Promise<void> {
  await page.getByText('Nothing is changed: your sign-in is too long ago for it.').waitFor();
  await page.getByLabel('Password').fill(FIRST_ADMIN.password);
  await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('What you typed is here again').waitFor();
}

/** The texts to type by label, and the button that sends them. */
interface Form {
  readonly path: string;
  readonly typed: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
  readonly button: string;
}

const FORMS: readonly Form[] = [
  {
    path: '/users/new',
    typed: { 'E-mail': 'ann@example.com' },
    secrets: { Password: 'correct horse battery', 'Password again': 'correct horse battery' },
    button: 'Add the user',
  },
  {
    path: '/api_tokens/new',
    typed: { Name: 'backup of "today"', Days: '17' },
    secrets: {},
    button: 'Make the token',
  },
  {
    path: '/settings/providers/oidc/new',
    typed: {
      Label: 'Okta',
      Id: 'okta',
      'Client id': 'postern',
      'Discovery document': 'https://okta.test/x',
    },
    secrets: { 'Client secret': 'a secret of theirs' },
    button: 'Add the provider',
  },
  {
    path: '/settings/providers/saml/new',
    typed: { Label: 'ADFS', Id: 'adfs', Metadata: `<x>\n${'long '.repeat(4_000)}</x>` },
    secrets: {},
    button: 'Test this provider',
  },
  {
    path: '/user_account/register_mfa',
    typed: { Name: 'Tablet' },
    secrets: { Code: '123456' },
    button: 'Add it',
  },
];

async function check(
  t: ExecutionContext,
  stage: ServedStage,
  page: Page,
  form: Form,
): Promise<void> {
  const { path, typed, secrets, button } = form;
  const field = (label: string) => page.getByLabel(label, { exact: true });
  await page.goto(path);
  for (const fold of await page.locator('details.further > summary').all()) await fold.click();
  for (const [label, text] of Object.entries({ ...typed, ...secrets }))
    await field(label).fill(text);
  await wait(stage);
  await page.getByRole('button', { name: button }).click();
  t.false(
    (await page.evaluate<string>('JSON.stringify(sessionStorage)')).includes(
      Object.values(secrets)[0] ?? 'csrf_token',
    ),
  );
  await answerQuestion(page);
  t.is(new URL(page.url()).pathname, path);
  for (const [label, text] of Object.entries(typed)) t.is(await field(label).inputValue(), text);
  for (const label of Object.keys(secrets)) t.is(await field(label).inputValue(), '', label);
  t.is(await page.evaluate('sessionStorage.length'), 0, 'nothing stays behind');
  await page.reload();
  t.is(await page.getByText('What you typed is here again').count(), 0);
}

test('what was typed is there again after the sign-in, without secrets', async (t) => {
  const stage = await openBrowser(t);
  const page = await stage.person();
  await signIn(page);
  await page.waitForURL('/dashboard');
  for (const form of FORMS) await check(t, stage, page, form);

  await page.goto('/users/new');
  await page.getByLabel('E-mail').fill('ann@example.com');
  await page.getByLabel('Role').selectOption('admin');
  await wait(stage);
  await page.getByRole('button', { name: 'Add the user' }).click();
  await answerQuestion(page);
  t.is(await page.getByLabel('Role').inputValue(), 'admin');
  await inspect(t, page, 'typed-again');
  await page.getByRole('button', { name: 'Add the user' }).click();
  await page.getByText('ann@example.com is added.').waitFor();

  await page.getByRole('main').getByRole('link', { name: 'Settings' }).click();
  await page.getByLabel('E-mail').fill('bob@example.com');
  await wait(stage);
  await page.getByRole('button', { name: 'Save' }).click();
  await answerQuestion(page);
  t.is(await page.getByLabel('E-mail').inputValue(), 'bob@example.com');

  await page.goto('/users?sort=-email');
  const box = (email: string) => page.getByRole('checkbox', { name: `Select ${email}` });
  await box('ann@example.com').check();
  await wait(stage);
  await page.getByRole('button', { name: 'Enable' }).click();
  await answerQuestion(page);
  t.is(new URL(page.url()).search, '?sort=-email', 'the page of the table that it was');
  t.true(await box('ann@example.com').isChecked());
  t.false(await box(FIRST_ADMIN.email).isChecked());
});

test('when the session ends in a form, the user reads so, and finds the form filled in', async (t) => {
  const stage = await openBrowser(t);
  const page = await stage.person();
  await signIn(page);
  await page.waitForURL('/dashboard');
  await page.goto('/rules/new?x=1');
  await page.getByLabel('Destination').fill('10.9.0.0/16');
  await stage.gateway.database.models.Session.destroy({ where: {} });
  await page.getByRole('button', { name: 'Add the rule' }).click();
  await page.getByText('You were signed out').waitFor();
  await inspect(t, page, 'sign-in-ended');
  await page.getByLabel('E-mail').fill(FIRST_ADMIN.email);
  await page.getByLabel('Password').fill(FIRST_ADMIN.password);
  await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('What you typed is here again').waitFor();
  t.is(new URL(page.url()).pathname, '/rules/new');
  t.is(await page.getByLabel('Destination').inputValue(), '10.9.0.0/16');
});

test('a sign-in in another window loses nothing that was typed in this one', async (t) => {
  const stage = await openBrowser(t);
  const page = await stage.person();
  await signIn(page);
  await page.waitForURL('/dashboard');
  await page.goto('/rules/new?x=1');
  await page.getByLabel('Destination').fill('10.9.0.0/16');
  await stage.gateway.database.models.Session.destroy({ where: {} });
  const other = await page.context().newPage();
  await signIn(other);
  await other.waitForURL('/dashboard');
  await page.getByRole('button', { name: 'Add the rule' }).click();
  await page.getByText('This form is out of date').waitFor();
  await page.getByText('What you typed is kept').waitFor();
  await inspect(t, page, 'form-out-of-date');
  await page.getByRole('link', { name: 'Open the form again' }).click();
  await page.getByText('What you typed is here again').waitFor();
  t.is(new URL(page.url()).search, '?x=1');
  t.is(await page.getByLabel('Destination').inputValue(), '10.9.0.0/16');
  await page.getByRole('button', { name: 'Add the rule' }).click();
  await page.waitForURL('/rules');
});

test('what somebody else changed while the person was signed out is not overwritten unseen', async (t) => {
  const stage = await openBrowser(t);
  const page = await stage.person();
  await signIn(page);
  await page.waitForURL('/dashboard');
  const id = await make(stage, 'rule', { destination: '10.9.0.0/16', action: 'accept' });
  await page.goto(`/rules/${id}`);
  await page.getByText('Schedule, staged, description').click();
  await page.getByLabel('Description').fill('of the office');
  const change = { action: 'drop', destination: '10.8.0.0/16' };
  t.is((await stage.gateway.call('PATCH', `/v0/rules/${id}`, { rule: change })).status, 200);
  await stage.gateway.database.models.Session.destroy({ where: {} });
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('You were signed out').waitFor();
  await page.getByLabel('E-mail').fill(FIRST_ADMIN.email);
  await page.getByLabel('Password').fill(FIRST_ADMIN.password);
  await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('What you typed is here again').waitFor();
  t.is(await page.getByLabel('Description').inputValue(), 'of the office');
  t.true(await page.getByLabel('Description').isVisible());
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Somebody changed this after you had opened it.').waitFor();
  await page.getByText('is “10.8.0.0/16” now').waitFor();
  const rule = await stage.gateway.database.models.Rule.findByPk(id);
  t.deepEqual([rule?.action, rule?.destination], ['drop', '10.8.0.0/16']);
});

test('what one user typed is not shown to another one who signs in', async (t) => {
  const stage = await openBrowser(t);
  const page = await stage.person();
  await signIn(page);
  await page.waitForURL('/dashboard');
  const password = 'correct horse battery';
  const user = {
    email: 'eve@example.com',
    role: 'admin',
    password,
    password_confirmation: password,
  };
  t.is((await stage.gateway.call('POST', '/v0/users', { user })).status, 201);
  await page.goto('/api_tokens/new');
  await page.getByLabel('Name').fill('of the first');
  await wait(stage);
  await page.getByRole('button', { name: 'Make the token' }).click();
  await page.getByText('Nothing is changed').waitFor();
  await page.getByLabel('E-mail').fill('eve@example.com');
  await page.getByLabel('Password').fill(password);
  await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL('/api_tokens/new');
  t.is(await page.getByLabel('Name').inputValue(), '');
  t.is(await page.evaluate('sessionStorage.length'), 0);
});
