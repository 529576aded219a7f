// Rules of firewalls as hosts have them, and what they do to packets of the tunnel. They are
// written as nft prints them; test/ops/doctor.test.ts asks a real nft.

import test from 'ava';
import { findObstacles, type TunnelPath } from '../../../dataplane/io/foreign-rules.ts';

type Rule = [chain: string, ...expressions: object[]];

const path: TunnelPath = {
  interfaceName: 'wg-postern',
  listenPort: 51_820,
  egress: ['eth0'],
  family: 'ipv4',
  network: '100.64.0.0',
  prefixBits: 10,
};

/** A filter table with a base chain at the forward hook, the chains that it calls, and rules. */
function ruleset(
  policy: 'accept' | 'drop',
  rules: readonly Rule[],
  { table = 'filter', family = 'ip', chains = [] as string[], hook = 'forward' } = {},
): object {
  const base = { family, table, name: hook.toUpperCase(), hook, prio: 0, policy };
  return {
    nftables: [
      { metainfo: {} },
      { table: { family, name: table } },
      { chain: base },
      ...chains.map((name) => ({ chain: { family, table, name } })),
      ...rules.map(([chain, ...expr]) => ({ rule: { family, table, chain, expr } })),
    ],
  };
}

const match = (left: object, right: unknown, op = '=='): object => ({ match: { op, left, right } });
const iif = (name: unknown, op?: string): object => match({ meta: { key: 'iifname' } }, name, op);
const oif = (name: unknown, op?: string): object => match({ meta: { key: 'oifname' } }, name, op);
const saddr = (right: unknown): object =>
  match({ payload: { protocol: 'ip', field: 'saddr' } }, right);
const state = (...states: string[]): object => match({ ct: { key: 'state' } }, { set: states });
const prefix = (addr: string, len: number): object => ({ prefix: { addr, len } });
const conntrack = { xt: { type: 'match', name: 'conntrack' } };
const accept = { accept: null };
const drop = { drop: null };
const counter = { counter: { packets: 0, bytes: 0 } };
const jump = (target: string): object => ({ jump: { target } });

const fromTun = ['FORWARD', iif('wg-postern'), counter, accept] satisfies Rule;
const toTun = ['FORWARD', oif('wg-postern'), accept] satisfies Rule;
const established = ['FORWARD', state('established', 'related'), accept] satisfies Rule;

const rows: [title: string, rules: object, stops: string | null][] = [
  ['a policy that accepts', ruleset('accept', []), null],
  ['a policy that drops', ruleset('drop', []), 'opening'],
  [
    'Docker’s own exceptions',
    ruleset('drop', [['FORWARD', oif('docker0'), conntrack, accept]]),
    'opening',
  ],
  ['both ways accepted', ruleset('drop', [fromTun, toTun]), null],
  ['one way accepted', ruleset('drop', [fromTun]), 'answers'],
  ['answers by their state', ruleset('drop', [fromTun, established]), null],
  [
    'answers by a match of iptables',
    ruleset('drop', [fromTun, ['FORWARD', conntrack, accept]]),
    null,
  ],
  [
    'a match of iptables opens nothing',
    ruleset('drop', [['FORWARD', conntrack, accept]]),
    'opening',
  ],
  ['a pattern of names', ruleset('drop', [['FORWARD', iif('wg*'), accept], established]), null],
  [
    'a set of names',
    ruleset('drop', [['FORWARD', iif({ set: ['a', 'wg-postern'] }), accept], established]),
    null,
  ],
  [
    'everything but another name',
    ruleset('drop', [['FORWARD', iif('docker0', '!='), accept]]),
    null,
  ],
  [
    'everything but this name',
    ruleset('drop', [['FORWARD', iif('wg-postern', '!='), accept]]),
    'opening',
  ],
  ['the egress by name', ruleset('drop', [['FORWARD', oif('eth0'), accept], established]), null],
  [
    'another egress by name',
    ruleset('drop', [['FORWARD', oif('eth1'), accept], established]),
    'opening',
  ],
  [
    'the devices’ network',
    ruleset('drop', [['FORWARD', saddr(prefix('100.64.0.0', 10)), accept], established]),
    null,
  ],
  [
    'a wider network',
    ruleset('drop', [['FORWARD', saddr(prefix('100.0.0.0', 8)), accept], established]),
    null,
  ],
  [
    'a part of it',
    ruleset('drop', [['FORWARD', saddr(prefix('100.64.0.0', 16)), accept], established]),
    'opening',
  ],
  [
    'another network',
    ruleset('drop', [['FORWARD', saddr(prefix('10.0.0.0', 8)), accept], established]),
    'opening',
  ],
  [
    'a set that is named',
    ruleset('drop', [['FORWARD', saddr('@vpn'), accept], established]),
    'opening',
  ],
  [
    'a drop at the end',
    ruleset('accept', [established, ['FORWARD', { reject: { type: 'icmpx' } }]]),
    'opening',
  ],
  [
    'a drop of something else',
    ruleset('accept', [
      ['FORWARD', iif('eth7'), drop],
      ['FORWARD', { xt: {} }, drop],
    ]),
    null,
  ],
  [
    'states as a map',
    ruleset('accept', [
      [
        'FORWARD',
        {
          vmap: {
            key: { ct: { key: 'state' } },
            data: {
              set: [
                ['established', accept],
                ['invalid', drop],
              ],
            },
          },
        },
      ],
      ['FORWARD', drop],
    ]),
    'opening',
  ],
];

for (const [title, rules, stops] of rows)
  test(`${title}: ${stops === null ? 'nothing is stopped' : `stops ${stops}`}`, (t) => {
    t.deepEqual(
      findObstacles(rules, path).map((obstacle) => obstacle.stops as string),
      stops === null ? [] : [stops],
    );
  });

const dport = (right: unknown, protocol = 'udp'): object =>
  match({ payload: { protocol, field: 'dport' } }, right);
const addrtype = { xt: { type: 'match', name: 'addrtype' } };
/** The rules of ufw before what its users allow: packets to an own address return. */
const ufw: Rule[] = [
  ['INPUT', jump('ufw-before-input')],
  ['INPUT', jump('ufw-user-input')],
  ['ufw-before-input', iif('lo'), accept],
  ['ufw-before-input', conntrack, accept],
  ['ufw-before-input', dport(68), accept],
  ['ufw-before-input', jump('ufw-not-local')],
  ['ufw-not-local', addrtype, { return: null }],
  ['ufw-not-local', counter, drop],
];

const inputs: [title: string, policy: 'accept' | 'drop', rules: Rule[], stopped: boolean][] = [
  ['a policy that accepts', 'accept', [], false],
  ['a policy that drops', 'drop', [], true],
  ['ufw as it is made', 'drop', ufw, true],
  ['ufw that allows', 'drop', [...ufw, ['ufw-user-input', dport(51_820), counter, accept]], false],
  ['another port', 'drop', [['INPUT', dport(443), accept]], true],
  ['ports between', 'drop', [['INPUT', dport({ range: [50_000, 60_000] }), accept]], false],
  ['a set of ports', 'drop', [['INPUT', dport({ set: [53, 51_820] }), accept]], false],
  ['the port of TCP', 'drop', [['INPUT', dport(51_820, 'tcp'), accept]], true],
  ['the port of anything', 'drop', [['INPUT', dport(51_820, 'th'), accept]], false],
  ['all UDP', 'drop', [['INPUT', match({ meta: { key: 'l4proto' } }, 'udp'), accept]], false],
  [
    'all but UDP',
    'accept',
    [['INPUT', match({ payload: { protocol: 'ip', field: 'protocol' } }, 'udp', '!='), drop]],
    false,
  ],
  ['another interface', 'drop', [['INPUT', iif('eth7'), accept]], true],
  ['some senders', 'drop', [['INPUT', saddr(prefix('10.0.0.0', 8)), accept]], true],
  ['a drop of some senders', 'accept', [['INPUT', saddr('192.0.2.7'), drop]], false],
];

for (const [title, policy, rules, isStopped] of inputs)
  test(`on the way to the gateway: ${title}: ${isStopped ? 'stopped' : 'not stopped'}`, (t) => {
    const chains = ['ufw-before-input', 'ufw-user-input', 'ufw-not-local'];
    const found = findObstacles(ruleset(policy, rules, { chains, hook: 'input' }), path);
    t.deepEqual(
      found.map(({ chain, owner, stops }) => ({ chain, owner, stops })),
      isStopped ? [{ chain: 'INPUT', owner: 'ufw', stops: 'datagrams' }] : [],
    );
  });

test('datagrams are called stopped only if the interface where they arrive is known', (t) => {
  t.deepEqual(findObstacles(ruleset('drop', [], { hook: 'input' }), { ...path, egress: [] }), []);
});

test('jumps into chains and returns from them are followed', (t) => {
  const chains = ['DOCKER-USER', 'inner'];
  const inner: Rule[] = [
    ['FORWARD', jump('DOCKER-USER')],
    ['DOCKER-USER', jump('inner')],
    ['DOCKER-USER', { return: null }],
    ['inner', iif('wg-postern'), accept],
    ['inner', oif('wg-postern'), accept],
  ];
  t.deepEqual(findObstacles(ruleset('drop', inner, { chains }), path), []);
  const turned = ruleset('drop', [['DOCKER-USER', { return: null }], ...inner], { chains });
  t.is(findObstacles(turned, path).length, 1, 'a rule after a return is not reached');
  const endless = ruleset(
    'drop',
    [
      ['FORWARD', jump('inner')],
      ['inner', jump('inner')],
    ],
    { chains },
  );
  t.is(findObstacles(endless, path).length, 1);
  const gone = ruleset('drop', [['FORWARD', { goto: { target: 'inner' } }], fromTun, toTun], {
    chains,
  });
  t.is(findObstacles(gone, path).length, 1, 'nobody comes back from a goto');
});

test('the owner of rules is recognised by their names', (t) => {
  const ownerOf = (options: Parameters<typeof ruleset>[2]): unknown =>
    findObstacles(ruleset('drop', [], options), path)[0]?.owner;
  t.is(ownerOf({ chains: ['DOCKER-USER', 'ufw-before-forward'] }), 'docker');
  t.is(ownerOf({ chains: ['ufw-before-forward'] }), 'ufw');
  t.is(ownerOf({ family: 'inet', table: 'firewalld' }), 'firewalld');
  t.is(ownerOf({}), 'other');
});

test('rules of one family do not count for the other', (t) => {
  const v6: TunnelPath = { ...path, family: 'ipv6', network: 'fd00::', prefixBits: 106 };
  t.is(findObstacles(ruleset('drop', [], { family: 'ip6' }), path).length, 0);
  t.is(findObstacles(ruleset('drop', [], { family: 'ip6' }), v6).length, 1);
  t.is(findObstacles(ruleset('drop', [], { family: 'inet' }), v6).length, 1);
});

test('a text that is no ruleset holds no obstacle', (t) => {
  for (const nothing of [null, {}, { nftables: 7 }, { nftables: [null, { chain: null }] }])
    t.deepEqual(findObstacles(nothing, path), []);
});
