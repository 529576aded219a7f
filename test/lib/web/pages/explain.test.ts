// The page “Would it pass?”: who may ask, how ends are named, and what is shown of the answer.

import test from 'ava';
import type { Explanation, Question } from '../../../../dataplane/index.ts';
import { addRule } from '../../../models/fixtures.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { addDevice } from '../../../support/database/records.ts';
import { fakeExplaining, passing } from '../../../support/observe/fake-gateway.ts';
import { checkGuard, checkText, NASTY, openConsole } from '../../../support/web/console.ts';

/** The path of a question. */
function ask(query: Record<string, string>): string {
  return `/explain?${new URLSearchParams(query).toString()}`;
}

for (const kind of firstKind()) {
  test(`${kind}: only administrators may ask`, async (t) => {
    const explaining = fakeExplaining();
    const console = await openConsole(t, kind, {}, { explaining });
    const device = await addDevice(console.database, console.plainUser.id);
    const path = ask({ device_id: device.id, destination: '192.0.2.1', protocol: 'icmp' });
    await checkGuard(t, console, { pages: ['/explain', path, '/explain/devices?q=a'] });
  });

  test(`${kind}: fields that name a device offer devices with their owners, as text`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    await addDevice(database, plainUser.id, { name: NASTY, ipv4: '100.64.9.9' });
    const asked = `/explain/devices?${new URLSearchParams({ q: plainUser.email }).toString()}`;
    const { offers } = JSON.parse((await admin.get(asked)).text);
    t.deepEqual(offers, [
      { value: '100.64.9.9', label: `${NASTY} · ${plainUser.email} · 100.64.9.9` },
    ]);
    for (const path of ['/explain', '/explain/who', '/rules/policy_tests/new']) {
      const { text } = await admin.get(path);
      t.true(text.includes('data-combobox="/explain/devices"'), path);
      t.regex(text, /\/combobox\.js"/, path);
    }
  });

  test(`${kind}: a device is named by name, address or id, and a host by its address`, async (t) => {
    const asked: Question[] = [];
    const explaining = fakeExplaining(async (question: Question) => {
      asked.push(question);
      return passing;
    });
    const { admin, database, plainUser } = await openConsole(t, kind, {}, { explaining });
    const fields = { name: 'laptop', ipv4: '100.64.9.9', ipv6: 'fd00::9:9' };
    const device = await addDevice(database, plainUser.id, fields);
    const rest = { destination: '192.0.2.1', protocol: 'tcp', port: '443' };
    for (const query of [
      { from: 'laptop' },
      { from: '100.64.9.9' },
      { from: device.id },
      { device_id: device.id },
    ]) {
      const { status, text } = await admin.get(ask({ ...query, ...rest }));
      t.is(status, 200, JSON.stringify(query));
      t.true(text.includes('It passes'), JSON.stringify(query));
      t.is(asked.pop()?.from, device.public_key);
    }
    const sized = { from: 'laptop', destination: '192.0.2.1', protocol: 'udp', port: '53' };
    const { text: shown } = await admin.get(ask({ ...sized, size: '1400' }));
    t.is(asked.pop()?.packet.length, 1_400);
    t.regex(shown, /name="size"[^>]*value="1400"|value="1400"[^>]*name="size"/);
    const small = await admin.get(ask({ ...sized, size: '27' }));
    t.is(small.status, 422);
    t.true(small.text.includes('must be at least 28'));
    for (const query of [{ from: 'laptop' }, { device_id: device.id }]) {
      const { status, text } = await admin.get(ask({ ...query, ...rest, source: '192.168.7.4' }));
      t.is(status, 200);
      t.regex(text, /<dt>From<\/dt><dd class="mono">192\.168\.7\.4</);
      t.regex(
        text,
        /name="source"[^>]*value="192\.168\.7\.4"|value="192\.168\.7\.4"[^>]*name="source"/,
      );
      t.is(asked.pop()?.from, device.public_key);
    }
    const own = await admin.get(ask({ device_id: device.id, ...rest, source: '100.64.9.9' }));
    t.is(own.text.split('value="100.64.9.9"').length, 2, 'its own address is not said twice');
    asked.length = 0;
    for (const query of [{ from: '192.0.2.7' }, { source: '192.0.2.7' }])
      for (const destination of ['laptop', device.id, '100.64.9.9']) {
        const { status } = await admin.get(ask({ ...query, ...rest, destination }));
        t.is(status, 200, destination);
        t.is(asked.pop()?.from, null);
      }
  });

  test(`${kind}: a link of another page fills the form, and asks once it is whole`, async (t) => {
    const explaining = fakeExplaining();
    const { admin, database, plainUser } = await openConsole(t, kind, {}, { explaining });
    const device = await addDevice(database, plainUser.id, { ipv4: '100.64.9.9' });
    const rule = await addRule(database, {
      action: 'accept',
      destination: '10.0.0.0/8',
      port_type: 'udp',
      port_start: 53,
      port_end: 60,
    });
    const deviceLink = `/explain?device_id=${device.id}`;
    t.true((await admin.get(`/devices/${device.id}`)).text.includes(`"${deviceLink}"`));
    const half = await admin.get(deviceLink);
    t.true(half.text.includes('value="100.64.9.9"'));
    t.false(half.text.includes('All gates'));
    const ruleLink = '/explain?destination=10.0.0.0&amp;protocol=udp&amp;port=53';
    t.true((await admin.get(`/rules/${rule.id}`)).text.includes(`"${ruleLink}"`));
    t.true((await admin.get('/rules')).text.includes('"/explain"'));
  });

  test(`${kind}: the rule that decides and those in its shadow are linked`, async (t) => {
    let found: Explanation | null = null;
    const explaining = fakeExplaining(async () => found);
    const { admin, database, plainUser } = await openConsole(t, kind, {}, { explaining });
    const device = await addDevice(database, plainUser.id, { name: 'laptop' });
    const decider = await addRule(database, { action: 'drop', destination: '10.0.0.1/32' });
    const other = await addRule(database, { action: 'accept', destination: '10.0.0.0/8' });
    found = {
      ...passing,
      reason: 'rule_drop',
      decision: { ...passing.decision!, by: 'rule', rule: decider.id },
    };
    const query = { from: 'laptop', destination: '10.0.0.1', protocol: 'icmp' };
    const { text } = await admin.get(ask(query));
    t.true(text.includes('It does not pass'));
    t.regex(
      text,
      new RegExp(`It does not pass: <a href="/rules/${decider.id}">Drop 10.0.0.1/32</a>`),
    );
    t.regex(text, new RegExp(`href="/rules/${decider.id}">Change the rule<`));
    t.true(
      text.includes(`/rules/new?device_id=${device.id}&amp;destination=10.0.0.1&amp;protocol=icmp`),
    );
    t.regex(text, new RegExp(`Other rules that match[^]*/rules/${other.id}">Accept 10.0.0.0/8`));
    t.true(text.includes(`href="/devices/${device.id}"`));
    t.regex(text, /Refused/);
    t.true(text.includes('does not come to the other gates: 4.'));
  });

  test(`${kind}: a packet that has to wait is shown as such`, async (t) => {
    const explaining = fakeExplaining(async () => ({ ...passing, waitsFor: ['receiver'] }));
    const { admin, database, plainUser } = await openConsole(t, kind, {}, { explaining });
    await addDevice(database, plainUser.id, { name: 'laptop' });
    const query = { from: 'laptop', destination: '10.0.0.1', protocol: 'icmp' };
    const { text } = await admin.get(ask(query));
    t.regex(text, /verdict warning[^]*<h2 id="answer">It has to wait\. /);
    t.false(text.includes('Accept this'));
    t.regex(text, /badge warning">Waits<\/span> <span>The device that it is for has no session/);
  });

  test(`${kind}: what means nothing is said at its field, and text is never markup`, async (t) => {
    const { admin, database, plainUser, adminUser } = await openConsole(t, kind);
    await addDevice(database, plainUser.id, { name: NASTY, ipv4: '100.64.9.1', ipv6: null });
    await addDevice(database, adminUser.id, { name: NASTY, ipv4: '100.64.9.2', ipv6: null });
    const good = { from: '100.64.9.1', destination: '192.0.2.1', protocol: 'tcp', port: '22' };
    const table: [changes: Record<string, string>, said: string][] = [
      [{ from: 'nobody' }, 'No device is called “nobody”'],
      [{ from: NASTY }, `Please give an address: 100.64.9.1 (${plainUser.email})`],
      [{ from: NASTY.slice(1) }, 'No device is called “'],
      [{ destination: NASTY.slice(1) }, 'No device is called “'],
      [{ from: '192.0.2.9' }, 'address of no device, and the sender is no device either'],
      [{ destination: '2001:db8::1' }, 'another address family'],
      [{ source: '2001:db8::1' }, 'another address family'],
      [{ source: NASTY }, 'field-source-error'],
      [{ from: '192.0.2.9', source: '192.0.2.8' }, 'Only a device has hosts behind it'],
      [{ port: '' }, 'field-port-error'],
      [{ protocol: 'icmp' }, 'This protocol has no ports. Please leave this empty'],
      [{ port: NASTY }, 'field-port-error'],
      [{ protocol: NASTY }, 'field-protocol-error'],
      [{ protocol: '47' }, '<option value="47" selected>IP protocol 47</option>'],
      [{ protocol: '256', port: '' }, 'field-protocol-error'],
    ];
    for (const [changes, said] of table) {
      const shown = await admin.get(ask({ ...good, ...changes }));
      t.is(shown.status, 422, JSON.stringify(changes));
      t.true(shown.text.includes(said), `${JSON.stringify(changes)} ${shown.text}`);
      checkText(t, shown, JSON.stringify(changes));
    }
    t.is((await admin.get(ask(good))).status, 503, 'no data plane');
    t.is((await admin.get(ask({ ...good, protocol: '47', port: '' }))).status, 503);
  });
}
