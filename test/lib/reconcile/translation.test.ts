// What all rows mean, kept up to date: a change makes pending what it touched alone. In random
// courses: ./translation-random.test.ts.

import test from 'ava';
import { GLOBAL_SCOPE } from '../../../dataplane/index.ts';
import { Translation } from '../../../lib/reconcile/translation.ts';
import { type DeviceRow, monthOf } from '../../../models/index.ts';
import {
  changesOf,
  deviceRow,
  everything,
  KEY,
  OTHER_KEY,
  rowSettings,
  ruleRow,
  settings,
  userRow,
} from '../../support/reconcile/rows.ts';

const NOW = Date.UTC(2026, 10, 20, 12);
const DAY = 86_400_000;

/** A translation that knows some rows, and has handed over what they mean. */
function knowing(rows: Parameters<typeof everything>[0], chosen = settings): Translation {
  const translation = new Translation(chosen);
  translation.take(everything(rows), NOW);
  translation.handOver();
  return translation;
}

const one = <Row extends { id: string }>(row: Row): Map<string, Row> => new Map([[row.id, row]]);

test('without a change nothing is pending', (t) => {
  t.is(new Translation(settings).pending(), null);
  const translation = knowing({});
  t.is(translation.pending(), null);
  translation.take(changesOf({}), NOW + 1);
  t.is(translation.pending(), null);
});

test('a device is known by its key while it is served', (t) => {
  const translation = knowing({ users: [userRow()], devices: [deviceRow()] });
  t.deepEqual(translation.servedDeviceOf(KEY), { id: 'd1', userId: 'u1', name: 'laptop' });
  t.is(translation.servedDeviceOf(OTHER_KEY), null);
  translation.take(changesOf({ devices: one(deviceRow({ name: 'desktop' })) }), NOW);
  t.is(translation.servedDeviceOf(KEY)?.name, 'desktop');
  translation.take(changesOf({ users: one(userRow({ disabled_at: new Date(NOW) })) }), NOW);
  t.is(translation.servedDeviceOf(KEY), null);
  t.is(translation.deviceIdOf(KEY), 'd1', 'for the last bytes under it');
  t.is(translation.lastDeviceIdOf(KEY), 'd1');
  t.is(translation.lastOwnerIdOf(KEY), 'u1', 'served or not');
});

test('why a device is not served any more has a name', (t) => {
  const past = new Date(NOW - DAY);
  const rows = { users: [userRow({ last_signed_in_at: past })], devices: [deviceRow()] };
  const why = (change: Parameters<typeof changesOf>[0]): string => {
    const translation = knowing(rows);
    translation.take(changesOf(change), NOW);
    t.is(translation.pending()?.peers.get(KEY), null);
    return translation.whyGone(KEY);
  };
  const device = (values: Partial<DeviceRow>) => ({ devices: one(deviceRow(values)) });
  t.is(why(device({ disabled_at: past })), 'switched_off');
  t.is(why(device({ disabled_at: past, expires_at: past })), 'switched_off');
  t.is(why(device({ expires_at: past })), 'expired');
  t.is(why(device({ public_key: OTHER_KEY })), 'key_replaced');
  t.is(why({ devices: new Map([['d1', null]]) }), 'deleted');
  t.is(why({ users: one(userRow({ disabled_at: past })) }), 'owner_disabled');
  t.is(why({ users: new Map([['u1', null]]) }), 'removed');
  t.is(why(device({ ipv4: null, ipv6: null })), 'removed', 'a row that cannot be obeyed');
  const lowered = { settings: rowSettings({ vpn_session_duration: 3_600 }) };
  t.is(why(lowered), 'session_ended', 'the duration was lowered');
  t.is(why({ ...lowered, ...device({ expires_at: past }) }), 'expired');
});

test('a device that was deleted is named for a while', (t) => {
  const translation = knowing({ users: [userRow()], devices: [deviceRow()] });
  translation.take(changesOf({ devices: new Map([['d1', null]]) }), NOW);
  t.is(translation.deviceIdOf(KEY), null);
  t.is(translation.lastDeviceIdOf(KEY), 'd1');
  t.is(translation.lastDeviceIdOf(OTHER_KEY), null);
  t.is(translation.lastOwnerIdOf(KEY), 'u1');
  t.is(translation.publicKeyOf('d1'), null);
  t.is(translation.lastPublicKeyOf('d1'), KEY);
  t.is(translation.lastPublicKeyOf('d2'), null);
});

test('a deleted device has no key that another one had later', (t) => {
  const translation = knowing({ users: [userRow()], devices: [deviceRow()] });
  translation.take(changesOf({ devices: new Map([['d1', null]]) }), NOW);
  const users = one(userRow({ id: 'u2' }));
  const second = deviceRow({ id: 'd2', user_id: 'u2' });
  translation.take(changesOf({ users, devices: one(second) }), NOW);
  t.is(translation.lastPublicKeyOf('d1'), null);
  t.is(translation.lastPublicKeyOf('d2'), KEY);
  t.is(translation.lastOwnerIdOf(KEY), 'u2');
  translation.take(changesOf({ devices: new Map([['d2', null]]) }), NOW);
  t.is(translation.lastPublicKeyOf('d1'), null);
  t.is(translation.lastPublicKeyOf('d2'), KEY);
  t.is(translation.lastOwnerIdOf(KEY), 'u2');
});

test('rules in force are known by what they do; a bad accept is none', (t) => {
  const rules = [
    ruleRow(),
    ruleRow({ id: 'r2', action: 'accept', user_id: 'u1' }),
    ruleRow({ id: 'r3', action: 'accept', destination: 'nowhere' }),
    ruleRow({ id: 'r4', action: 'drop', destination: 'nowhere' }),
    ruleRow({ id: 'r5', enforced: false }),
  ];
  const isStaged = false;
  t.deepEqual(
    [...knowing({ rules }).ruleActions()],
    [
      { id: 'r1', action: 'drop', isStaged },
      { id: 'r2', action: 'accept', isStaged },
      { id: 'r4', action: 'drop', isStaged },
      { id: 'r5', action: 'drop', isStaged: true },
    ],
  );
});

test('rows that are tried say what they would change of what is in force', (t) => {
  const rules = [ruleRow(), ruleRow({ id: 'r2', user_id: 'u1' })];
  const rows = { users: [userRow()], devices: [deviceRow()], rules };
  const translation = knowing(rows);
  const tried = (changes: Parameters<typeof changesOf>[0]) => {
    const {
      peers,
      rules: ofScopes,
      ...rest
    } = translation.tried(changesOf(changes), new Map(), NOW);
    return {
      peers: [...peers].map(([key, config]) => [key, config === null ? null : config.scope]),
      rules: [...ofScopes].map(([scope, ids]) => [
        scope,
        [...ids.keys()],
        [...ids.values()].flat().length,
      ]),
      ...rest,
    };
  };
  const nothing = { peers: [], rules: [] };
  const users = one(userRow());
  t.deepEqual(tried({}), nothing);
  t.deepEqual(tried({ devices: new Map([['d1', null]]) }), { ...nothing, peers: [[KEY, null]] });
  t.deepEqual(tried({ users, devices: one(deviceRow({ public_key: OTHER_KEY })) }), {
    ...nothing,
    peers: [
      [OTHER_KEY, 'u1'],
      [KEY, null],
    ],
  });
  const disabled = one(userRow({ disabled_at: new Date(NOW) }));
  t.deepEqual(tried({ users: disabled, devices: one(deviceRow()) }), {
    ...nothing,
    peers: [[KEY, null]],
  });
  t.deepEqual(tried({ rules: new Map([['r1', null]]) }), {
    ...nothing,
    rules: [[GLOBAL_SCOPE, ['r1'], 0]],
  });
  t.deepEqual(tried({ rules: one(ruleRow({ user_id: 'u1' })) }), {
    ...nothing,
    rules: [
      ['u1', ['r1'], 1],
      [GLOBAL_SCOPE, ['r1'], 0],
    ],
  });
  t.deepEqual(tried({ rules: one(ruleRow({ id: 'new' })) }).rules, [[GLOBAL_SCOPE, ['new'], 1]]);
  const inRows = rowSettings({ default_action: 'drop' });
  t.deepEqual(tried({ settings: inRows }), { ...nothing, defaultAction: 'drop' });
  t.is(translation.pending(), null, 'nothing has changed');
  const seen = new Date(NOW - DAY);
  translation.take(changesOf({ users: one(userRow({ last_signed_in_at: seen })) }), NOW);
  translation.handOver();
  const short = { ...inRows, default_action: 'accept' as const, vpn_session_duration: 3_600 };
  t.deepEqual(tried({ settings: short }), { ...nothing, peers: [[KEY, null]] });
  t.deepEqual(tried({ settings: { ...short, vpn_session_duration: 2 * 86_400 } }), nothing);
});

test('a quota that is tried is held against what was carried', (t) => {
  const rows = { users: [userRow()], devices: [deviceRow()], rules: [] };
  const translation = knowing(rows);
  const tried = (quota: number | null, used: number) => {
    const changes = changesOf({ users: one(userRow({ quota })), devices: one(deviceRow()) });
    const { peers } = translation.tried(changes, new Map([['u1', used]]), NOW);
    return peers.get(KEY)?.isOverQuota ?? false;
  };
  t.true(tried(1e6, 1e6));
  t.false(tried(1e6, 1e6 - 1));
  t.false(tried(null, 1e6));
  const byDefault = (default_quota: number | null, used: number) => {
    const changes = changesOf({ settings: rowSettings({ default_quota }) });
    const { peers } = translation.tried(changes, new Map([['u1', used]]), NOW);
    return [...peers].map(([key, config]) => [key, config?.isOverQuota]);
  };
  t.deepEqual(byDefault(1e6, 1e6), [[KEY, true]]);
  t.deepEqual(byDefault(1e6, 1), []);
  t.deepEqual(byDefault(null, 1e6), []);
  t.is(translation.pending(), null, 'nothing has changed');
});

test('what was not handed over stays pending', (t) => {
  const translation = knowing({});
  translation.take(changesOf({ devices: new Map([['d1', null]]) }), NOW);
  t.deepEqual([...translation.pending()!.peers], [[KEY, null]]);
  translation.take(changesOf({ rules: one(ruleRow()) }), NOW);
  const { peers, rules } = translation.pending()!;
  t.deepEqual([...peers], [[KEY, null]]);
  t.deepEqual([...rules.get(GLOBAL_SCOPE)!.keys()], ['r1']);
  translation.handOver();
  t.is(translation.pending(), null);
});

test('a device that changes is pending by its key, and by the one that it had', (t) => {
  const other = deviceRow({ id: 'd2', public_key: OTHER_KEY });
  const third = Buffer.alloc(32, 3).toString('base64');
  const translation = knowing({ devices: [deviceRow(), other] });
  translation.take(changesOf({ devices: one(deviceRow({ public_key: third })) }), NOW);
  t.deepEqual([...translation.pending()!.peers.keys()].sort(), [KEY, third].sort());
  t.is(translation.pending()!.peers.get(KEY), null);
  t.is(translation.deviceIdOf(KEY), 'd1', 'for the last bytes under it');
  t.is(translation.deviceIdOf(third), 'd1');
});

test('two devices may exchange their keys in one change', (t) => {
  const a = deviceRow({ id: 'a', public_key: KEY, ipv4: '100.64.0.2' });
  const b = deviceRow({ id: 'b', public_key: OTHER_KEY, ipv4: '100.64.0.3' });
  const translation = knowing({ devices: [a, b] });
  const devices = new Map([
    ['a', { ...a, public_key: OTHER_KEY }],
    ['b', { ...b, public_key: KEY }],
  ]);
  translation.take(changesOf({ devices }), NOW);
  const { peers } = translation.pending()!;
  t.deepEqual(peers.get(KEY)?.ipv4, new Uint8Array([100, 64, 0, 3]));
  t.deepEqual(peers.get(OTHER_KEY)?.ipv4, new Uint8Array([100, 64, 0, 2]));
  t.is(translation.deviceIdOf(KEY), 'b');
});

const MOST = 2;

/** Three devices of one user, in the order in which they came. */
function threeDevices(): DeviceRow[] {
  return [1, 2, 3].map((n) =>
    deviceRow({
      id: `d${n}`,
      public_key: Buffer.alloc(32, n).toString('base64'),
      ipv4: `100.64.0.${n + 1}`,
      ipv6: `fd00::${n + 1}`,
    }),
  );
}

test('a device for which there is no place is a problem, is not served, and has the next place', (t) => {
  const devices = threeDevices();
  const [, second, third] = devices.map((row) => row.public_key);
  const translation = new Translation(settings, MOST);
  translation.take(everything({ users: [userRow()], devices }), NOW);
  t.is(translation.pending()?.peers.get(third!), null);
  translation.handOver();
  t.is(translation.deviceCount, 3);
  t.is(translation.servedDeviceOf(third!), null);
  t.deepEqual(
    translation.problems.map(({ table, id }) => [table, id]),
    [['devices', 'd3']],
  );
  t.regex(translation.problems[0]!.message, /2 devices are served already.*remove or disable/);

  const disabled_at = new Date(NOW);
  translation.take(changesOf({ devices: one({ ...devices[1]!, disabled_at }) }), NOW);
  // Whoever asks twice gets the same.
  for (let i = 0; i < 2; i++) {
    const { peers } = translation.pending()!;
    t.is(peers.get(second!), null);
    t.deepEqual(peers.get(third!)?.ipv4, new Uint8Array([100, 64, 0, 4]));
  }
  translation.handOver();
  t.deepEqual(translation.problems, []);
  t.is(translation.servedDeviceOf(third!)?.id, 'd3');
});

test('a device that waits for a place and goes has none', (t) => {
  const devices = threeDevices();
  const translation = new Translation(settings, MOST);
  translation.take(everything({ users: [userRow()], devices }), NOW);
  translation.pending();
  translation.handOver();
  translation.take(changesOf({ devices: new Map([['d3', null]]) }), NOW);
  translation.pending();
  translation.handOver();
  translation.take(changesOf({ devices: new Map([['d1', null]]) }), NOW);
  t.deepEqual([...translation.pending()!.peers], [[devices[0]!.public_key, null]]);
  t.deepEqual(translation.problems, []);
});

test('a rule that moves to another owner leaves the one that it had', (t) => {
  const translation = knowing({ rules: [ruleRow()] });
  translation.take(changesOf({ rules: one(ruleRow({ user_id: 'u1' })) }), NOW);
  const { rules } = translation.pending()!;
  t.deepEqual(rules.get(GLOBAL_SCOPE)?.get('r1'), []);
  t.is(rules.get('u1')?.get('r1')?.length, 1);
});

test('a session that ends, and one that has not after all, are pending by time alone', (t) => {
  const users = [userRow({ last_signed_in_at: new Date(NOW) })];
  const translation = knowing({ users, vpnSessionDuration: 60 });
  t.is(translation.nextChangeAtMs, NOW + 60_000);
  translation.passTo(NOW + 59_999);
  t.is(translation.pending(), null);
  translation.passTo(NOW + 60_000);
  t.deepEqual([...translation.pending()!.peers], [[KEY, null]]);
  t.is(translation.nextChangeAtMs, Number.POSITIVE_INFINITY);
  translation.handOver();
  translation.passTo(NOW + 30_000);
  t.not(translation.pending()!.peers.get(KEY), null, 'the clock was set back');
  t.is(translation.nextChangeAtMs, NOW + 60_000);
});

test('a sign-in of a clock far ahead is no session, until the clock is as far', (t) => {
  const signedInMs = NOW + 730 * 86_400_000;
  const users = [userRow({ last_signed_in_at: new Date(signedInMs) })];
  const translation = knowing({ users, vpnSessionDuration: 60 });
  t.is(translation.pending(), null);
  t.is(translation.nextChangeAtMs, signedInMs - 60_000);
  translation.passTo(signedInMs);
  t.not(translation.pending()!.peers.get(KEY), null, 'the clock was behind');
  translation.handOver();
  translation.passTo(NOW);
  t.deepEqual([...translation.pending()!.peers], [[KEY, null]], 'it came back');
  t.is(translation.nextChangeAtMs, signedInMs - 60_000);
});

test('a device ends on its date, and one that is switched off at once', (t) => {
  const ending = deviceRow({ expires_at: new Date(NOW + 60_000) });
  const translation = knowing({ devices: [ending] });
  t.is(translation.nextChangeAtMs, NOW + 60_000);
  translation.passTo(NOW + 59_999);
  t.is(translation.pending(), null);
  translation.passTo(NOW + 60_000);
  t.deepEqual([...translation.pending()!.peers], [[KEY, null]]);
  t.is(translation.nextChangeAtMs, Number.POSITIVE_INFINITY);
  translation.handOver();
  translation.passTo(NOW + 30_000);
  t.not(translation.pending()!.peers.get(KEY), null, 'the clock was set back');
  translation.take(changesOf({ devices: one(deviceRow({ disabled_at: new Date(NOW) })) }), NOW);
  t.deepEqual([...translation.pending()!.peers], [[KEY, null]]);
  translation.take(changesOf({ devices: one(deviceRow()) }), NOW);
  t.not(translation.pending()!.peers.get(KEY), null, 'switched on again');
});

test('a rule that is switched off is in force no more, and no problem', (t) => {
  const translation = knowing({ rules: [ruleRow({ destination: 'nowhere' })] });
  t.is(translation.problems.length, 1);
  const off = ruleRow({ destination: 'nowhere', enabled: false });
  translation.take(changesOf({ rules: new Map([[off.id, off]]) }), NOW);
  t.deepEqual([...translation.pending()!.rules.get('')!], [[off.id, []]]);
  t.deepEqual([...translation.ruleActions()], []);
  t.deepEqual(translation.problems, []);
});

test('a device that is switched off is no problem', (t) => {
  const bad = { preshared_key: null };
  const off = deviceRow({ ...bad, disabled_at: new Date(NOW) });
  t.deepEqual(knowing({ devices: [off] }).problems, []);
  const over = deviceRow({ ...bad, expires_at: new Date(NOW - 1) });
  t.deepEqual(knowing({ devices: [over] }).problems, []);
});

test('another default MTU makes the devices pending that use it, and no others', (t) => {
  const own = deviceRow({ use_default_mtu: false, mtu: 1_400 });
  const shared = deviceRow({ id: 'd2', public_key: OTHER_KEY });
  const translation = knowing({ devices: [own, shared] });
  translation.take(changesOf({ settings: rowSettings({ default_client_mtu: 1_300 }) }), NOW);
  t.deepEqual([...translation.pending()!.peers.keys()], [OTHER_KEY]);
  t.is(translation.pending()!.peers.get(OTHER_KEY)?.mtu, 1_300);
});

test('another limit makes the devices pending that it may concern, and no others', (t) => {
  const devices = [deviceRow(), deviceRow({ id: 'd2', user_id: 'u2', public_key: OTHER_KEY })];
  const users = [userRow(), userRow({ id: 'u2' })];
  const translation = knowing({ users, devices });
  const limitsOf = (): unknown =>
    [...(translation.pending()?.peers ?? [])]
      .map(([key, peer]) => [key === KEY ? 1 : 2, peer?.limitDown ?? null, peer?.limitUp ?? null])
      .toSorted(([a], [b]) => Number(a) - Number(b));
  const take = (changes: Parameters<typeof changesOf>[0]): unknown => {
    translation.take(changesOf(changes), NOW);
    const pending = limitsOf();
    translation.handOver();
    return pending;
  };
  t.deepEqual(take({ users: one(userRow({ limit_down: 64_000 })) }), [[1, 64_000, null]]);
  t.deepEqual(take({ users: one(userRow({ limit_down: 64_000, email: 'b@c.test' })) }), []);
  t.deepEqual(take({ settings: rowSettings({ default_limit_down: 1e6, default_limit_up: 2e6 }) }), [
    [1, 64_000, 2e6],
    [2, 1e6, 2e6],
  ]);
  t.deepEqual(take({ devices: one(deviceRow({ limit_up: 3e6 })) }), [[1, 64_000, 3e6]]);
  t.deepEqual(take({ settings: rowSettings() }), [
    [1, 64_000, 3e6],
    [2, null, null],
  ]);
});

test('the devices of a user are over the quota by what was read, until the month ends', (t) => {
  const devices = [deviceRow(), deviceRow({ id: 'd2', user_id: 'u2', public_key: OTHER_KEY })];
  const users = [userRow({ quota: 1e6 }), userRow({ id: 'u2' })];
  const translation = knowing({ users, devices });
  const month = monthOf(NOW);
  const taken = (): [boolean, string][] => {
    const peers = [...(translation.pending()?.peers.values() ?? [])];
    translation.handOver();
    return peers.map((peer) => [peer?.isOverQuota === true, peer!.scope]);
  };
  t.deepEqual(translation.quotas.unread, ['u1']);
  translation.hearUsage(month, ['u1'], new Map([['u1', 1e6 - 1]]));
  t.deepEqual(taken(), []);
  translation.hearUsage(month, ['u1'], new Map([['u1', 1e6]]));
  t.deepEqual(taken(), [[true, 'u1']]);
  translation.take(changesOf({ settings: rowSettings({ default_quota: 2e6 }) }), NOW);
  translation.hearUsage(month, ['u2'], new Map([['u2', 2e6]]));
  t.deepEqual(taken(), [[true, 'u2']]);
  translation.take(changesOf({ users: one(userRow({ quota: 2e6 })) }), NOW);
  t.deepEqual(taken(), [[false, 'u1']]);
  translation.take(changesOf({}), NOW + 32 * DAY);
  t.deepEqual(taken(), [[false, 'u2']]);
  t.is(translation.quotas.overCount, 0);
});

test('another default action is pending alone, once, and again where it did not arrive', (t) => {
  const translation = knowing({});
  const row = rowSettings({ default_action: 'drop' });
  translation.take(changesOf({ settings: row }), NOW);
  const pending = { peers: new Map(), rules: new Map(), defaultAction: 'drop' } as const;
  t.deepEqual(translation.pending(), pending);
  translation.handOver();
  t.is(translation.pending(), null);
  translation.take(changesOf({ settings: row }), NOW);
  t.is(translation.pending(), null);
  translation.takeBack(pending);
  t.deepEqual(translation.pending(), pending);
});

test('what the environment says of the default action takes the place of the row', (t) => {
  const translation = new Translation({ ...settings, fixed: { default_action: 'drop' } });
  translation.take(everything({ defaultAction: 'accept' }), NOW);
  t.is(translation.pending()?.defaultAction, 'drop');
});

test('the environment says the default quota, also that there is none', (t) => {
  for (const [fixed, overCount] of [
    [100, 1],
    [null, 0],
  ] as const) {
    const translation = new Translation({ ...settings, fixed: { default_quota: fixed } });
    translation.take(everything({}), NOW);
    const inRow = rowSettings({ default_quota: fixed === null ? 100 : null });
    translation.take(changesOf({ settings: inRow }), NOW);
    translation.hearUsage(monthOf(NOW), ['u1'], new Map([['u1', 100]]));
    t.is(translation.quotas.overCount, overCount, String(fixed));
  }
});

test('a problem goes when its row is repaired', (t) => {
  const translation = knowing({ devices: [deviceRow({ preshared_key: null })] });
  t.is(translation.problems.length, 1);
  translation.take(changesOf({ devices: one(deviceRow()) }), NOW);
  t.deepEqual(translation.problems, []);
});

test('of the keys that were replaced only the latest are remembered', (t) => {
  const translation = knowing({});
  const keyOf = (i: number): string => Buffer.alloc(32, `key ${i} `).toString('base64');
  for (let i = 0; i < 1_010; i++)
    translation.take(changesOf({ devices: one(deviceRow({ public_key: keyOf(i) })) }), NOW);
  t.is(translation.deviceIdOf(KEY), null);
  t.is(translation.deviceIdOf(keyOf(5)), null);
  t.is(translation.deviceIdOf(keyOf(500)), 'd1');
});
