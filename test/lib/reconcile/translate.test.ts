// What rows mean: who is served, under which rules, until when; and what a bad row does.

import test from 'ava';
import { parseAddress } from '../../../dataplane/index.ts';
import { translate, type TranslateSettings } from '../../../lib/reconcile/translate.ts';
import type { Rows } from '../../../lib/reconcile/read.ts';
import type { DeviceRow, RuleRow, UserRow } from '../../../models/index.ts';

const NOW = Date.UTC(2026, 10, 20, 12);
const KEY = Buffer.alloc(32, 1).toString('base64');
const OTHER_KEY = Buffer.alloc(32, 2).toString('base64');

const settings: TranslateSettings = {
  ipv4: network('100.64.0.0', 10, '100.64.0.1'),
  ipv6: network('fd00::', 106, 'fd00::1'),
  requireSignIn: false,
  gatewayId: 'g1',
};

function network(base: string, prefixBits: number, address: string): TranslateSettings['ipv4'] {
  return { network: parseAddress(base)!, prefixBits, address: parseAddress(address)! };
}

function user(fields: Partial<UserRow> = {}): UserRow {
  return {
    id: 'u1',
    email: 'a@b.test',
    role: 'unprivileged',
    disabled_at: null,
    disabled_by: null,
    disabled_provider: null,
    last_signed_in_at: null,
    last_signed_in_method: null,
    inserted_at: new Date(0),
    updated_at: new Date(0),
    ...fields,
  };
}

function device(fields: Partial<DeviceRow> = {}): DeviceRow {
  return {
    id: 'd1',
    user_id: 'u1',
    name: 'laptop',
    description: null,
    public_key: KEY,
    preshared_key: OTHER_KEY,
    ipv4: '100.64.0.2',
    ipv6: 'fd00::2',
    use_default_allowed_ips: true,
    use_default_dns: true,
    use_default_endpoint: true,
    use_default_mtu: true,
    use_default_persistent_keepalive: true,
    allowed_ips: null,
    dns: null,
    endpoint: null,
    mtu: null,
    persistent_keepalive: null,
    inserted_at: new Date(0),
    updated_at: new Date(0),
    gateway_id: null,
    latest_handshake: null,
    remote_ip: null,
    remote_port: null,
    rx_bytes: null,
    tx_bytes: null,
    ...fields,
  };
}

function rule(fields: Partial<RuleRow> = {}): RuleRow {
  return {
    id: 'r1',
    action: 'drop',
    destination: '10.0.0.0/8',
    family: 4,
    port_type: null,
    port_start: null,
    port_end: null,
    user_id: null,
    inserted_at: new Date(0),
    updated_at: new Date(0),
    ...fields,
  };
}

function rows(parts: {
  users?: UserRow[];
  devices?: DeviceRow[];
  rules?: RuleRow[];
  vpnSessionDuration?: number;
}): Rows {
  const byId = <R extends { id: string }>(list: R[]): Map<string, R> =>
    new Map(list.map((row) => [row.id, row]));
  return {
    revision: 1 as Rows['revision'],
    users: byId(parts.users ?? [user()]),
    devices: byId(parts.devices ?? [device()]),
    rules: byId(parts.rules ?? []),
    vpnSessionDuration: parts.vpnSessionDuration ?? 0,
  };
}

test('a device becomes a peer whose allowed IPs are exactly its addresses', (t) => {
  const wide = device({ allowed_ips: ['0.0.0.0/0', '::/0'], use_default_allowed_ips: false });
  const { config, deviceIds } = translate(rows({ devices: [wide] }), settings, NOW);
  t.deepEqual(config.peers.get(KEY), {
    publicKey: KEY,
    presharedKey: new Uint8Array(Buffer.from(OTHER_KEY, 'base64')),
    ipv4: parseAddress('100.64.0.2'),
    ipv6: parseAddress('fd00::2'),
    scope: 'u1',
    resume: null,
  });
  t.deepEqual([...deviceIds], [[KEY, 'd1']]);
});

test('a device that has an MTU of its own is known by it, if an interface can have it', (t) => {
  const mtuOf = (fields: Partial<DeviceRow>): unknown =>
    translate(rows({ devices: [device(fields)] }), settings, NOW).config.peers.get(KEY)?.mtu;
  t.is(mtuOf({ use_default_mtu: false, mtu: 1_280 }), 1_280);
  t.is(mtuOf({ use_default_mtu: false, mtu: 576 }), 576);
  t.is(mtuOf({ use_default_mtu: true, mtu: 1_280 }), undefined);
  for (const mtu of [null, 0, -1, 575, 1_501, 1_300.5])
    t.is(mtuOf({ use_default_mtu: false, mtu }), undefined, `${mtu}`);
});

test('the same row is the same peer, so that nothing is compared byte by byte', (t) => {
  const state = rows({});
  const first = translate(state, settings, NOW).config.peers.get(KEY);
  t.is(translate(state, settings, NOW + 1).config.peers.get(KEY), first);
});

test('where a device was heard last goes along, for the time after a restart', (t) => {
  const heard = device({
    gateway_id: 'g1',
    latest_handshake: new Date(NOW - 1_000),
    remote_ip: '192.0.2.9',
    remote_port: 4711,
  });
  const { config } = translate(rows({ devices: [heard] }), settings, NOW);
  t.deepEqual(config.peers.get(KEY)?.resume, {
    endpoint: { address: '192.0.2.9', port: 4711 },
    heardAtMs: NOW - 1_000,
  });
});

test('a device that another gateway heard last is not called', (t) => {
  const heard = device({
    gateway_id: 'g2',
    latest_handshake: new Date(NOW - 1_000),
    remote_ip: '192.0.2.9',
    remote_port: 4711,
  });
  const { config } = translate(rows({ devices: [heard] }), settings, NOW);
  t.is(config.peers.get(KEY)?.resume, null);
});

const HOUR = 3_600;
const signedIn = (secondsAgo: number): Partial<UserRow> => ({
  last_signed_in_at: new Date(NOW - secondsAgo * 1_000),
});
const served: [
  title: string,
  owner: Partial<UserRow>,
  duration: number,
  requireSignIn: boolean,
  isServed: boolean,
  nextChangeInMs: number,
][] = [
  ['an enabled owner', {}, 0, false, true, Infinity],
  ['a disabled owner', { disabled_at: new Date(NOW) }, 0, false, false, Infinity],
  ['a sign-in long ago without a duration', signedIn(1e6), 0, false, true, Infinity],
  ['a sign-in within the duration', signedIn(10), HOUR, false, true, (HOUR - 10) * 1_000],
  ['a sign-in before the duration', signedIn(HOUR), HOUR, false, false, Infinity],
  ['a duration that never ends', signedIn(1e9), 2_147_483_647, false, true, Infinity],
  ['no sign-in ever', {}, HOUR, false, true, Infinity],
  ['no sign-in ever where one is required', {}, HOUR, true, false, Infinity],
  ['no sign-in ever, required, without a duration', {}, 0, true, true, Infinity],
];
for (const [title, owner, vpnSessionDuration, requireSignIn, isServed, nextChangeInMs] of served)
  test(`${title}: ${isServed ? 'served' : 'not served'}`, (t) => {
    const state = rows({ users: [user(owner)], vpnSessionDuration });
    const { config, nextChangeAtMs } = translate(state, { ...settings, requireSignIn }, NOW);
    t.is(config.peers.size, isServed ? 1 : 0);
    t.is(nextChangeAtMs, NOW + nextChangeInMs);
  });

test('a duration that the environment fixes stands, whatever the rows say', (t) => {
  const state = rows({ users: [user(signedIn(10))], vpnSessionDuration: 0 });
  const at = (vpnSessionDuration: number) =>
    translate(state, { ...settings, vpnSessionDuration }, NOW);
  t.is(at(5).config.peers.size, 0);
  t.is(at(HOUR).nextChangeAtMs, NOW + (HOUR - 10) * 1_000);
  const shorter = rows({ users: [user(signedIn(10))], vpnSessionDuration: 5 });
  t.is(translate(shorter, { ...settings, vpnSessionDuration: 0 }, NOW).config.peers.size, 1);
});

test('a device without its owner is not served', (t) => {
  t.is(translate(rows({ users: [] }), settings, NOW).config.peers.size, 0);
});

const badDevices: [title: string, fields: Partial<DeviceRow>, message: RegExp][] = [
  ['a preshared key that does not open', { preshared_key: null }, /preshared key does not open/],
  ['a short public key', { public_key: 'AAAA' }, /public key is not 32 bytes/],
  ['no address at all', { ipv4: null, ipv6: null }, /no address inside/],
  ['addresses outside the networks', { ipv4: '10.0.0.2', ipv6: 'fe80::1' }, /no address inside/],
  ['addresses that are none', { ipv4: 'x', ipv6: 'y' }, /no address inside/],
];
for (const [title, fields, message] of badDevices)
  test(`a device with ${title} is absent, and no other is touched`, (t) => {
    const good = device({ id: 'd2', public_key: OTHER_KEY });
    const state = rows({ devices: [device(fields), good] });
    const { config, problems } = translate(state, settings, NOW);
    t.deepEqual([...config.peers.keys()], [OTHER_KEY]);
    t.is(problems.length, 1);
    t.is(problems[0]?.id, 'd1');
    t.regex(problems[0]!.message, message);
  });

test('a family that is switched off is not served', (t) => {
  const { config } = translate(rows({}), { ...settings, ipv6: null }, NOW);
  t.is(config.peers.get(KEY)?.ipv6, null);
});

test('rules stand under their owner, or under everyone', (t) => {
  const state = rows({
    rules: [
      rule({ id: 'r1' }),
      rule({ id: 'r2', user_id: 'u1', action: 'accept', destination: '2001:db8::1' }),
      rule({ id: 'r3', port_type: 'tcp', port_start: 80, port_end: 443 }),
    ],
  });
  const { config, problems } = translate(state, settings, NOW);
  t.deepEqual(problems, []);
  t.deepEqual(
    config.rules
      .get('')
      ?.map((one) => [
        one.id,
        one.action,
        one.prefixBits,
        one.portType,
        one.portFirst,
        one.portLast,
      ]),
    [
      ['r1', 'drop', 8, null, 0, 0],
      ['r3', 'drop', 8, 'tcp', 80, 443],
    ],
  );
  t.is(config.rules.get('u1')?.[0]?.prefixBits, 128);
});

const badRules: [title: string, fields: Partial<RuleRow>, prefixes: number[]][] = [
  ['a bad accept is ignored', { action: 'accept', destination: 'nowhere' }, []],
  [
    'an accept with bad ports is ignored',
    { action: 'accept', port_type: 'tcp', port_start: 9, port_end: 8 },
    [],
  ],
  [
    'a drop without a destination drops everything, both families',
    { destination: 'nowhere' },
    [0, 0],
  ],
  ['a drop with bad ports drops its destination', { port_type: 'tcp', port_start: null }, [8]],
];
for (const [title, fields, prefixes] of badRules)
  test(title, (t) => {
    const { config, problems } = translate(rows({ rules: [rule(fields)] }), settings, NOW);
    const made = config.rules.get('') ?? [];
    t.deepEqual(
      made.map((one) => one.prefixBits),
      prefixes,
    );
    t.true(made.every((one) => one.action === 'drop' && one.portType === null));
    t.is(problems.length, 1);
  });
