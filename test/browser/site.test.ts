// The site of the documentation in a real browser: how pages look, the search, the menu of a narrow
// window, and that pages are read from a disk, and without scripts.

import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { makeSite } from '../../tools/site/site.ts';
import { temporaryFolder } from '../support/suite/temporary-folder.ts';
import { inspect, openPages } from '../support/web/browser.ts';

const PHONE = { width: 390, height: 844 };

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

/** Serves the site from a folder of a web server; the address of that folder. */
async function serveSite(t: ExecutionContext): Promise<string> {
  const site = await makeSite();
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://localhost');
    const content = site.get(pathname.replace(/^\/manual\//, ''));
    response.writeHead(content === undefined ? 404 : 200, {
      'content-type': TYPES[extname(pathname)] ?? 'text/plain',
    });
    response.end(content);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}/manual/`;
}

test('pages can be read by everybody, wide and narrow, light and dark', async (t) => {
  const page = await openPages(t, await serveSite(t));
  for (const [name, path] of [
    ['home', 'index.html'],
    ['index', 'docs/index.html'],
    ['guide', 'docs/guides/container.html'],
    ['table', 'docs/reference/settings.html'],
    ['room', 'dataplane/index.html'],
  ] as const) {
    await page.goto(path);
    await inspect(t, page, `site-${name}`);
  }
});

test('a search by the keyboard leads to a setting', async (t) => {
  const page = await openPages(t, await serveSite(t));
  await page.goto('docs/start.html');
  await page.keyboard.press('/');
  await page.keyboard.type('wireguard_uapi');
  const options = page.getByRole('option');
  await options.first().waitFor();
  t.regex(await options.first().innerText(), /^WIREGUARD_UAPI/);
  await inspect(t, page, 'site-search');
  await page.keyboard.press('ArrowDown');
  const chosen = page.locator('[role=option][aria-selected=true]');
  t.is(await chosen.getAttribute('id'), 'found-1');
  t.is(await page.getByRole('combobox').getAttribute('aria-activedescendant'), 'found-1');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/docs/reference/settings.html*');
  await page.keyboard.press('/');
  await page.keyboard.type('nosuchwordanywhere');
  await page.getByText('Nothing is found.').waitFor();
  await page.keyboard.press('Escape');
  t.is(await options.count(), 0);
});

test('the menu of a narrow window opens, and leads to a page', async (t) => {
  const page = await openPages(t, await serveSite(t), { viewport: PHONE });
  await page.goto('docs/start.html');
  const entry = page.getByRole('link', { name: 'The Debian package' });
  t.is(await entry.count(), 0, 'it is closed');
  await page.getByRole('button', { name: 'Menu' }).click();
  await entry.click();
  await page.getByRole('heading', { level: 1, name: /Debian/ }).waitFor();
});

test('without scripts pages have menu and links, and no search that does nothing', async (t) => {
  const page = await openPages(t, await serveSite(t), { javaScriptEnabled: false });
  await page.goto('docs/start.html');
  t.is(await page.getByRole('search').count(), 0);
  const menu = page.getByRole('navigation', { name: 'Documentation' });
  await menu.getByRole('link', { name: 'Okta' }).click();
  await page.waitForURL('**/docs/guides/single-sign-on/okta.html');
});

test('a browser that opens it from a disk has the search', async (t) => {
  const folder = temporaryFolder('postern-site-');
  for (const [address, content] of await makeSite()) {
    mkdirSync(dirname(join(folder, address)), { recursive: true });
    writeFileSync(join(folder, address), content);
  }
  const page = await openPages(t, `${pathToFileURL(folder).href}/`);
  await page.goto('docs/guides/debian.html');
  await page.getByRole('combobox').fill('apt install');
  await page
    .getByRole('option', { name: /Debian package/ })
    .first()
    .click();
  await page.waitForURL('**/docs/guides/debian.html*');
  t.regex(await page.title(), /Debian/);
});
