// The answer about who may reach an address. What the rules decide: who.test.ts.

import test from 'ava';
import type { DevicePlace, UserRow } from '../../../../models/index.ts';
import { reasonForAll, showReaching } from '../../../../lib/observe/explain/who-fields.ts';

const asked = { destination: '100.64.9.200', protocol: null, port: null };

test('nobody reaches an address of the tunnel that no device has, whatever the rules say', (t) => {
  const nobodys = { isNobodys: true, receiver: null, people: [] };
  t.is(reasonForAll(nobodys), 'no_peer');
  t.deepEqual(showReaching(asked, nobodys), {
    destination: '100.64.9.200',
    receiver_id: null,
    reason: 'no_peer',
    people: [],
    people_left_out: 0,
    other_people_count: 0,
  });
  t.is(reasonForAll({ ...nobodys, isNobodys: false }), null);
});

test('the first 1,000 people are listed, and all are counted', (t) => {
  const accepted = [{ protocol: 'icmp', first: 0, last: 0, reason: 'none', rule: null } as const];
  const reach = {
    accepted,
    leftOut: 0,
    isEverything: false,
    first: accepted[0]!,
    onlyReason: 'none',
  } as const;
  const people = Array.from({ length: 1_005 }, (_, i) => ({
    user: { id: `user ${i}`, email: `${i}@example.com`, name: null } as UserRow,
    devices: i < 1_003 ? [{ id: `device ${i}`, name: 'laptop' } as DevicePlace] : [],
    otherDevices: 0,
    reach,
  }));
  const shown = showReaching(asked, { isNobodys: false, receiver: null, people });
  t.is(shown.people.length, 1_000);
  t.is(shown.people.at(-1)?.email, '999@example.com');
  t.like(shown, { people_left_out: 3, other_people_count: 2 });
});
