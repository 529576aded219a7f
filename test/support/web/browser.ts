// A real browser before a whole gateway: Chromium of Debian, by playwright-core, as the program without
// windows of its own, which takes a third of the processor time of the whole one. `openBrowser`
// starts both, the gateway in the process of the test; `openBrowserAt` takes a gateway that runs as a
// process. Each `person` is a browser of its own, with its own cookies. `inspect` looks at a page
// twice, wide in light and at 360 px in dark: axe must find nothing, no part may be cut off or reach
// over the edge; a look with an error is in test/artefacts/screens. `inspectEverywhere`, for each page
// once, looks at more. The test fails if a page prints anything on its console, for example a refused
// script or a missing file.

import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { type ExecutionContext, registerCompletionHandler } from 'ava';
import type axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { FIRST_ADMIN, type WholeGateway } from '../gateway/gateway-process.ts';
import { type ServedGateway, serveHere } from '../gateway/served-gateway.ts';

const SCREENS = resolve(import.meta.dirname, '../../artefacts/screens');
const EXECUTABLE = process.env['CHROMIUM'] ?? '/usr/bin/chromium-headless-shell';
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Everything of WCAG 2.2 up to AA, and what axe calls best practice. */
const EVERYTHING = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** The rules about colours: all that another colour scheme changes. */
const COLOURS = ['color-contrast', 'link-in-text-block'];

const WIDE = { width: 1280, height: 800 };
const NARROW = { width: 360, height: 740 };

/** Elements that are wider than a box which hides the rest of them, if neither says so. */
const CUT_OFF = `[...document.querySelectorAll('main :not(input)')]
  .filter((element) => {
    const { overflowX, textOverflow, clipPath } = getComputedStyle(element);
    const isBox = ['hidden', 'clip'].includes(overflowX) && clipPath === 'none';
    return isBox && textOverflow !== 'ellipsis' && element.scrollWidth > element.clientWidth + 1;
  })
  .map((element) => element.outerHTML.slice(0, 200))`;

/**
 * The ways in which a page is shown. Each part is seen in light and in dark; what only one width has
 * is seen in the other colours by `inspectEverywhere`.
 */
const LOOKS = [
  { colorScheme: 'light', viewport: WIDE },
  { colorScheme: 'dark', viewport: NARROW },
] as const;

/** The Chromium of all tests of a file: a start takes two seconds of a processor. */
let chromiumOfFile: Promise<Browser> | null = null;

/** Of the tests of a file so many have a browser at once; more would only make every page slow. */
const TESTS_AT_ONCE = 4;
let testsNow = 0;
const waiting: (() => void)[] = [];

registerCompletionHandler(() => void chromiumOfFile?.then((browser) => browser.close()));

/** A gateway and a browser before it. */
export interface Stage<G extends WholeGateway = WholeGateway> {
  readonly gateway: G;
  readonly browser: Browser;
  /** A browser of another user; addresses of its pages are paths of the gateway. */
  readonly person: (options?: BrowserContextOptions) => Promise<Page>;
}

/** A gateway in the process of the test, and a browser before it. */
export type ServedStage = Stage<ServedGateway>;

/** Starts a gateway, with these environment variables besides its own, and a browser. */
export async function openBrowser(
  t: ExecutionContext,
  settings: Record<string, string> = {},
): Promise<ServedStage> {
  await takeTurn(t);
  return stageOf(t, await serveHere(t, settings));
}

/** Starts a browser before a gateway that runs. */
export async function openBrowserAt<G extends WholeGateway>(
  t: ExecutionContext,
  gateway: G,
): Promise<Stage<G>> {
  await takeTurn(t);
  return stageOf(t, gateway);
}

/** Starts a browser before pages that no gateway serves; addresses begin with `url`. */
export async function openPages(
  t: ExecutionContext,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Page> {
  await takeTurn(t);
  return newPerson(t, await launchOnce(), url, options);
}

/** Waits until few enough tests have a browser, and is one of them until the test ends. */
async function takeTurn(t: ExecutionContext): Promise<void> {
  if (testsNow < TESTS_AT_ONCE) testsNow += 1;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  t.teardown(() => {
    const next = waiting.shift();
    if (next === undefined) testsNow -= 1;
    else next();
  });
}

async function stageOf<G extends WholeGateway>(t: ExecutionContext, gateway: G): Promise<Stage<G>> {
  const browser = await launchOnce();
  return {
    gateway,
    browser,
    person: (options = {}) => newPerson(t, browser, gateway.url, options),
  };
}

async function newPerson(
  t: ExecutionContext,
  browser: Browser,
  baseURL: string,
  options: BrowserContextOptions,
): Promise<Page> {
  const context = await browser.newContext({
    baseURL,
    viewport: WIDE,
    reducedMotion: 'reduce',
    ...options,
  });
  t.teardown(() => context.close());
  const page = await context.newPage();
  listen(t, page, baseURL);
  return page;
}

/** Starts Chromium, or returns the one that runs: a context shares nothing with another. */
function launchOnce(): Promise<Browser> {
  const isRoot = process.getuid?.() === 0;
  chromiumOfFile ??= chromium.launch({
    executablePath: EXECUTABLE,
    // The sandbox of Chromium does not run as root.
    args: isRoot ? ['--no-sandbox'] : [],
  });
  return chromiumOfFile;
}

/** Signs the administrator in and presses “Test sign-in” of an entry, `saml/adfs` say. */
export async function beginTestSignIn(page: Page, entry: string): Promise<void> {
  await signIn(page);
  await signedIn(page);
  await page.goto(`/settings/providers/${entry}`);
  await page.getByRole('button', { name: 'Test sign-in' }).click();
}

/** Signs in by the form, as the administrator of the first start by default. */
export async function signIn(
  page: Page,
  { email, password }: { email: string; password: string } = FIRST_ADMIN,
): Promise<void> {
  await page.goto('/');
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Waits until a page shows who is signed in. */
export async function signedIn(page: Page): Promise<void> {
  await page.locator('.signed-in .who').waitFor();
}

/** Words in fields that the fields are too narrow for, and names in lists that have no room. */
const CUT_WORDS = `(() => {
  const pen = document.createElement('canvas').getContext('2d');
  const isNarrow = (one) => {
    const { font, paddingLeft, paddingRight } = getComputedStyle(one);
    pen.font = font;
    const words = one.placeholder ?? one.selectedOptions[0]?.text ?? '';
    // A list has an arrow behind its words.
    const taken = parseFloat(paddingLeft) + parseFloat(paddingRight) + (one.options ? 16 : 0);
    return pen.measureText(words).width > one.clientWidth - taken + 1;
  };
  const fields = [...document.querySelectorAll('input[type=search]:placeholder-shown, select')];
  const names = [...document.querySelectorAll('.dense td.name')];
  return [...fields.filter(isNarrow), ...names.filter((one) => one.clientWidth < 120)]
    .filter((one) => one.checkVisibility() && one.clientWidth > 0)
    .map((one) => 'no room: ' + one.outerHTML.slice(0, 120));
})()`;

/** Checks the current page in both looks; a screenshot shows each look that has an error. */
export async function inspect(t: ExecutionContext, page: Page, name: string): Promise<void> {
  mkdirSync(SCREENS, { recursive: true });
  const before = page.viewportSize() ?? WIDE;
  for (const { colorScheme, viewport } of LOOKS) {
    const look = `${name}-${colorScheme}-${viewport.width}`;
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport);
    const errors = [...(await errorsOf(page, EVERYTHING)), ...(await layoutErrorsOf(page))];
    // A screenshot of a whole page takes as long as all of these questions.
    if (errors.length > 0 || process.env['SCREENS'] === 'all')
      await page.screenshot({ path: join(SCREENS, `${look}.png`), fullPage: true });
    t.deepEqual(errors, [], look);
  }
  await page.emulateMedia({ colorScheme: null });
  await page.setViewportSize(before);
}

/** Widths at which a page must fit its window. */
const WIDTHS = [1_440, 1_024, 390, 320] as const;
/** A chart takes another width at the next frame. */
const FRAME = 'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))';
/** In narrower ones words may be cut. */
const PHONE_WIDTH = 390;

/**
 * Checks the current page at these widths, with letters of twice their size, and in the few colours
 * of a person who chose them.
 */
export async function inspectEverywhere(
  t: ExecutionContext,
  page: Page,
  name: string,
): Promise<void> {
  mkdirSync(SCREENS, { recursive: true });
  const before = page.viewportSize() ?? WIDE;
  const check = async (look: string, errors: readonly string[]): Promise<void> => {
    if (errors.length > 0 || process.env['SCREENS'] === 'all')
      await page.screenshot({ path: join(SCREENS, `${name}-${look}.png`), fullPage: true });
    t.deepEqual(errors, [], `${name}-${look}`);
  };
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    await check(colorScheme, await errorsOf(page, COLOURS));
  }
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    await page.evaluate(FRAME);
    const words = width < PHONE_WIDTH ? [] : await page.evaluate<string[]>(CUT_WORDS);
    // Lists, and the navigation beside them, have parts of their own there.
    const hasParts = width === PHONE_WIDTH && (await page.locator('main .list').count()) > 0;
    const colours = hasParts ? await errorsOf(page, COLOURS) : [];
    await check(String(width), [...(await layoutErrorsOf(page)), ...words, ...colours]);
  }
  await page.setViewportSize(WIDE);
  // As the setting of a browser says it, which the widths of the style sheet follow.
  const client = await page.context().newCDPSession(page);
  await client.send('Page.setFontSizes', { fontSizes: { standard: 32, fixed: 26 } });
  await check('letters', await layoutErrorsOf(page));
  await client.send('Page.setFontSizes', { fontSizes: { standard: 16, fixed: 13 } });
  await client.detach();
  await page.emulateMedia({ colorScheme: null, forcedColors: 'active' });
  await check('forced', await errorsOf(page, EVERYTHING));
  await page.emulateMedia({ forcedColors: null });
  await page.setViewportSize(before);
}

/** What is wider than the window, or cut off. */
async function layoutErrorsOf(page: Page): Promise<string[]> {
  const [wanted, given] = await page.evaluate<[number, number]>(
    '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
  );
  const cut = (await page.evaluate<string[]>(CUT_OFF)).map((what) => `cut off: ${what}`);
  return wanted <= given ? cut : [`the page is ${wanted} px wide, the window ${given}`, ...cut];
}

/** Checks the current page with what is open in it, also in the window of a phone. */
export async function inspectOpen(t: ExecutionContext, page: Page, name: string): Promise<void> {
  const before = page.viewportSize() ?? WIDE;
  t.deepEqual(await errorsOf(page, EVERYTHING), [], name);
  await page.setViewportSize({ width: PHONE_WIDTH, height: 844 });
  await page.evaluate(FRAME);
  t.deepEqual(await layoutErrorsOf(page), [], `${name}, on a phone`);
  await page.setViewportSize(before);
}

/** Opens the menu of a record's page. */
export async function openMenu(page: Page): Promise<void> {
  await page.getByRole('main').getByRole('button', { name: 'More', exact: true }).click();
}

/** Creates a record by the API, as a program would. */
export async function make(
  { gateway }: Stage,
  kind: 'user' | 'device' | 'rule',
  values: object,
): Promise<string> {
  const response = await fetch(`${gateway.url}/v0/${kind}s`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ [kind]: values }),
  });
  const { data } = (await response.json()) as { data: { id: string } };
  return data.id;
}

/** The findings of axe, as lines that say what and where. */
async function errorsOf(page: Page, runOnly: readonly string[]): Promise<string[]> {
  // Evaluated by the debugger, which the policy of the page does not restrict.
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(AXE);
  const options = JSON.stringify({ runOnly, resultTypes: ['violations'] });
  const { violations } = await page.evaluate<axe.AxeResults>(`axe.run(document, ${options})`);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${String(target[0])}: ${failureSummary}`),
  );
}

/**
 * Everything that a page of ours prints is an error, except answers of 4xx and closed connections,
 * which are often meant. What the page of an identity provider prints does not count.
 */
function listen(t: ExecutionContext, page: Page, ours: string): void {
  const isOurs = (): boolean => page.url().startsWith(ours);
  page.on('pageerror', (error) => {
    if (isOurs()) t.fail(`a script failed: ${error.message}`);
  });
  page.on('console', (message) => {
    const isMeant = /status of (4\d\d|50[23])|ERR_CONNECTION_RESET/.test(message.text());
    if (isOurs() && ['error', 'warning'].includes(message.type()) && !isMeant)
      t.fail(`the console says: ${message.text()}`);
  });
}
