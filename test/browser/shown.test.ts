// How pages are shown, whatever there is: what a first visit costs with 2,000 devices, and that
// nothing moves after a page is there.

import test from 'ava';
import { sqlTime } from '../../models/storage/time.ts';
import { newId } from '../../models/index.ts';
import { addManyDevices } from '../support/database/many-devices.ts';
import { make, openBrowser, signedIn, signIn } from '../support/web/browser.ts';

/** Requests of a page that is visited for the first time. */
const REQUESTS_MAX = 8;
/** What the first visit of the first page brings over the network. */
const FIRST_VISIT_BYTES_MAX = 120_000;
/** Style sheet and script of every page are more than this. */
const FIRST_VISIT_BYTES_MIN = 15_000;
/** Every list, and what is beside lists in the navigation. */
const LISTS = [
  '/dashboard',
  '/users',
  '/users/groups',
  '/users/invitations',
  '/devices',
  '/rules',
  '/rules/policy_tests',
  '/flows',
  '/refusals',
  '/explain',
  '/audit',
  '/settings/client_defaults',
  '/api_tokens',
  '/gateways',
  '/user_devices',
];
/** What a page moved by itself, after it was there. */
const SHIFTS = `new Promise((resolve) => {
  const shifts = [];
  new PerformanceObserver((list) => shifts.push(...list.getEntries().map(({ value }) => value)))
    .observe({ type: 'layout-shift', buffered: true });
  setTimeout(() => resolve(shifts), 1_000);
})`;

test('beside 2,000 devices a page is few requests and bytes, and nothing moves', async (t) => {
  const stage = await openBrowser(t);
  const { database } = stage.gateway;
  const user_id = await make(stage, 'user', { email: 'ann@example.com' });
  const now = sqlTime(database.kind, new Date());
  await database.sequelize.query(
    `INSERT INTO one_time_links (id, user_id, purpose, sha256, expires_at, inserted_at)
     VALUES ('${newId()}', '${user_id}', 'enrolment', '${'0'.repeat(64)}', '${now}', '${now}')`,
  );
  await addManyDevices(database, user_id, 2_000);
  const first = await stage.person();
  await signIn(first);
  await signedIn(first);
  for (const path of LISTS) {
    const page = await first.context().newPage();
    // Each has an empty cache.
    const client = await page.context().newCDPSession(page);
    await client.send('Network.enable');
    await client.send('Network.clearBrowserCache');
    const requests: string[] = [];
    let bytes = 0;
    client.on('Network.requestWillBeSent', ({ request }) => {
      // The style sheet holds its pictures.
      if (!request.url.startsWith('data:')) requests.push(new URL(request.url).pathname);
    });
    client.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
    await page.goto(path, { waitUntil: 'load' });
    t.deepEqual(await page.evaluate(SHIFTS), [], path);
    t.true(bytes >= FIRST_VISIT_BYTES_MIN, `${path}: ${bytes} bytes; something was kept`);
    t.true(requests.length <= REQUESTS_MAX, `${path}: ${requests.join(', ')}`);
    t.true(bytes <= FIRST_VISIT_BYTES_MAX, `${path}: ${bytes} bytes`);
    t.log(`${path}: ${requests.length} requests, ${bytes} bytes`);
    await page.close();
  }
});
