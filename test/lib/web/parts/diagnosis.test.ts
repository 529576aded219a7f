// Why a device cannot connect, on the pages: all of it for administrators, plain words for the
// owner, nothing where the gateway does not answer, and no markup out of anything.

import test from 'ava';
import type { Trace, UnknownSenders } from '../../../../dataplane/index.ts';
import { addDevice } from '../../../models/fixtures.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { fakeDiagnosing, silentTrace } from '../../../support/observe/fake-gateway.ts';
import { checkText, NASTY, openConsole } from '../../../support/web/console.ts';

const AT = Date.UTC(2026, 0, 1);
const endpoint = { address: '198.51.100.7', port: 40_000 };
const attempt = {
  kind: 'answered',
  reason: null,
  endpoint,
  count: 1_200,
  firstAtMs: AT,
  lastAtMs: AT,
  confirmedAtMs: null,
  datedMs: null,
  latestDatedMs: null,
} as const;
const refused = {
  ...attempt,
  kind: 'refused',
  reason: 'ring_full',
  firstAtMs: 1,
  lastAtMs: 1,
} as const;
const initiated = { ...attempt, kind: 'initiated', firstAtMs: 2, lastAtMs: 2 } as const;
const wrong = { ...refused, reason: 'response_invalid' } as const;
const trace: Trace = { ...silentTrace, attempts: [refused, wrong, initiated, attempt] };

function strangers(count: number): UnknownSenders {
  const now = Date.now();
  const one = { endpoint, count: 3, firstAtMs: now, lastAtMs: now };
  const keys = Array.from({ length: count }, (_, i) => ({ ...one, publicKey: `KEY${i}=` }));
  return { keys, otherGateway: [{ ...one, lastAtMs: now + 1 }] };
}

for (const kind of firstKind()) {
  test(`${kind}: administrators see the finding and the handshakes, the owner plain words`, async (t) => {
    const diagnosing = fakeDiagnosing('g', { diagnose: async () => trace });
    const { admin, user, database, plainUser } = await openConsole(t, kind, {}, { diagnosing });
    const device = await addDevice(database, plainUser, { name: NASTY });
    const page = await admin.get(`/devices/${device.id}`);
    for (const part of [
      'Its handshakes are answered, but it never uses an answer: 1200 times since',
      'Import its present file on it again',
      'The gateway answered, and the device never used the answer.',
      'The gateway asked, and the device did not answer.',
      'Its handshake was refused. One part of the gateway had more',
      'Its answer was refused. An answer to a handshake could not be decrypted',
      '198.51.100.7:40000',
      '>1,200<',
    ])
      t.true(page.text.includes(part), part);
    t.false(page.text.includes('Unknown senders'), 'it is heard');
    checkText(t, page, 'the page of the device');
    const own = await user.get(`/user_devices/${device.id}`);
    t.regex(own.text, /it never uses the answer of the gateway\. Import its present file again/);
    t.false(own.text.includes('198.51.100.7'), 'no addresses for the owner here');
    checkText(t, own, 'the page of the owner');
  });

  test(`${kind}: a device that is not heard has unknown senders beside it, for administrators`, async (t) => {
    const diagnosing = fakeDiagnosing('g', { unknownSenders: async () => strangers(1) });
    const { admin, user, database, plainUser } = await openConsole(t, kind, {}, { diagnosing });
    const device = await addDevice(database, plainUser);
    const { text } = await admin.get(`/devices/${device.id}`);
    t.regex(text, /Unknown senders of the last minutes[^]*for the key of another gateway[^]*KEY0=/);
    const own = await user.get(`/user_devices/${device.id}`);
    t.regex(own.text, /This gateway hears nothing from this device\./);
    t.false(own.text.includes('KEY0='));
  });

  test(`${kind}: the dashboard lists unknown senders, and no button beside them`, async (t) => {
    let found: UnknownSenders = { keys: [], otherGateway: [] };
    const diagnosing = fakeDiagnosing('g', { unknownSenders: async () => found });
    const { admin } = await openConsole(t, kind, {}, { diagnosing });
    t.regex((await admin.get('/dashboard')).text, /Unknown senders[^]*None since this gateway/);
    found = strangers(30);
    const { text } = await admin.get('/dashboard');
    const [, section = ''] = text.split('id="strangers"');
    t.is(section.match(/<tr><td/g)?.length, 10);
    t.regex(
      section,
      /for the key of another gateway[^]*KEY0=[^]*And 21 more; the API lists them\./,
    );
    t.notRegex(section.split('</section>')[0] ?? '', /<button|<form|<a /);
  });

  test(`${kind}: pages do without a gateway that does not answer`, async (t) => {
    const { admin, user, database, plainUser } = await openConsole(t, kind);
    const device = await addDevice(database, plainUser);
    for (const [visitor, path] of [
      [admin, `/devices/${device.id}`],
      [user, `/user_devices/${device.id}`],
      [admin, '/dashboard'],
    ] as const) {
      const { status, text } = await visitor.get(path);
      t.is(status, 200, path);
      t.notRegex(text, /id="connection"|id="strangers"/, path);
    }
  });

  test(`${kind}: the key of a device that is not served leads to the device`, async (t) => {
    const sender = { endpoint, count: 1, firstAtMs: AT, lastAtMs: Date.now() };
    const publicKey = Buffer.alloc(32, 77).toString('base64');
    const diagnosing = fakeDiagnosing('g', {
      diagnose: async () => ({ ...silentTrace, attempts: [initiated] }),
      unknownSenders: async () => ({ keys: [{ ...sender, publicKey }], otherGateway: [] }),
    });
    const { admin, database, plainUser } = await openConsole(t, kind, {}, { diagnosing });
    const silent = await addDevice(database, plainUser);
    const own = `/devices/${silent.id}`;
    t.regex((await admin.get(own)).text, /Handshakes with a key that no device has come from/);
    const off = await addDevice(database, plainUser, { public_key: publicKey });
    const { text } = await admin.get('/dashboard');
    t.true(text.includes(`<a href="/devices/${off.id}">a device that is not served</a>`));
    t.regex((await admin.get(own)).text, /Nothing has arrived from it\./, 'it is of another one');
  });
}
