// Groups in a real browser: added, filled with members, named by a rule, and deleted.

import test from 'ava';
import { inspect, make, openBrowser, signIn } from '../support/web/browser.ts';

/** Every page is inspected in four looks, on a machine that others use too. */
const LONG_MS = 300_000;

test('a group gets members and a rule, and goes with it', async (t) => {
  t.timeout(LONG_MS);
  const stage = await openBrowser(t);
  for (const name of ['ann', 'bob']) await make(stage, 'user', { email: `${name}@example.com` });
  const page = await stage.person();
  await signIn(page);
  await page.goto('/users');
  await page.getByRole('link', { name: 'Groups' }).click();
  await page.getByText('No groups yet').waitFor();
  await inspect(t, page, 'console-groups-empty');
  await page.getByRole('link', { name: 'Add a group' }).first().click();
  await page.getByLabel('Name').fill('Engineering');
  await page.getByLabel('Description').fill('Who builds it: '.repeat(8));
  await inspect(t, page, 'console-group-new');
  await page.getByRole('button', { name: 'Add the group' }).click();
  await page.getByText('No members yet').waitFor();
  await page.getByLabel('E-mails').fill('ann@example.com, nobody@example.com');
  await page.getByRole('button', { name: 'Add members' }).click();
  await page.locator('.error').first().waitFor();
  t.true((await page.getByLabel('E-mails').inputValue()).includes('nobody@example.com'));
  await inspect(t, page, 'console-group-refused');
  await page.getByRole('button', { name: 'Add the known one' }).click();
  await page.getByText('One user is a new member. nobody@example.com is no user.').waitFor();
  await page.getByLabel('E-mails').fill('ann@example.com\nbob@example.com');
  await page.getByRole('button', { name: 'Add members' }).click();
  await page.getByText('One user is a new member.').waitFor();

  await page.goto('/rules/new');
  await page.getByLabel('Destination').fill('10.9.0.0/16');
  await page.getByLabel('Who', { exact: true }).fill('Engineering');
  await page.getByRole('button', { name: 'Add the rule' }).click();
  await page.getByRole('link', { name: '10.9.0.0/16' }).waitFor();
  await page.goto('/users/groups');
  await inspect(t, page, 'console-groups');
  await page.getByRole('link', { name: 'Engineering' }).click();
  await page.getByText('One rule is for this group.').waitFor();
  await inspect(t, page, 'console-group');
  await page.getByRole('link', { name: 'Rules for this group' }).click();
  await page.getByText('1 in all').waitFor();
  await inspect(t, page, 'console-rules-of-groups');
  await page.getByRole('link', { name: '10.9.0.0/16' }).click();
  t.is(await page.getByLabel('Who', { exact: true }).inputValue(), 'group Engineering');

  await page.goto('/users/groups');
  await page.getByRole('link', { name: 'Engineering' }).click();
  const bob = page.getByRole('row', { name: 'bob@example.com' });
  await bob.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('The user is no member any more.').waitFor();
  t.is(await page.getByText('bob@example.com').count(), 0);
  await page.getByRole('button', { name: 'Delete this group' }).click();
  await inspect(t, page, 'console-group-question');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete for good' }).click();
  await page.getByText('The group is deleted, with its rules.').waitFor();
  t.deepEqual((await stage.gateway.call('GET', '/v0/rules')).body.data, []);
});
