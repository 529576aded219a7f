// Nobody overwrites unseen what somebody else changed while a form was open.

import test from 'ava';
import type { Section } from '../../../../lib/web/kit/form.ts';
import { CHANGED_MEANWHILE, changedMeanwhile, seenOf } from '../../../../lib/web/kit/seen.ts';
import { addDevice, addRule } from '../../../models/fixtures.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { openConsole } from '../../../support/web/console.ts';
import type { Visitor } from '../../../support/web/visitor.ts';

const form: readonly Section[] = [
  {
    fields: [
      { name: 'name', label: 'Name' },
      { name: 'key', label: 'Key', kind: 'secret' },
      { name: 'staged', label: 'Staged', kind: 'box' },
      { name: 'role', label: 'Role', kind: 'choice', choices: [['a', 'Administrator']] },
    ],
  },
];
const shown = { name: 'x', key: '', staged: 'false', role: 'a' };
const present = { name: '', key: '', staged: 'true', role: 'a' };

test('what differs is said by its field, secrets are not compared', (t) => {
  const payload = { seen: seenOf(shown) };
  const typed = { name: 'y', key: 'secret', staged: 'false', role: 'b' };
  t.deepEqual(changedMeanwhile({ payload }, { typed, present }, form), {
    base: [CHANGED_MEANWHILE],
    name: ['is empty now'],
    staged: ['is ticked now'],
    role: ['is “Administrator” now'],
  });
  t.is(changedMeanwhile({ payload }, { typed, present: shown }, form), null, 'nobody changed it');
  const same = { ...present, key: 'secret' };
  t.is(changedMeanwhile({ payload }, { typed: same, present }, form), null, 'it is as was typed');
  t.is(changedMeanwhile({ payload: {} }, { typed, present }, form), null, 'an older form');
});

const seenOn = (text: string): string => /name="seen" value="([\w-]+)"/.exec(text)?.[1] ?? '';

/** What a page answers where its record was changed after it was opened, and then when it is sent again. */
async function sendTwice(
  admin: Visitor,
  path: string,
  change: () => Promise<unknown>,
  fields: Record<string, string>,
): Promise<[conflict: string, status: number]> {
  const { text } = await admin.get(path);
  await change();
  // Whoever comes back from the question about ended flows learns it too.
  const back = await admin.post(path, { ...fields, seen: seenOn(text), effect: 'back' });
  if (back.status !== 422) throw new Error(`${path}, back: ${back.status}`);
  const first = await admin.post(path, { ...fields, seen: seenOn(text) });
  if (first.status !== 422) throw new Error(`${path}: ${first.status}`);
  const { status } = await admin.post(path, { ...fields, seen: seenOn(first.text) });
  return [first.text, status];
}

for (const kind of firstKind()) {
  test(`${kind}: a staged rule that was enforced meanwhile stays enforced`, async (t) => {
    const { admin, database, send } = await openConsole(t, kind);
    const rule = await addRule(database, { destination: '10.0.0.0/8', enforced: false });
    const body = { rule: { enforced: true } };
    const fields = { action: 'drop', destination: '10.0.0.0/8', enabled: 'true', staged: 'true' };
    const path = `/rules/${rule.id}`;
    const { text } = await admin.get(path);
    await send('PATCH', `/v0/rules/${rule.id}`, { body });
    const typed = { ...fields, description: 'a typo', seen: seenOn(text) };
    const refused = await admin.post(path, typed);
    t.is(refused.status, 422);
    t.true(refused.text.includes(CHANGED_MEANWHILE));
    t.true(refused.text.includes('is not ticked now'));
    t.true(refused.text.includes('a typo'), 'what was typed is kept');
    t.false(refused.text.includes('Save it anyway'), 'no policy test fails');
    t.true((await rule.reload()).enforced);
    const again = await admin.post(path, { ...typed, seen: seenOn(refused.text) });
    t.is(again.status, 303, 'whoever has seen it may overwrite it');
    t.false((await rule.reload()).enforced);
  });

  test(`${kind}: so it is with users, devices, groups, policy tests and settings`, async (t) => {
    const { admin, database, plainUser, send } = await openConsole(t, kind);
    const addresses = { ipv4: '100.64.0.2', ipv6: 'fd00::2' };
    const device = await addDevice(database, plainUser, { name: 'laptop', ...addresses });
    const group = { name: 'Sales' };
    const { id } = (await send('POST', '/v0/groups', { body: { group } })).body.data;
    const patch = (path: string, body: object) => () => send('PATCH', path, { body });
    const cases: [string, () => Promise<unknown>, Record<string, string>, string][] = [
      [
        `/users/${plainUser.id}/edit`,
        patch(`/v0/users/${plainUser.id}`, { user: { quota: 5_000_000 } }),
        { email: 'new@example.com', role: 'unprivileged' },
        'is “5 MB” now',
      ],
      [
        `/devices/${device.id}/edit`,
        patch(`/v0/devices/${device.id}`, { device: { name: 'phone' } }),
        {
          ...addresses,
          name: 'laptop',
          public_key: device.public_key,
        },
        'is “phone” now',
      ],
      [
        `/users/groups/${id}`,
        patch(`/v0/groups/${id}`, { group: { description: 'of theirs' } }),
        { name: 'Sales', description: 'of mine' },
        'is “of theirs” now',
      ],
      [
        '/settings/default_action',
        patch('/v0/configuration', { configuration: { default_action: 'drop' } }),
        { default_action: 'accept' },
        'is “dropped” now',
      ],
    ];
    const asked = { destination: '10.0.0.5', protocol: 'tcp', port: 443 };
    const policy_test = { ...asked, user_id: plainUser.id, name: 'the wiki', expect: 'accept' };
    const tested = (await send('POST', '/v0/policy_tests', { body: { policy_test } })).body.data;
    cases.push([
      `/rules/policy_tests/${tested.id}`,
      patch(`/v0/policy_tests/${tested.id}`, { policy_test: { port: 80 } }),
      { ...policy_test, user_id: 'new@example.com', device_id: '', port: '443' },
      'is “80” now',
    ]);
    for (const [path, change, fields, words] of cases) {
      const [conflict, status] = await sendTwice(admin, path, change, fields);
      t.true(conflict.includes(words), `${path}: ${words}`);
      t.is(status, 303, path);
    }
  });
}
