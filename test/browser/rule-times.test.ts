// Rules that begin, end and are switched off, in a real browser, on a whole gateway: what an
// administrator types into the pickers of times is what the gateway has, and the list says it.

import test from 'ava';
import { inspect, openBrowser, signIn } from '../support/web/browser.ts';

test('a rule gets a start and an end, and is switched off and on', async (t) => {
  const stage = await openBrowser(t);
  const page = await stage.person();
  await signIn(page);
  await page.goto('/rules/new');
  await page.getByLabel('Destination').fill('10.0.0.0/8');
  await page.getByText('Schedule, staged, description').click();
  await page.getByLabel('Starts at (UTC)').fill('2999-01-01T17:00');
  await page.getByLabel('Ends at (UTC)').fill('2999-01-01T08:00');
  await page.getByRole('button', { name: 'Add the rule' }).click();
  await page.getByText('The end must be after the start').waitFor();
  t.is(await page.getByLabel('Starts at (UTC)').inputValue(), '2999-01-01T17:00');
  await inspect(t, page, 'console-rule-times-refused');
  await page.getByLabel('Starts at (UTC)').fill('2999-01-01T07:00');
  await page.getByRole('button', { name: 'Add the rule' }).click();
  await page.getByText('It decides nothing before its start.').waitFor();
  await page.getByText('Accept, not yet').waitFor();
  await inspect(t, page, 'console-rules-timed');
  const [rule] = (await stage.gateway.call('GET', '/v0/rules')).body.data as {
    starts_at: string;
    ends_at: string;
  }[];
  t.like(rule, {
    starts_at: '2999-01-01T07:00:00.000000Z',
    ends_at: '2999-01-01T08:00:00.000000Z',
  });

  await page.getByRole('link', { name: '10.0.0.0/8' }).click();
  t.is(await page.getByLabel('Ends at (UTC)').inputValue(), '2999-01-01T08:00');
  await page.getByLabel('Starts at (UTC)').fill('');
  await page.getByLabel('Enabled').uncheck();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('It is disabled and decides nothing.').waitFor();
  await page.getByText('Accept, disabled').waitFor();
  await page.getByRole('link', { name: '10.0.0.0/8' }).click();
  await page.getByLabel('Enabled').check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The changes are in force.').waitFor();
});

test('times are typed in the zone of the reader, and the form refuses those that it lacks', async (t) => {
  const stage = await openBrowser(t);
  const page = await stage.person({ timezoneId: 'Europe/Berlin' });
  await signIn(page);
  await page.goto('/rules/new');
  await page.getByLabel('Destination').fill('10.0.0.0/8');
  await page.getByText('Schedule, staged, description').click();
  const ends = page.getByLabel('Ends at (Europe/Berlin)');
  await page.getByRole('button', { name: '1 week' }).click();
  t.not(await ends.inputValue(), '');
  await page.getByRole('button', { name: 'never' }).click();
  t.is(await ends.inputValue(), '');
  // Clocks go forward at 02:00.
  await ends.fill('2031-03-30T02:30');
  t.regex(
    await page.evaluate<string>("document.querySelector('[name=ends_at]').validationMessage"),
    /does not exist in your zone/,
  );
  await ends.fill('2031-07-01T12:00');
  await page.getByRole('button', { name: 'Add the rule' }).click();
  await page.getByText('The rule is in force.').waitFor();
  const [rule] = (await stage.gateway.call('GET', '/v0/rules')).body.data as { ends_at: string }[];
  t.is(rule?.ends_at, '2031-07-01T10:00:00.000000Z');
  await page.getByRole('link', { name: '10.0.0.0/8' }).click();
  t.is(await ends.inputValue(), '2031-07-01T12:00');
  const unscripted = await stage.person({ javaScriptEnabled: false });
  await signIn(unscripted);
  await unscripted.goto('/rules');
  await unscripted.getByRole('link', { name: '10.0.0.0/8' }).click();
  t.is(await unscripted.getByLabel('Ends at (in UTC)').inputValue(), '2031-07-01T10:00');
});
