// What rows mean: who is served, under which rules, until when; and what a bad row does.

import test from 'ava';
import { parseAddress, stagedScope } from '../../../dataplane/index.ts';
import type { TranslateSettings } from '../../../lib/reconcile/translate.ts';
import type { DeviceRow, RuleRow, UserRow } from '../../../models/index.ts';
import {
  deviceRow,
  everything,
  KEY,
  OTHER_KEY,
  ruleRow,
  settings,
  translateAll,
  userRow,
} from '../../support/reconcile/rows.ts';

const NOW = Date.UTC(2026, 10, 20, 12);

test('a device becomes a peer whose allowed IPs are exactly its addresses', (t) => {
  const wide = deviceRow({ allowed_ips: ['0.0.0.0/0', '::/0'], use_default_allowed_ips: false });
  const { config } = translateAll(everything({ devices: [wide] }), settings, NOW);
  t.deepEqual(config.peers.get(KEY), {
    publicKey: KEY,
    presharedKey: new Uint8Array(Buffer.from(OTHER_KEY, 'base64')),
    ipv4: parseAddress('100.64.0.2'),
    ipv6: parseAddress('fd00::2'),
    scope: 'u1',
    mtu: 1_500,
    resume: null,
  });
});

test('networks behind a device lose their host bits; those that would take a tunnel network are ignored', (t) => {
  const routesOf = (routes: string[], changed: Partial<TranslateSettings> = {}): unknown =>
    translateAll(
      everything({ devices: [deviceRow({ routes })] }),
      { ...settings, ...changed },
      NOW,
    ).config.peers.get(KEY)?.routes;
  t.deepEqual(routesOf(['10.77.5.9/16', '2001:db8:77::1/47', '10.78.0.1']), [
    { network: parseAddress('10.77.0.0'), prefixBits: 16 },
    { network: parseAddress('2001:db8:76::'), prefixBits: 47 },
    { network: parseAddress('10.78.0.1'), prefixBits: 32 },
  ]);
  for (const bad of ['0.0.0.0/0', '::/0', '100.64.0.0/10', '100.64.7.0/24', '64.0.0.0/2', 'x', ''])
    t.is(routesOf([bad]), undefined, bad);
  t.is(routesOf(['2001:db8::/32'], { ipv6: null }), undefined, 'no IPv6 in the tunnel');
  t.is(routesOf([]), undefined);
});

test('a device that has an MTU of its own is known by it, if an interface can have it', (t) => {
  const mtuOf = (fields: Partial<DeviceRow>): unknown =>
    translateAll(everything({ devices: [deviceRow(fields)] }), settings, NOW).config.peers.get(KEY)
      ?.mtu;
  t.is(mtuOf({ use_default_mtu: false, mtu: 1_280 }), 1_280);
  t.is(mtuOf({ use_default_mtu: false, mtu: 576 }), 576);
  for (const mtu of [null, 0, -1, 575, 1_501, 1_300.5])
    t.is(mtuOf({ use_default_mtu: false, mtu }), undefined, `${mtu}`);
});

test('a device that has none is known by the default that its file shows', (t) => {
  const own = deviceRow({ use_default_mtu: false, mtu: 1_400 });
  const shared = deviceRow({ id: 'd2', public_key: OTHER_KEY, mtu: 1_400 });
  const devices = [own, shared];
  const mtus = (defaultClientMtu: number | null, fixed: TranslateSettings['fixed'] = {}) => {
    const state = everything({ devices, defaultClientMtu });
    const { peers } = translateAll(state, { ...settings, fixed }, NOW).config;
    return [KEY, OTHER_KEY].map((key) => peers.get(key)?.mtu);
  };
  t.deepEqual(mtus(1_280), [1_400, 1_280]);
  t.deepEqual(mtus(null), [1_400, 1_500]);
  t.deepEqual(mtus(1_300, { default_client_mtu: 1_350 }), [1_400, 1_350]);
  t.deepEqual(mtus(1_300, { default_client_mtu: null }), [1_400, 1_500]);
});

test('a limit that no request could have sent is the nearest that one could', (t) => {
  const limitsOf = (limit_down: number, limit_up: number): unknown => {
    const { peers } = translateAll(
      everything({ devices: [deviceRow({ limit_down, limit_up })] }),
      settings,
      NOW,
    ).config;
    return [peers.get(KEY)?.limitDown, peers.get(KEY)?.limitUp];
  };
  t.deepEqual(limitsOf(64_001, 99_999_999_999), [64_001, 99_999_999_999]);
  t.deepEqual(limitsOf(0, -1), [64_000, 64_000]);
  t.deepEqual(limitsOf(1e12, 1), [100_000_000_000, 64_000]);
});

test('where a device was heard last goes along, for the time after a restart', (t) => {
  const heard = deviceRow({
    gateway_id: 'g1',
    latest_handshake: new Date(NOW - 1_000),
    remote_ip: '192.0.2.9',
    remote_port: 4711,
    own_ip: '198.51.100.2',
  });
  const { config } = translateAll(everything({ devices: [heard] }), settings, NOW);
  t.deepEqual(config.peers.get(KEY)?.resume, {
    endpoint: { address: '192.0.2.9', port: 4711 },
    local: '198.51.100.2',
    heardAtMs: NOW - 1_000,
  });
});

test('a device that another gateway heard last is not called', (t) => {
  const heard = deviceRow({
    gateway_id: 'g2',
    latest_handshake: new Date(NOW - 1_000),
    remote_ip: '192.0.2.9',
    remote_port: 4711,
  });
  const { config } = translateAll(everything({ devices: [heard] }), settings, NOW);
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
  ['a sign-in a little ahead', signedIn(-60), HOUR, false, true, (HOUR + 60) * 1_000],
  // It counts once it is a quarter of an hour ahead, if the clock was behind.
  ['a sign-in of a clock far ahead', signedIn(-HOUR), HOUR, false, false, 2_700_000],
  ['a duration that never ends', signedIn(1e9), 2_147_483_647, false, true, Infinity],
  ['no sign-in ever', {}, HOUR, false, true, Infinity],
  ['no sign-in ever where one is required', {}, HOUR, true, false, Infinity],
  ['no sign-in ever, required, without a duration', {}, 0, true, true, Infinity],
];
for (const [title, owner, vpnSessionDuration, requireSignIn, isServed, nextChangeInMs] of served)
  test(`${title}: ${isServed ? 'served' : 'not served'}`, (t) => {
    const state = everything({ users: [userRow(owner)], vpnSessionDuration });
    const { config, nextChangeAtMs } = translateAll(state, { ...settings, requireSignIn }, NOW);
    t.is(config.peers.size, isServed ? 1 : 0);
    t.is(nextChangeAtMs, NOW + nextChangeInMs);
  });

test('a duration that the environment fixes is in force, whatever the rows say', (t) => {
  const state = everything({ users: [userRow(signedIn(10))], vpnSessionDuration: 0 });
  const at = (vpn_session_duration: number) =>
    translateAll(state, { ...settings, fixed: { vpn_session_duration } }, NOW);
  t.is(at(5).config.peers.size, 0);
  t.is(at(HOUR).nextChangeAtMs, NOW + (HOUR - 10) * 1_000);
  const shorter = everything({ users: [userRow(signedIn(10))], vpnSessionDuration: 5 });
  t.is(
    translateAll(shorter, { ...settings, fixed: { vpn_session_duration: 0 } }, NOW).config.peers
      .size,
    1,
  );
});

test('a device without its owner is not served', (t) => {
  t.is(translateAll(everything({ users: [] }), settings, NOW).config.peers.size, 0);
});

const badDevices: [title: string, fields: Partial<DeviceRow>, message: RegExp][] = [
  ['a preshared key that does not open', { preshared_key: null }, /preshared key does not open/],
  ['a short public key', { public_key: 'AAAA' }, /public key is not 32 bytes/],
  ['a public key in other words', { public_key: `${'A'.repeat(42)}B=` }, /public key is not/],
  ['no address at all', { ipv4: null, ipv6: null }, /no address inside/],
  ['addresses outside the networks', { ipv4: '10.0.0.2', ipv6: 'fe80::1' }, /no address inside/],
  ['addresses that are none', { ipv4: 'x', ipv6: 'y' }, /no address inside/],
];
for (const [title, fields, message] of badDevices)
  test(`a device with ${title} is absent, and no other is touched`, (t) => {
    const good = deviceRow({ id: 'd2', public_key: OTHER_KEY });
    const state = everything({ devices: [deviceRow(fields), good] });
    const { config, problems } = translateAll(state, settings, NOW);
    t.deepEqual([...config.peers.keys()], [OTHER_KEY]);
    t.is(problems.length, 1);
    t.is(problems[0]?.id, 'd1');
    t.regex(problems[0]!.message, message);
  });

test('a family that is switched off is not served', (t) => {
  const { config } = translateAll(everything({}), { ...settings, ipv6: null }, NOW);
  t.is(config.peers.get(KEY)?.ipv6, null);
});

test('rules stand under their owner, or under everyone', (t) => {
  const state = everything({
    rules: [
      ruleRow({ id: 'r1' }),
      ruleRow({ id: 'r2', user_id: 'u1', action: 'accept', destination: '2001:db8::1' }),
      ruleRow({ id: 'r3', port_type: 'tcp', port_start: 80, port_end: 443 }),
      ruleRow({ id: 'r4', protocol: 'icmp' }),
      ruleRow({ id: 'r5', enforced: false }),
      ruleRow({ id: 'r6', enforced: false, user_id: 'u1' }),
    ],
  });
  const { config, problems } = translateAll(state, settings, NOW);
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
      ['r4', 'drop', 8, 'icmp', 0, 0],
    ],
  );
  t.is(config.rules.get('u1')?.[0]?.prefixBits, 128);
  for (const [scope, id] of [
    ['', 'r5'],
    ['u1', 'r6'],
  ] as const)
    t.deepEqual(
      config.rules.get(stagedScope(scope))?.map((one) => one.id),
      [id],
    );
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
  [
    'a drop with two protocols drops its destination',
    { protocol: 'icmp', port_type: 'tcp', port_start: 1, port_end: 9 },
    [8],
  ],
  ['a drop with bad ports drops its destination', { port_type: 'tcp', port_start: null }, [8]],
];
for (const [title, fields, prefixes] of badRules)
  test(title, (t) => {
    const { config, problems } = translateAll(
      everything({ rules: [ruleRow(fields)] }),
      settings,
      NOW,
    );
    const made = config.rules.get('') ?? [];
    t.deepEqual(
      made.map((one) => one.prefixBits),
      prefixes,
    );
    t.true(made.every((one) => one.action === 'drop' && one.portType === null));
    t.is(problems.length, 1);
  });
