// The parts of which pages are made, all on one page: as they look, and that a question is a dialog
// which the keyboard does not leave.

import test from 'ava';
import { navigationOf } from '../../lib/web/kit/navigation.ts';
import { plainWords } from '../../lib/web/kit/plain-words.ts';
import { say } from '../../lib/web/kit/texts.ts';
import { createViews } from '../../lib/web/kit/views.ts';
import { timeInWords } from '../../lib/web/kit/words.ts';
import { inspect, openBrowser } from '../support/web/browser.ts';

const question = {
  id: 'remove-laptop',
  button: 'Remove',
  title: 'Remove “laptop”?',
  text: 'It passes no packet from then on. This cannot be undone.',
  action: '/removed',
  label: 'Remove it',
  values: { device: '7' },
};

const table = {
  caption: 'Devices',
  columns: [
    { label: 'Name' },
    { label: 'Address' },
    { label: 'Received', isNumber: true },
    { label: 'Seen' },
    { label: 'State' },
  ],
  rows: [
    [
      { text: 'laptop', href: '/devices/1', help: 'the grey one' },
      '100.64.0.2, fd00::2',
      '1.2 GiB',
      { time: '2026-11-21T08:00:00Z' },
      { text: 'online', badge: 'good' },
    ],
    [
      { text: 'a-telephone-with-a-long-name-without-a-gap', href: '/devices/2' },
      '100.64.0.3',
      '0',
      'never',
      { text: 'disabled', badge: 'bad' },
    ],
  ],
};

/** One page of all parts, as the server would make it. */
async function partsPage(): Promise<string> {
  const render = createViews();
  const frame = {
    title: 'Parts',
    flash: { kind: 'done', text: 'The device is added.' },
    user: { email: 'somebody.with.a.long.address@example.com', role: 'admin' },
    navigation: navigationOf('admin', '/devices'),
    logoUrl: null,
    csrfToken: 'token',
    requestId: 'id',
    plain: plainWords,
    say,
    utc: timeInWords,
    path: (local: string) => local,
    asset: (name: string) => `/assets/x/${name}`,
  };
  const whole = await render('partials/table', { ...frame, ...table });
  const [start, end] = [whole.indexOf('<table'), whole.indexOf('</main>')];
  const part = async (name: string, values: object): Promise<string> => {
    const html = await render(`partials/${name}`, { ...frame, flash: null, ...values });
    return html.slice(html.indexOf('>', html.indexOf('<main')) + 1, html.indexOf('</main>'));
  };
  const parts = [
    '<div class="head"><h1>Parts</h1>',
    '<a class="button" href="/new">Add a device</a></div>',
    await part('finder', {
      action: '/devices',
      label: 'Search devices',
      finder: {
        text: 'lap',
        state: '',
        states: [['', 'All']],
        kept: {},
        isFiltered: true,
        filters: [],
        summary: '1 in all',
        file: '/devices.csv',
      },
    }),
    whole.slice(start, end),
    await part('pager', { previous: '/a', next: '/b' }),
    '<section class="card"><h2>A form</h2>',
    await part('field', { name: 'name', label: 'Name', value: 'laptop', help: 'One to 15.' }),
    await part('field', { name: 'mtu', label: 'MTU', value: '9', errors: ['must be greater'] }),
    await part('field', { name: 'dns', label: 'DNS', value: 'x', locked: 'Fixed by DNS.' }),
    await part('field', { name: 'about', label: 'About', rows: 3, value: 'text' }),
    await part('field', { name: 'role', label: 'Role', choices: [['a', 'A']], value: 'a' }),
    await part('field', { name: 'on', label: 'On', type: 'checkbox', checked: true, help: 'H' }),
    '<p class="buttons"><button>Save</button></p></section>',
    await part('empty', { title: 'No rule yet', text: 'All is open.', href: '/n', label: 'Add' }),
    '<p class="note warning">The database is slow.</p>',
    await part('confirm', question),
  ];
  return whole.slice(0, start) + parts.join('\n') + whole.slice(end);
}

test('all parts look well, and a question is a dialog', async (t) => {
  const { person, gateway } = await openBrowser(t);
  const body = await partsPage();
  const page = await person();
  let sent = '';
  await page.route('**/parts', (route) => route.fulfill({ body, contentType: 'text/html' }));
  await page.route('**/removed', (route) => {
    sent = route.request().postData() ?? '';
    return route.fulfill({ body: '<!doctype html><title>x</title>', contentType: 'text/html' });
  });
  await page.goto(`${gateway.url}/parts`);
  await inspect(t, page, 'parts');
  const dialog = page.getByRole('dialog', { name: question.title });
  t.is(await dialog.count(), 0);
  await page.getByRole('button', { name: 'Remove' }).click();
  await dialog.waitFor();
  await inspect(t, page, 'parts-dialog');
  const where = `document.activeElement?.closest('dialog') !== null ||
    document.activeElement === document.body`;
  for (let n = 0; n < 5; n += 1) {
    t.true(await page.evaluate<boolean>(where), 'the keyboard stays inside');
    await page.keyboard.press('Tab');
  }
  await page.keyboard.press('Escape');
  t.is(await dialog.count(), 0);
  await page.getByRole('button', { name: 'Remove' }).click();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  t.is(sent, '');
  await page.getByRole('button', { name: 'Remove' }).click();
  await dialog.getByRole('button', { name: 'Remove it' }).click();
  await page.waitForURL('**/removed');
  t.is(sent, 'csrf_token=token&device=7');
});

test('without scripts the question opens in its place', async (t) => {
  const { person, gateway } = await openBrowser(t);
  const body = await partsPage();
  const page = await person({ javaScriptEnabled: false });
  await page.route('**/parts', (route) => route.fulfill({ body, contentType: 'text/html' }));
  await page.goto(`${gateway.url}/parts`);
  t.false(await page.getByText('This cannot be undone').isVisible());
  await page.locator('summary', { hasText: 'Remove' }).focus();
  await page.keyboard.press('Enter');
  t.true(await page.getByText('This cannot be undone').isVisible());
  t.true(await page.getByRole('button', { name: 'Remove it' }).isVisible());
});
