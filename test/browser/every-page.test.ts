// Every page that a link leads to, from Overview and from My devices on, in every look; with a menu,
// a question and a selection open too. Nothing moves by itself. Each page that has a route is among
// them, so that a new page cannot be forgotten. A live page is looked at as nobody sees it, and so
// asks for nothing meanwhile.

import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { Page, Request } from 'playwright-core';
import { ADMINISTRATORS } from '../../lib/auth/sessions.ts';
import { openServer, routesOf } from '../support/api/server.ts';
import {
  inspectEverywhere,
  inspectOpen,
  openBrowser,
  signedIn,
  signIn,
} from '../support/web/browser.ts';
import { ANN, furnish } from '../support/web/furnished.ts';

/** What is no page of ours: files, streams, answers to scripts, and the documents of the API. */
const NO_PAGES = [
  /\.(csv|json)$/,
  /\/(live|download|handshake)$/,
  /^\/rules\/(whose|meets)$/,
  /^\/explain\/devices$/,
  /^\/users\/groups\/(names|people)$/,
  /^\/(auth|docs)\b/,
  /^\/$/,
  /\*/,
];
const isPage = (path: string): boolean => !NO_PAGES.some((one) => one.test(path));
/** Pages to which no link of the walk leads, but an action; tests of the action look at them. */
const BY_AN_ACTION = [
  '/forgotten_password',
  '/one_time_links/{id}',
  '/search',
  '/settings/providers/oidc/{id}',
  '/settings/providers/oidc/{id}/tests/{id}',
  '/settings/providers/saml/{id}',
  '/settings/providers/saml/{id}/tests/{id}',
  '/sign_in_again',
  '/user_account/recovery_codes',
  '/user_account/second_factors/{id}/remove',
  ...['api_tokens', 'devices', 'rules', 'users', 'users/invitations'].map(
    (list) => `/${list}/many/{id}`,
  ),
];
const ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g;

test('every page passes in every look', async (t) => {
  t.timeout(600_000);
  const stage = await openBrowser(t, { DEFAULT_CLIENT_ENDPOINT: 'vpn.example.com' });
  await furnish(t, stage);
  // What the device sent and what was refused is known by then, so that no list is new.
  await sleep(2_000);
  const [seen, live] = [new Set<string>(), new Set<string>()];
  for (const [start, who] of [['/dashboard'], ['/user_devices', ANN]] as const) {
    const page = await stage.person();
    await signIn(page, who);
    await signedIn(page);
    await walk(t, page, start, { seen, live });
  }
  t.deepEqual([...live].toSorted(), LIVE_PAGES);
  const { server } = await openServer(t, 'sqlite');
  const forgotten = (await routesOf(server))
    .filter(({ method, settings: { auth } }) => {
      const strategies = auth?.strategies ?? [];
      return (
        method === 'get' && strategies.some((one) => [ADMINISTRATORS, 'session'].includes(one))
      );
    })
    .map(({ path }) => path.replaceAll(/\{\w+\}/g, '{id}'))
    .filter((path) => isPage(path) && !seen.has(path));
  t.deepEqual(forgotten.toSorted(), BY_AN_ACTION.toSorted(), 'a page that no link leads to');
});

/** Follows links to pages that were not seen yet, and looks at each. */
async function walk(
  t: ExecutionContext,
  page: Page,
  start: string,
  { seen, live }: { readonly seen: Set<string>; readonly live: Set<string> },
): Promise<void> {
  const paths = [start];
  const opened = new Set<string>();
  const requests = requestsOf(page);
  for (const path of paths) {
    const place = placeOf(path);
    if (seen.has(place)) continue;
    seen.add(place);
    for (const viewport of [PHONE, WIDE]) {
      requests.length = 0;
      await page.setViewportSize(viewport);
      await page.goto(path);
      if ((await page.locator(LIVE).count()) > 0) {
        await until(() => requests.some(isStream));
        await requests.find(isStream)?.response();
      }
      const moved = await page.evaluate<number>(MOVED);
      t.true(moved <= MOVED_MAX, `${place} moves by ${moved}, ${viewport.width} px wide`);
    }
    const hrefs = await page.evaluate<string[]>(
      "[...document.querySelectorAll('a[href]:not([download])')].map(({ href }) => href)",
    );
    const here = new URL(page.url()).origin;
    for (const { origin, pathname, search } of hrefs.map((href) => new URL(href)))
      if (origin === here && isPage(pathname)) paths.push(pathname + search);
    const isLive = (await page.locator(LIVE).count()) > 0;
    const show = isLive ? await hide(t, page, place, requests) : null;
    t.true(
      requests.length <= REQUESTS_MAX,
      `${place}: ${requests.map((one) => one.url()).join(', ')}`,
    );
    await inspectEverywhere(t, page, `page${place.replaceAll(/\W+/g, '-')}`);
    if (show !== null) {
      await show();
      live.add(place);
    }
    await openAll(t, page, place, opened);
  }
}

const PHONE = { width: 390, height: 800 };
const WIDE = { width: 1_440, height: 900 };
/**
 * What moved by itself since the page was there, as the browser rates it, and in a moment more. A
 * row that takes another place in a sorted list, because of a new packet, is none of it.
 */
const MOVED = `new Promise((resolve) => {
  let moved = 0;
  const isRow = ({ node }) => node instanceof Element && node.matches('tr[data-row]');
  new PerformanceObserver((list) =>
    list.getEntries().forEach(({ value, sources }) => {
      if (sources.length === 0 || !sources.every(isRow)) moved += value;
    }),
  ).observe({ type: 'layout-shift', buffered: true });
  setTimeout(() => resolve(moved), 200);
})`;
const MOVED_MAX = 0.001;

/** Requests of a page, with what it has from the browser's memory. */
const REQUESTS_MAX = 8;

/** What follows a stream. */
const LIVE = '[data-live], [data-list]';
const LIVE_PAGES = [
  '/dashboard',
  '/devices',
  '/devices/{id}',
  '/flows',
  '/gateways',
  '/refusals',
  '/user_devices',
  '/user_devices/{id}',
  '/users',
];
const setHidden = (isHidden: boolean): string => `
  Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} });
  document.dispatchEvent(new Event('visibilitychange'));`;

/** What a page asks for, as it comes; the style sheet holds its pictures. */
function requestsOf(page: Page): Request[] {
  const requests: Request[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith('data:')) requests.push(request);
  });
  return requests;
}

function isStream(request: Request): boolean {
  return request.resourceType() === 'eventsource';
}

async function until(holds: () => boolean): Promise<void> {
  for (let waits = 0; !holds(); waits += 1) {
    if (waits > 1_500) throw new Error(`it does not hold: ${String(holds)}`);
    await sleep(20);
  }
}

/**
 * Lets nobody see a live page: its stream ends, and no other begins until what this returns was
 * called, which waits for the next one.
 */
async function hide(
  t: ExecutionContext,
  page: Page,
  place: string,
  requests: readonly Request[],
): Promise<() => Promise<void>> {
  await until(() => requests.some(isStream));
  const stream = requests.findLast(isStream);
  // Charts are drawn from the first event.
  await stream?.response();
  await page.evaluate(setHidden(true));
  await until(() => stream?.failure() !== null);
  const before = requests.length;
  return async () => {
    t.is(requests.length, before, `${place}: a page that nobody sees asks for something`);
    await page.evaluate(setHidden(false));
    await until(() => requests.slice(before).some(isStream));
  };
}

/** Paths of records of one kind are one place. */
function placeOf(path: string): string {
  return (path.split('?')[0] ?? '').replaceAll(ID, '{id}');
}

/** What opens in a page. */
const OPENERS = [
  ['main button.more', '.menu:popover-open'],
  ['main [popovertarget]', 'main :popover-open'],
  ['main button.opens', 'dialog[open]'],
] as const;

/** Opens each menu and question that was not open at another page. */
async function openAll(
  t: ExecutionContext,
  page: Page,
  place: string,
  opened: Set<string>,
): Promise<void> {
  for (const [opener, open] of OPENERS) {
    const button = page.locator(opener).filter({ visible: true }).first();
    if ((await button.count()) === 0) continue;
    const name = opener === OPENERS[0][0] ? place : await button.innerText();
    if (opened.has(opener + name)) continue;
    opened.add(opener + name);
    await button.click();
    await page.locator(open).first().waitFor();
    await inspectOpen(t, page, `${place}: ${name}`);
    await page.keyboard.press('Escape');
  }
  const row = page.locator('tbody input[name=id]').first();
  if ((await row.count()) === 0) return;
  await row.check();
  await page.getByText('1 selected').waitFor();
  await inspectOpen(t, page, `${place}: selected`);
}
