// The pages “Traffic now” and “Refused lately”: who may see them, what is asked of the gateway, and
// what is shown.

import test from 'ava';
import type {
  EndedPlace,
  FlowPlace,
  FlowQuery,
  RefusalQuery,
} from '../../../../dataplane/index.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { addRule } from '../../../models/fixtures.ts';
import { addDevice } from '../../../support/database/records.ts';
import { endedFlowOf, fakeLive, flowOf, refusalOf } from '../../../support/observe/fake-gateway.ts';
import { checkGuard, checkText, NASTY, openConsole } from '../../../support/web/console.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';
const ABSENT = '01900000-0000-7000-8000-00000000dead';

/** A device of a flow, with its owner and its address. */
const shownOf = (device: string): RegExp =>
  new RegExp(`/devices/${device}">laptop</a>\\s*<small>user@example.com · 100.64.0.2:50000`);

for (const kind of firstKind()) {
  test(`${kind}: only administrators see what passes and what does not`, async (t) => {
    const console = await openConsole(t, kind, {}, { live: fakeLive(GATEWAY) });
    await checkGuard(t, console, {
      pages: ['/flows', '/flows/ended', '/refusals', '/flows?user=user@example.com'],
    });
  });

  test(`${kind}: a device is asked for by name, address or id, a user by e-mail`, async (t) => {
    const asked: (FlowQuery | RefusalQuery)[] = [];
    let laptop = '';
    const live = fakeLive(GATEWAY, {
      busiest: async (query) => {
        asked.push(query);
        return [];
      },
      endedFlows: async (query) => {
        asked.push(query);
        return { flows: [], next: null };
      },
      refusals: async (query) => {
        asked.push(query);
        return [];
      },
      publicKeyOf: (id) => (id === laptop ? 'key' : null),
    });
    const { admin, database, plainUser } = await openConsole(t, kind, {}, { live });
    const fields = { name: 'laptop', ipv4: '100.64.9.9', ipv6: 'fd00::9:9' };
    laptop = (await addDevice(database, plainUser.id, fields)).id;
    for (const path of ['/flows', '/flows/ended', '/refusals'])
      for (const query of [
        'device=laptop',
        'device=100.64.9.9',
        'device=fd00::9:9',
        `device=${laptop}`,
        `device_id=${laptop}`,
      ]) {
        const { status, text } = await admin.get(`${path}?${query}`);
        t.is(status, 200, query);
        t.like(asked.pop(), { device: 'key', scope: null }, query);
        t.true(text.includes('Show all'));
      }
    for (const query of ['user=User@example.com', `user_id=${plainUser.id}`]) {
      t.true((await admin.get(`/flows?${query}`)).text.includes('value="'));
      t.like(asked.pop(), { device: null, scope: plainUser.id }, query);
    }
    await admin.get(`/flows?destination=10.0.0.0/8&rule_id=${ABSENT}`);
    t.deepEqual(asked.pop(), {
      device: null,
      scope: null,
      destination: { network: new Uint8Array([10, 0, 0, 0]), prefixBits: 8 },
      rule: ABSENT,
    });
    const { text: refusals } = await admin.get('/refusals?reason=rule_drop');
    for (const reason of ['peer_elsewhere', 'no_peer', 'peer_no_endpoint', 'staged_expired'])
      t.true(refusals.includes(`value="${reason}"`), reason);
    t.false(refusals.includes('value="mac1_invalid"'));
    t.like(asked.pop(), { reason: 'rule_drop' });
    t.is(asked.length, 0);
  });

  test(`${kind}: flows are shown with names, rules and amounts, page by page`, async (t) => {
    let laptop = '';
    let rule = '';
    const places: (FlowPlace | null)[] = [];
    const flows = () => [flowOf('key', { by: 'rule', rule }), flowOf('key', { by: 'default' })];
    const live = fakeLive(GATEWAY, {
      flows: async (_query, limit, from) => {
        t.is(limit, 50);
        places.push(from);
        return { flows: flows(), next: from?.worker === 0 ? { worker: 1, flow: 9 } : null };
      },
      busiest: async (_query, limit) => {
        t.is(limit, 30);
        return flows().map((flow, i) => ({ ...flow, rate: 2_500_000 - i }));
      },
      deviceIdOf: () => laptop,
    });
    const { admin, database, plainUser } = await openConsole(t, kind, {}, { live });
    laptop = (await addDevice(database, plainUser.id, { name: 'laptop' })).id;
    rule = (await addRule(database, { action: 'accept', destination: '10.0.0.0/8' })).id;
    const busiest = (await admin.get('/flows')).text;
    t.regex(busiest, /data-sort="2500000"><span[^>]*>\s*2\.5\u00a0MB\/s/);
    const [, all = ''] = /href="([^"]+)">All flows, page by page/.exec(busiest) ?? [];
    const { text } = await admin.get(all.replaceAll('&amp;', '&'));
    for (const page of [busiest, text]) t.regex(page, shownOf(laptop));
    t.regex(text, new RegExp(`/rules/${rule}">Accept 10.0.0.0/8`));
    for (const shown of ['10.0.0.5:443', 'TCP', '1.8\u00a0kB', '12 packets', 'the default action'])
      t.true(text.includes(shown), shown);
    const [, next = ''] = /rel="next" href="([^"]+)"/.exec(text) ?? [];
    const second = await admin.get(next.replaceAll('&amp;', '&'));
    t.deepEqual(places, [
      { worker: 0, flow: 1 },
      { worker: 1, flow: 9 },
    ]);
    t.true(second.text.includes('rel="prev" href="/flows"'));
  });

  test(`${kind}: ended flows say when and why, also of a device that is gone`, async (t) => {
    let laptop = '';
    const places: (EndedPlace | null)[] = [];
    const live = fakeLive(GATEWAY, {
      endedFlows: async (_query, limit, from) => {
        t.is(limit, 50);
        places.push(from);
        const gone = endedFlowOf('gone', { because: 'device_removed' });
        return { flows: [endedFlowOf('key'), gone], next: from === null ? [7, 0] : null };
      },
      deviceIdOf: (key) => (key === 'key' ? laptop : ABSENT),
    });
    const { admin, database, plainUser } = await openConsole(t, kind, {}, { live });
    laptop = (await addDevice(database, plainUser.id, { name: 'laptop' })).id;
    const { text } = await admin.get('/flows/ended?destination=10.0.0.0/8');
    t.regex(text, shownOf(laptop));
    for (const shown of ['finished', 'the device was removed or switched off', 'removed'])
      t.true(text.includes(shown), shown);
    t.regex(text, /<time datetime="2026-11-25T12:01:10\.500000Z">/);
    t.false(text.includes(ABSENT));
    const [, next = ''] = /rel="next" href="([^"]+)"/.exec(text) ?? [];
    t.true(next.startsWith('/flows/ended?destination='));
    const second = await admin.get(next.replaceAll('&amp;', '&'));
    t.deepEqual(places, [null, [7, 0]]);
    t.true(second.text.includes('rel="prev" href="/flows/ended?destination='));
    t.true(second.text.includes('href="/flows?destination='));
    t.is((await admin.get('/flows/ended?destination=x')).status, 422);
    // The gateway may remember a device that is in no list any more.
    const gone = '01900000-0000-7000-8000-0000000000d1';
    t.is((await admin.get(`/flows/ended?device=${gone}`)).status, 200);
    t.is((await admin.get(`/flows/ended?device=gone`)).status, 422);
    t.is((await admin.get(`/flows?device=${gone}`)).status, 422);
  });

  test(`${kind}: a refusal has its reason in words, its rule and its explanation`, async (t) => {
    let laptop = '';
    let rule = '';
    const live = fakeLive(GATEWAY, {
      refusals: async () => [
        refusalOf('key', { reason: 'rule_drop', rule }),
        refusalOf('key', { isSent: false, source: '10.0.0.7', destination: '100.64.0.2' }),
        refusalOf('key', { source: null, destination: null, protocol: null, port: null }),
      ],
      deviceIdOf: () => laptop,
    });
    const { admin, database, plainUser } = await openConsole(t, kind, {}, { live });
    laptop = (await addDevice(database, plainUser.id, { name: 'laptop' })).id;
    rule = (await addRule(database, { action: 'drop', destination: '10.0.0.6' })).id;
    const { text } = await admin.get('/refusals');
    t.regex(text, new RegExp(`/rules/${rule}">Drop 10.0.0.6</a>\\s*<small>A rule drops it.`));
    t.true(text.includes('No rule matches it, and the default action is to drop.'));
    const explain = '&amp;protocol=tcp&amp;port=22"';
    t.true(
      text.includes(
        `"/explain?device_id=${laptop}&amp;source=100.64.0.2&amp;destination=10.0.0.6${explain}`,
      ),
    );
    t.true(text.includes(`"/explain?source=10.0.0.7&amp;destination=100.64.0.2${explain}`));
    t.is(text.split('>Explain</span></a>').length, 3);
    t.true(text.includes('not readable'));
  });

  test(`${kind}: what devices sent by themselves is one line at the end, unless it is asked for`, async (t) => {
    const reason = 'inner_destination_reserved';
    let laptop = '';
    const live = fakeLive(GATEWAY, {
      refusals: async () => [
        refusalOf('key', { reason, destination: 'ff02::16', count: 1_200 }),
        refusalOf('key', { reason, destination: '224.0.0.251', count: 34 }),
        refusalOf('key', { destination: '10.0.0.6' }),
      ],
      deviceIdOf: () => laptop,
    });
    const { admin, database, plainUser } = await openConsole(t, kind, {}, { live });
    laptop = (await addDevice(database, plainUser.id, { name: 'laptop' })).id;
    const { text } = await admin.get('/refusals');
    const [listed = '', folded = ''] = text.split('<details class="past">');
    t.true(listed.includes('10.0.0.6'));
    t.false(listed.includes('ff02::16') || listed.includes('224.0.0.251'));
    t.true(folded.includes('1,234 packets that devices sent by themselves'));
    t.true(folded.includes('ff02::16') && folded.includes('224.0.0.251'));
    const { text: asked } = await admin.get(`/refusals?reason=${reason}`);
    t.true(asked.includes('ff02::16'));
    t.false(asked.includes('<details class="past">'));
  });

  test(`${kind}: what means nothing is said at its field, and text is never markup`, async (t) => {
    let laptop = '';
    const live = fakeLive(GATEWAY, {
      busiest: async () => [flowOf('key')],
      refusals: async () => [refusalOf('key')],
      deviceIdOf: () => laptop,
      publicKeyOf: () => 'key',
    });
    const { admin, database, plainUser, adminUser } = await openConsole(t, kind, {}, { live });
    laptop = (await addDevice(database, plainUser.id, { name: NASTY, ipv4: '100.64.9.1' })).id;
    for (const path of ['/flows', '/refusals', `/flows?${nasty('device')}`])
      checkText(t, await admin.get(path), path);
    await addDevice(database, adminUser.id, { name: NASTY, ipv4: '100.64.9.2' });
    const table: [path: string, said: string][] = [
      ['/flows?device=nobody', 'No device is called “nobody”'],
      [`/flows?${nasty('device')}`, 'Several devices have this name. Please give an address'],
      ['/flows?destination=x', 'Please write an address or a network'],
      [`/flows?${nasty('destination')}`, 'Please write an address or a network'],
      ['/flows?user=nobody@example.com', 'No user has the e-mail “nobody@example.com”'],
      [`/refusals?${nasty('user')}`, 'No user has the e-mail'],
      [`/refusals?user_id=${ABSENT}`, 'No user has the e-mail'],
      ['/refusals?reason=none', 'There is no such reason'],
      ['/flows?rule_id=abc', 'There is no rule with the id “abc”'],
      ['/flows/ended?rule_id=abc', 'There is no rule with the id “abc”'],
      [`/refusals?${nasty('reason')}`, 'There is no such reason'],
    ];
    for (const [path, said] of table) {
      const shown = await admin.get(path);
      t.is(shown.status, 422, path);
      t.true(shown.text.includes(said), `${path}: ${shown.text}`);
      checkText(t, shown, path);
    }
  });

  test(`${kind}: other pages lead there, and without a data plane there is nothing`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    const { id } = await addDevice(database, plainUser.id);
    const rule = await addRule(database, { action: 'drop', destination: '10.0.0.6' });
    const links: [page: string, ...hrefs: string[]][] = [
      [`/devices/${id}`, `/flows?device_id=${id}`, `/refusals?device_id=${id}`],
      [
        `/users/${plainUser.id}`,
        '/flows?user=user%40example.com',
        '/refusals?user=user%40example.com',
      ],
      [`/rules/${rule.id}`, `/flows?rule_id=${rule.id}`],
      ['/dashboard', '/flows', '/refusals'],
    ];
    for (const [page, ...hrefs] of links)
      for (const href of hrefs)
        t.true((await admin.get(page)).text.includes(`href="${href}"`), `${page}: ${href}`);
    for (const path of ['/flows', '/flows/ended', '/flows/live', '/refusals', '/refusals/live'])
      t.is((await admin.get(path)).status, 503);
  });
}

function nasty(name: string): string {
  return new URLSearchParams({ [name]: NASTY }).toString();
}
