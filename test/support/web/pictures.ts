// The pictures of pages that the documentation shows: pages of a gateway with people, devices, rules
// and traffic. What a page is made of is known by a hash of its words, elements and rules of style,
// without what differs from one run to the next, so that a test knows an old picture.

import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { recordHistory } from '../../../models/index.ts';
import { echoRequest, tcp, udp } from '../dataplane/packets.ts';
import { make, type ServedStage, signedIn, signIn } from './browser.ts';
import { openDevice } from './sending-device.ts';

/** Where the pictures are. */
export const FOLDER = resolve(import.meta.dirname, '../../../docs/pictures');
/** What each was made of. */
export const MADE_OF = join(FOLDER, 'made-of.json');

/** A picture: a page as somebody sees it. */
export interface Picture {
  readonly path: string;
  readonly isOwner: boolean;
  readonly look: BrowserContextOptions;
  /** What is there when the page is drawn. */
  readonly drawn: string;
}

const WIDE = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 760 };

/** All pictures, by the names of their files. */
export const PICTURES: Readonly<Record<string, Picture>> = {
  overview: {
    path: '/dashboard',
    isOwner: false,
    look: { viewport: WIDE, colorScheme: 'light' },
    drawn: '[aria-label="Traffic in the last five minutes"] canvas',
  },
  'devices-dark': {
    path: '/devices',
    isOwner: false,
    look: { viewport: WIDE, colorScheme: 'dark' },
    drawn: 'tbody tr',
  },
  'my-devices-phone': {
    path: '/user_devices',
    isOwner: true,
    look: { viewport: PHONE, colorScheme: 'light' },
    drawn: '.badge:visible',
  },
};

/** What a page shows of the host that the gateway runs on, and not of the gateway. */
const OF_HOST = '.problems';

/** The person who looks at their own devices. */
const OWNER = { email: 'alice@example.com', password: 'correct horse battery' };
const OTHERS = ['bob', 'carla', 'dmitri', 'emma', 'farid', 'grace', 'hugo'];
const DEVICES = ['laptop', 'phone', 'desktop', 'tablet'];
/** Another gateway on the same database, which reports what devices carry. */
const GATEWAY = '01900000-0000-7000-8000-00000000cafe';
const PING_BYTES = 1_200;
const TICK_MS = 100;
const STEP_S = 600;
const STEPS = 144;

/** Fills a gateway; what its devices carry is reported until the test ends. */
export async function fill(t: ExecutionContext, stage: ServedStage): Promise<void> {
  const { database } = stage.gateway;
  const devices: string[] = [];
  for (const [i, name] of [OWNER.email.split('@')[0], ...OTHERS].entries()) {
    const own = i === 0 ? { ...OWNER, password_confirmation: OWNER.password } : {};
    const user_id = await make(stage, 'user', { email: `${name}@example.com`, ...own });
    for (const device of DEVICES.slice(0, 1 + (i % 3) + (i === 0 ? 2 : 0)))
      devices.push(
        await make(stage, 'device', { user_id, name: device, public_key: key(devices) }),
      );
  }
  for (const [action, destination, port_range] of [
    ['drop', '10.0.0.0/8', undefined],
    ['accept', '10.2.0.5', '443'],
    ['accept', '10.2.0.0/16', '22'],
  ] as const)
    await make(stage, 'rule', { action, destination, port_range, port_type: port_range && 'tcp' });
  const now = Math.floor(Date.now() / 1_000 / STEP_S) * STEP_S;
  for (let i = 0; i < STEPS; i += 1) {
    const day = 1.2 + Math.sin((i / STEPS) * 2 * Math.PI) + 0.3 * Math.sin(i * 1.7);
    const counts = [day * 22e6, day * 31e6].map(Math.round);
    const report = { start: now - i * STEP_S, counts, subject: '' };
    await recordHistory(database, GATEWAY, 'gateway', [report]);
  }
  await report(t, stage, devices);
}

/** Sends packets of a device until the test ends, and waits for so long; the rules refuse some. */
export async function carry(t: ExecutionContext, stage: ServedStage, ms: number): Promise<void> {
  const { id: user_id } = (await stage.gateway.call('GET', '/v0/users')).body.data[0];
  const { ipv4: source, send } = await openDevice(t, stage, 'office router', user_id);
  const destination = '100.64.0.1';
  const data = new Uint8Array(PING_BYTES / 4);
  let i = 0;
  const timer = setInterval(() => {
    i += 1;
    const count = 6 + Math.round(3 * Math.sin(i / 60) + 2 * Math.sin(i / 23));
    send(
      ...Array.from({ length: count }, () => echoRequest(source, destination, i, 7, PING_BYTES)),
    );
    if (i % 2 === 0) send(udp({ source, destination, destinationPort: 9, data }));
    if (i % 9 === 0) send(tcp({ source, destination: '10.0.0.6', destinationPort: 22, flags: 2 }));
  }, TICK_MS);
  t.teardown(() => clearInterval(timer));
  await sleep(ms);
}

/** Lets most devices be online, with some traffic. */
async function report(
  t: ExecutionContext,
  { gateway }: ServedStage,
  devices: readonly string[],
): Promise<void> {
  const { sequelize } = gateway.database;
  const insert = `INSERT INTO device_statuses
    (device_id, gateway_id, latest_handshake, remote_ip, remote_port, rx_bytes, tx_bytes, updated)
    VALUES (?, ?, ${ago('?')}, ?, 51820, ?, ?, ${ago('0')})`;
  // Each fifth one is away for hours.
  const isAway = (i: number): boolean => i % 5 === 4;
  for (const [i, id] of devices.entries()) {
    const seconds = isAway(i) ? 7_000 + i * 900 : 10 + i * 7;
    const address = `198.51.100.${10 + i}`;
    const replacements = [id, GATEWAY, seconds, address, 4e6 * (i + 1), 6e7 * (i + 1)];
    await sequelize.query(insert, { replacements });
  }
  const online = devices.filter((_, i) => !isAway(i));
  const carried = `UPDATE device_statuses SET updated = ${ago('0')}, latest_handshake = ${ago('10 + 6 * rowid')}
    WHERE device_id IN (:online)`;
  const timer = setInterval(() => void sequelize.query(carried, { replacements: { online } }), 500);
  t.teardown(() => clearInterval(timer));
}

/** A time as SQLite keeps it, so many seconds ago. */
const ago = (seconds: string): string =>
  `strftime('%Y-%m-%d %H:%M:%f +00:00', 'now', '-' || (${seconds}) || ' seconds')`;

const key = (devices: readonly string[]): string =>
  createHash('sha256').update(String(devices.length)).digest('base64');

/** Opens the page of a picture, as it is when everything is drawn. */
export async function open(
  stage: ServedStage,
  { path, isOwner, look, drawn }: Picture,
): Promise<Page> {
  const page = await stage.person(look);
  await signIn(page, isOwner ? OWNER : undefined);
  await signedIn(page);
  await page.goto(path);
  await page.locator(drawn).first().waitFor();
  await page.evaluate(
    `document.querySelectorAll('${OF_HOST}').forEach(({ style }) => (style.display = 'none'))`,
  );
  return page;
}

/** A hash of what a page is made of. */
export async function hashOf(page: Page): Promise<string> {
  const parts = await page.evaluate<string[]>(PARTS);
  return createHash('sha256').update(parts.join('\n')).digest('hex');
}

/**
 * Elements in the window with their classes and words, and the rules of style that apply. Numbers, units
 * and times differ from one run to the next.
 */
const PARTS = `(() => {
  const words = (text) => text.replaceAll(/\\s+/g, ' ').trim()
    .replaceAll(/\\d[\\d.,:]*( ?(k|M|G)?B(\\/s)?)?/g, '#')
    .replaceAll(/# (second|minute|hour|day)s?/g, '# units');
  const parts = [];
  const visit = (element) => {
    if (!element.checkVisibility() || element.getBoundingClientRect().top >= innerHeight) return;
    parts.push(element.localName + ' ' + [...element.classList].sort().join('.'));
    if (element.localName === 'time' || element.closest('.uplot') !== null) return;
    for (const child of element.childNodes) {
      if (child.nodeType === 3 && child.data.trim() !== '') parts.push(words(child.data));
      if (child.nodeType === 1) visit(child);
    }
  };
  visit(document.body);
  const applies = (selector) => {
    try { return document.querySelector(selector.replaceAll(/::?[a-z-]+$/g, '') || '*') !== null; }
    catch { return true; }
  };
  const rules = (list, around) => {
    for (const rule of list) {
      if (rule.selectorText !== undefined) {
        if (applies(rule.selectorText)) parts.push(around + rule.cssText);
      } else if (rule.cssRules !== undefined) {
        if (rule.media === undefined || matchMedia(rule.media.mediaText).matches)
          rules(rule.cssRules, around + (rule.conditionText ?? '') + ' ');
      } else parts.push(around + rule.cssText);
    }
  };
  for (const sheet of document.styleSheets) rules(sheet.cssRules, '');
  return parts;
})()`;
