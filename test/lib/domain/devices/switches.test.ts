// The switches of a device: what is written, and what the columns come to.

import test from 'ava';
import {
  isHeld,
  ownSwitchValues,
  switchState,
  switchValues,
} from '../../../../lib/domain/devices/switches.ts';
import { readAuditEntries } from '../../../../models/index.ts';
import { newKey, openServer, refused, surfaces } from '../../../support/api/server.ts';

const NOW = new Date('2026-11-21T08:00:00Z');

test('what is left out stays, and switching off again keeps the time of the first', (t) => {
  t.deepEqual(switchValues({ disabled_at: null }, {}), {});
  const disabled_by = 'administrator';
  const off = { disabled_at: NOW, disabled_by };
  t.deepEqual(switchValues({ disabled_at: null }, { isOn: false }, NOW), off);
  const before = new Date(0);
  const still = { disabled_at: before, disabled_by };
  t.deepEqual(switchValues({ disabled_at: before }, { isOn: false }, NOW), still);
  t.deepEqual(switchValues({ disabled_at: before }, { isOn: true, expiresAt: NOW }), {
    disabled_at: null,
    disabled_by: null,
    expires_at: NOW,
  });
});

test('an owner switches on what an owner switched off, and nothing else', (t) => {
  const on = { disabled_at: null, disabled_by: null };
  const byOwner = { disabled_at: NOW, disabled_by: 'owner' } as const;
  const byOthers = { disabled_at: NOW, disabled_by: 'administrator' } as const;
  const byNobodyKnown = { disabled_at: NOW, disabled_by: null };
  t.deepEqual(ownSwitchValues(on, false, NOW), byOwner);
  t.deepEqual(ownSwitchValues(on, true), on);
  t.deepEqual(ownSwitchValues(byOwner, true), on);
  t.deepEqual(ownSwitchValues(byOwner, false, new Date()), byOwner, 'off since the first time');
  for (const off of [byOthers, byNobodyKnown]) {
    t.is(ownSwitchValues(off, true), null);
    t.deepEqual(ownSwitchValues(off, false, new Date()), off, 'it stays theirs');
  }
});

test('off goes before ended, and a device ends when its time comes', (t) => {
  const at = (ms: number) => switchState({ disabled_at: null, expires_at: NOW }, ms);
  t.is(at(NOW.getTime() - 1), 'on');
  t.is(at(NOW.getTime()), 'ended');
  t.is(switchState({ disabled_at: NOW, expires_at: NOW }, NOW.getTime()), 'off');
  t.is(switchState({ disabled_at: null, expires_at: null }, NOW.getTime()), 'on');
});

test('a device is held where anybody but its owner switched it off, or its time is over', (t) => {
  const on = { disabled_at: null, disabled_by: null, expires_at: null };
  const now = NOW.getTime();
  t.false(isHeld(on, now));
  t.false(isHeld({ ...on, disabled_at: NOW, disabled_by: 'owner' }, now));
  t.true(isHeld({ ...on, disabled_at: NOW, disabled_by: 'administrator' }, now));
  t.true(isHeld({ ...on, disabled_at: NOW }, now), 'nobody knows who did it');
  t.false(isHeld({ ...on, expires_at: NOW }, now - 1));
  t.true(isHeld({ ...on, expires_at: NOW }, now));
  t.true(isHeld({ disabled_at: NOW, disabled_by: 'owner', expires_at: NOW }, now));
});

for (const kind of surfaces())
  test(`${kind}: the API switches a device off and on, and ends it`, async (t) => {
    const { send, adminId, database } = await openServer(t, kind);
    const fields = { user_id: adminId, public_key: newKey() };
    const make = (more: object) =>
      send('POST', '/v0/devices', { body: { device: { ...fields, ...more } } });
    const off = await make({ enabled: false, ends_at: '2026-12-31T17:00:00+01:00' });
    t.is(off.status, 201, off.text);
    t.like(off.body.data, {
      enabled: false,
      disabled_by: 'administrator',
      ends_at: '2026-12-31T16:00:00.000000Z',
    });
    const { id } = off.body.data;
    const change = (device: object) => send('PATCH', `/v0/devices/${id}`, { body: { device } });
    const since = (await database.models.Device.findByPk(id))?.disabled_at;
    t.like((await change({ enabled: 'false', name: 'x' })).body.data, { enabled: false });
    t.deepEqual((await database.models.Device.findByPk(id))?.disabled_at, since);
    const kept = { enabled: true, disabled_by: null, ends_at: '2026-12-31T16:00:00.000000Z' };
    t.like((await change({ enabled: true })).body.data, kept);
    t.like((await change({ name: 'y' })).body.data, kept);
    t.like((await change({ ends_at: null })).body.data, { enabled: true, ends_at: null });
    t.like((await send('GET', `/v0/devices/${id}`)).body.data, { enabled: true, ends_at: null });
    const entries = await readAuditEntries(database, { limit: 3 });
    t.deepEqual(
      entries.map(({ changes }) => Object.keys(changes)),
      [['disabled_at', 'disabled_by'], ['name'], ['expires_at']],
    );
    const bad: [fields: object, errors: object][] = [
      [{ enabled: null }, { enabled: ["can't be blank"] }],
      [{ enabled: 'no' }, { enabled: ['is invalid'] }],
      [{ ends_at: '2026-12-31' }, { ends_at: ['is not a time such as 2026-11-25T10:00:00Z'] }],
      [{ ends_at: 5 }, { ends_at: ['is invalid'] }],
    ];
    for (const [sent, errors] of bad)
      t.deepEqual((await change(sent)).body, refused(errors), JSON.stringify(sent));
  });
