// Policy tests in a real browser, on a whole gateway: one is added, holds up a rule, and fails once
// somebody insists on it.

import test from 'ava';
import { inspect, make, openBrowser, signIn } from '../support/web/browser.ts';

test('a policy test is added, holds up a rule, and fails when somebody insists', async (t) => {
  const stage = await openBrowser(t);
  await make(stage, 'user', { email: 'ann@example.com' });
  const page = await stage.person();
  await signIn(page);
  await page.goto('/rules');
  await page.getByRole('main').getByRole('link', { name: 'Policy tests' }).click();
  await inspect(t, page, 'console-policy-tests-empty');
  await page.getByRole('link', { name: 'Add a policy test' }).click();
  await page.getByLabel('Name').fill('Ann reaches the wiki');
  await page.getByLabel('To', { exact: true }).fill('10.0.0.5');
  await page.getByRole('button', { name: 'Add the policy test' }).click();
  await page.getByText('Nothing was saved').waitFor();
  await inspect(t, page, 'console-policy-test-refused');
  await page.getByLabel('From a user').fill('ann');
  await page.getByRole('option', { name: 'ann@example.com' }).click();
  await page.getByLabel('Port').fill('443');
  await page.getByRole('button', { name: 'Add the policy test' }).click();
  await page.getByText('The policy test is saved, and passes.').waitFor();
  await inspect(t, page, 'console-policy-tests');
  await page.goto('/rules/new');
  await page.getByLabel('Action').selectOption('drop');
  await page.getByLabel('Destination').fill('10.0.0.0/8');
  await page.getByRole('button', { name: 'Add the rule' }).click();
  await page.getByText('policy test "Ann reaches the wiki" would fail').waitFor();
  await inspect(t, page, 'console-rule-held-up');
  await page.getByRole('button', { name: 'Save it anyway' }).click();
  await page.getByText('The rule is in force.').waitFor();
  await page.getByRole('main').getByRole('link', { name: 'Policy tests' }).click();
  await page.getByText('One policy test fails.').waitFor();
  await page.getByRole('link', { name: 'Ann reaches the wiki' }).click();
  await page.getByRole('heading', { name: 'Result' }).waitFor();
  await inspect(t, page, 'console-policy-test');
  await page.getByText('Delete this policy test', { exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete for good' }).click();
  await page.getByText('No policy tests yet').waitFor();
});
