// From one configuration to another: which steps, in which order, and none too many.

import test from 'ava';
import fc from 'fast-check';
import type { Amendment, GatewayConfig, PeerConfig, RuleConfig } from '../../dataplane/contract.ts';
import { type Change, isEmpty, ConfigInForce } from '../../dataplane/diff.ts';
import type { CompiledTable } from '../../dataplane/filter/compile.ts';
import type { Place } from '../../dataplane/places.ts';
import { compileScope, diff, EMPTY_CONFIG } from '../support/dataplane/whole-configs.ts';
import { peer, rule, SEEDED } from '../support/dataplane/simulation.ts';

function config(
  peers: readonly PeerConfig[],
  rules: Record<string, readonly RuleConfig[]> = {},
): GatewayConfig {
  return {
    peers: new Map(peers.map((one) => [one.publicKey, one])),
    rules: new Map(Object.entries(rules)),
  };
}

function named(change: Change): Record<string, string[]> {
  return {
    removed: [...change.removed],
    updated: change.updated.map((one) => one.publicKey),
    added: change.added.map((one) => one.publicKey),
    scopes: change.scopes.map((scope) => `${scope.name}${scope.compiled === null ? ' none' : ''}`),
  };
}

const nothing = { removed: [], updated: [], added: [], scopes: [] };
const a = peer({ key: 'A', ipv4: '10.0.0.2', ipv6: 'fd00::2' });
const drop = rule('1', 'drop', '10.0.0.0/8');

const cases: readonly [string, GatewayConfig, GatewayConfig, Record<string, string[]>][] = [
  ['nothing to nothing', EMPTY_CONFIG, config([]), {}],
  ['a peer appears', config([]), config([a]), { added: ['A'] }],
  ['a peer disappears', config([a]), config([]), { removed: ['A'] }],
  ['the same peer, another object', config([a]), config([{ ...a }]), {}],
  [
    'bytes that are equal, in another array',
    config([a]),
    config([{ ...a, ipv4: a.ipv4!.slice(), presharedKey: a.presharedKey.slice() }]),
    {},
  ],
  [
    'its IPv4 address changes',
    config([a]),
    config([{ ...a, ipv4: new Uint8Array([10, 0, 0, 3]) }]),
    { updated: ['A'] },
  ],
  ['its IPv4 address goes', config([a]), config([{ ...a, ipv4: null }]), { updated: ['A'] }],
  ['its IPv6 address comes', config([{ ...a, ipv6: null }]), config([a]), { updated: ['A'] }],
  [
    'its preshared key changes in the last byte',
    config([a]),
    config([{ ...a, presharedKey: new Uint8Array(32).fill(1, 31) }]),
    { updated: ['A'] },
  ],
  ['its owner changes', config([a]), config([{ ...a, scope: 'other' }]), { updated: ['A'] }],
  ['its MTU comes', config([a]), config([{ ...a, mtu: 1_280 }]), { updated: ['A'] }],
  ['its MTU is unknown, said twice', config([a]), config([{ ...a, mtu: null }]), {}],
  ['a limit comes', config([a]), config([{ ...a, limitDown: 64_000 }]), { updated: ['A'] }],
  ['another limit comes', config([a]), config([{ ...a, limitUp: 64_000 }]), { updated: ['A'] }],
  ['there are no limits, said twice', config([a]), config([{ ...a, limitDown: null }]), {}],
  ['a quota is used up', config([a]), config([{ ...a, isOverQuota: true }]), { updated: ['A'] }],
  ['no quota is used up, said twice', config([a]), config([{ ...a, isOverQuota: false }]), {}],
  [
    'only where it was last heard changes',
    config([a]),
    config([{ ...a, resume: { endpoint: { address: '192.0.2.9', port: 1 }, heardAtMs: 5 } }]),
    {},
  ],
  [
    'one goes, one changes, one comes',
    config([a, { ...a, publicKey: 'B' }]),
    config([
      { ...a, publicKey: 'B', scope: 'x' },
      { ...a, publicKey: 'C' },
    ]),
    { removed: ['A'], updated: ['B'], added: ['C'] },
  ],
  ['a scope gets rules', config([]), config([], { s: [drop] }), { scopes: ['s'] }],
  ['a scope loses its rules', config([], { s: [drop] }), config([]), { scopes: ['s none'] }],
  ['a scope is emptied', config([], { s: [drop] }), config([], { s: [] }), { scopes: ['s none'] }],
  ['an empty scope is as good as none', config([]), config([], { s: [] }), {}],
  ['equal rules', config([], { s: [drop] }), config([], { s: [{ ...drop }] }), {}],
  [
    'one scope of two changes',
    config([], { s: [drop], u: [drop] }),
    config([], { s: [drop], u: [drop, rule('2', 'accept', 'fd00::/8')] }),
    { scopes: ['u'] },
  ],
];

for (const [title, current, desired, wanted] of cases) {
  test(`${title}: exactly these steps`, (t) => {
    t.deepEqual(named(diff(current, desired)), { ...nothing, ...wanted });
  });
}

const tcp80: RuleConfig = rule('1', 'drop', '10.0.0.0/8', { type: 'tcp', first: 80, last: 90 });
const variations: readonly [string, Partial<RuleConfig>][] = [
  ['id', { id: '2' }],
  ['action', { action: 'accept' }],
  ['address', { address: new Uint8Array([11, 0, 0, 0]) }],
  ['prefix', { prefixBits: 9 }],
  ['port type', { portType: 'udp' }],
  ['first port', { portFirst: 81 }],
  ['last port', { portLast: 91 }],
];

for (const [what, variation] of variations) {
  test(`a rule that differs in its ${what} is another rule`, (t) => {
    const change = diff(
      config([], { s: [tcp80] }),
      config([], { s: [{ ...tcp80, ...variation }] }),
    );
    t.is(change.scopes.length, 1);
  });
}

test('an amendment takes the steps that it names, and no others', (t) => {
  const standing = new ConfigInForce();
  const b = { ...a, publicKey: 'B' };
  standing.replace(config([a, b], { s: [drop], u: [drop] }));
  const other = rule('2', 'accept', 'fd00::/8');
  const change = standing.amend({
    peers: new Map([
      ['A', null],
      ['B', { ...b }],
      ['C', { ...a, publicKey: 'C' }],
      ['D', null],
    ]),
    rules: new Map([
      ['s', new Map([['2', [other]]])],
      ['u', new Map([['1', [{ ...drop }]]])],
      ['v', new Map([['3', []]])],
    ]),
  });
  t.deepEqual(named(change), { ...nothing, removed: ['A'], added: ['C'], scopes: ['s'] });
  // Of the rules there only what is new: the other family and the other's number stay as they are.
  const { ipv6 } = compileScope([other]);
  t.deepEqual(change.scopes[0]!.compiled, {
    ipv4: null,
    ipv6: {
      ...ipv6!,
      pieces: [
        {
          ...(ipv6!.pieces[0] as CompiledTable),
          drops: new Int32Array([-1]),
          accepts: new Int32Array([1]),
        },
      ],
    },
    numbers: [1],
    ids: ['2'],
    hosts: new Map([[1, false]]),
  });
  t.deepEqual([...standing.peers.keys()], ['B', 'C']);
});

test('what is in force can be said to one who knows nothing', (t) => {
  const standing = new ConfigInForce();
  standing.replace(config([a], { s: [drop] }));
  standing.amend({ peers: new Map(), rules: new Map([['s', new Map([['1', []]])]]) });
  t.deepEqual(named(standing.fromNothing()), { ...nothing, added: ['A'] });
  standing.amend({ peers: new Map(), rules: new Map([['u', new Map([['1', [drop]]])]]) });
  t.deepEqual(standing.fromNothing().scopes, [{ name: 'u', compiled: compileScope([drop]) }]);
});

test('a gateway is closed and opened once, and closed to one who knows nothing', (t) => {
  const standing = new ConfigInForce();
  standing.replace(config([a]));
  const amend = (isClosed?: boolean): Change =>
    standing.amend({
      peers: new Map(),
      rules: new Map(),
      ...(isClosed === undefined ? {} : { isClosed }),
    });
  t.true(isEmpty(amend(false)), 'it is open already');
  t.deepEqual(amend(true), { ...nothing, isClosed: true });
  t.true(isEmpty(amend(true)) && isEmpty(amend()));
  t.is(standing.fromNothing().isClosed, true);
  t.deepEqual(amend(false), { ...nothing, isClosed: false });
  t.is(standing.fromNothing().isClosed, undefined);
});

test('what no rule decides is said once, and to one who knows nothing', (t) => {
  const standing = new ConfigInForce();
  standing.replace(config([a]));
  const amend = (defaultAction?: 'accept' | 'drop'): Change =>
    standing.amend({
      peers: new Map(),
      rules: new Map(),
      ...(defaultAction === undefined ? {} : { defaultAction }),
    });
  t.is(standing.fromNothing().defaultAction, undefined, 'nobody said it');
  t.deepEqual(amend('accept'), { ...nothing, defaultAction: 'accept' });
  t.true(isEmpty(amend('accept')) && isEmpty(amend()));
  t.deepEqual(amend('drop'), { ...nothing, defaultAction: 'drop' });
  t.is(standing.fromNothing().defaultAction, 'drop');
  t.true(isEmpty(standing.replace(config([a]))), 'a whole configuration does not change it');
});

/** A rule that cannot be compiled while `failure` says so. */
function fragile(id: string, failure: { isOn: boolean }): RuleConfig {
  return Object.defineProperty({ ...tcp80, id }, 'portType', {
    get: () => {
      if (failure.isOn) throw new Error('Array buffer allocation failed');
      return 'tcp';
    },
  });
}

test('a change that cannot be compiled is undone, and the same when it is asked for again', (t) => {
  const standing = new ConfigInForce();
  const failure = { isOn: true };
  const rules = (ofScopes: Record<string, [string, RuleConfig[]][]>): Amendment => ({
    peers: new Map(),
    rules: new Map(Object.entries(ofScopes).map(([name, ofIds]) => [name, new Map(ofIds)])),
  });
  const six = rule('6', 'drop', 'fd00::/8');
  standing.replace(config([a, { ...a, publicKey: 'B' }], { gone: [six] }));
  const before = standing.fromNothing();
  const failing = {
    ...rules({ gone: [['6', []]], s: [['1', [drop]]], u: [['2', [fragile('2', failure)]]] }),
    peers: new Map([
      ['A', null],
      ['B', { ...a, publicKey: 'B', scope: 's' }],
      ['C', { ...a, publicKey: 'C' }],
    ]),
    isClosed: true,
    defaultAction: 'drop',
  } as const;
  t.throws(() => standing.amend(failing), { message: /allocation failed/ });
  // A worker that begins now gets what is in force.
  t.deepEqual(standing.fromNothing(), before);
  // A change of something else neither waits for it nor brings a part of it.
  const ends = { peers: new Map([['B', null]]), rules: new Map() };
  t.deepEqual(named(standing.amend(ends)), { ...nothing, removed: ['B'] });
  standing.amend({ ...ends, peers: new Map([['B', { ...a, publicKey: 'B' }]]) });
  t.throws(() => standing.amend(failing), { message: /allocation failed/ });
  failure.isOn = false;
  const change = standing.amend(failing);
  t.deepEqual(named(change), {
    ...nothing,
    removed: ['A'],
    updated: ['B'],
    added: ['C'],
    scopes: ['gone none', 's', 'u'],
  });
  t.like(change, { isClosed: true, defaultAction: 'drop' });
  t.true(isEmpty(standing.amend(failing)));
});

test('a scope after changes that were undone takes the next one, and no part of those', (t) => {
  const standing = new ConfigInForce(2);
  const failure = { isOn: true };
  const networks = Array.from({ length: 6 }, (_, i) => rule(`${i}`, 'drop', `10.${i}.0.0/16`));
  standing.replace(config([], { s: networks }));
  const amendment = (id: string, ofId: RuleConfig[], bad?: RuleConfig): Amendment => ({
    peers: new Map(),
    rules: new Map([
      ['s', new Map([[id, ofId]])],
      ...(bad === undefined ? [] : [['u', new Map([[bad.id, [bad]]])] as const]),
    ]),
  });
  for (const [id, ofId] of [
    ['3', []],
    ['7', [rule('7', 'drop', '10.3.7.0/24')]],
    ['8', [rule('8', 'accept', '0.0.0.0/0')]],
  ] as const)
    t.throws(() => standing.amend(amendment(id, [...ofId], fragile('2', failure))));
  const [s] = standing.amend(amendment('9', [rule('9', 'drop', '10.5.9.0/24')])).scopes;
  t.deepEqual([s?.compiled?.numbers, s?.compiled?.ids], [[6], ['9']]);
  const all = standing.fromNothing().scopes[0]!.compiled!;
  t.deepEqual(
    all.ids.map(Number).toSorted((x, y) => x - y),
    [0, 1, 2, 3, 4, 5, 9],
  );
});

test('a trial says what an amendment would change, and changes nothing', (t) => {
  const inForce = new ConfigInForce(2);
  const networks = Array.from({ length: 6 }, (_, i) => rule(`${i}`, 'drop', `10.${i}.0.0/16`));
  const peers = ['A', 'B', 'C', 'D'].map((publicKey) => ({ ...a, publicKey }));
  inForce.replace(config(peers, { s: networks, gone: [drop] }));
  const before = rulesIn(inForce.fromNothing());
  const trial = inForce.trial({
    peers: new Map([
      ['A', null],
      ['B', { ...a, publicKey: 'B', ipv4: null }],
      ['C', { ...a, publicKey: 'C', scope: 's' }],
      ['D', { ...a, publicKey: 'D', mtu: 1_300 }],
      ['E', { ...a, publicKey: 'E' }],
    ]),
    rules: new Map([
      ['s', new Map([['3', []]])],
      ['gone', new Map([['1', []]])],
      ['new', new Map([['9', [rule('9', 'drop', '10.0.0.0/8')]]])],
      ['same', new Map([['none', []]])],
    ]),
    defaultAction: 'drop',
  });
  const { scope } = a;
  const stays = { losesIpv4: false, losesIpv6: false, groups: '', isOverQuota: false };
  t.deepEqual(trial().peers, [
    { publicKey: 'A', ...stays, losesIpv4: true, losesIpv6: true, scope: null },
    { publicKey: 'B', ...stays, losesIpv4: true, scope },
    { publicKey: 'C', ...stays, scope: 's' },
  ]);
  t.deepEqual(
    trial().scopes.map(({ name, compiled }) => [name, compiled?.numbers, compiled?.ids]),
    [
      ['s', [3], [null]],
      ['gone', undefined, undefined],
      ['new', [0], ['9']],
    ],
  );
  t.is(trial().defaultAction, 'drop');
  t.is(trial(), trial());
  t.deepEqual(rulesIn(inForce.fromNothing()), before);
  t.deepEqual([...inForce.peers.keys()], ['A', 'B', 'C', 'D']);
  const said = trial();
  inForce.amend({ peers: new Map([['A', null]]), rules: new Map() });
  t.not(trial(), said, 'something else is in force');
  t.deepEqual(
    trial().peers.map(({ publicKey }) => publicKey),
    ['B', 'C'],
  );
});

test('a trial that cannot be compiled leaves what is in force', (t) => {
  const inForce = new ConfigInForce();
  inForce.replace(config([a], { s: [drop] }));
  const before = rulesIn(inForce.fromNothing());
  const fragileRule = fragile('2', { isOn: true });
  const amendment = { peers: new Map(), rules: new Map([['s', new Map([['2', [fragileRule]]])]]) };
  t.throws(() => inForce.trial(amendment), { message: /allocation failed/ });
  t.deepEqual(rulesIn(inForce.fromNothing()), before);
});

/** Which rule has which number, by scope; how they are divided into pieces does not matter. */
function rulesIn({ scopes }: Change): object {
  return Object.fromEntries(
    scopes.map(({ name, compiled }) => [
      name,
      compiled?.numbers.map((number, i) => `${number} ${compiled.ids[i]}`).toSorted(),
    ]),
  );
}

test('a change without steps is empty, and one with any is not', (t) => {
  t.true(isEmpty(diff(EMPTY_CONFIG, config([]))));
  t.false(isEmpty(diff(EMPTY_CONFIG, config([a]))));
  t.false(isEmpty(diff(config([a]), EMPTY_CONFIG)));
  t.false(isEmpty(diff(config([a]), config([{ ...a, scope: 'x' }]))));
  t.false(isEmpty(diff(EMPTY_CONFIG, config([], { s: [drop] }))));
});

test('the steps, taken, lead from any configuration to any other', (t) => {
  const peerOf = fc.record({
    key: fc.constantFrom('A', 'B', 'C', 'D', 'E'),
    ipv4: fc.option(fc.constantFrom('10.0.0.2', '10.0.0.3')),
    scope: fc.constantFrom('x', 'y'),
  });
  const configs = fc.array(peerOf, { maxLength: 8 }).map((fields) => config(fields.map(peer)));
  fc.assert(
    fc.property(configs, configs, (current, desired) => {
      const change = diff(current, desired);
      const peers = new Map(current.peers);
      for (const key of change.removed) t.true(peers.delete(key));
      for (const one of change.updated) {
        t.true(peers.has(one.publicKey));
        peers.set(one.publicKey, one);
      }
      for (const { slot: _slot, generation: _generation, ...one } of change.added) {
        t.false(peers.has(one.publicKey));
        peers.set(one.publicKey, one);
      }
      t.deepEqual(
        [...peers].sort(([left], [right]) => left.localeCompare(right)),
        [...desired.peers].sort(([left], [right]) => left.localeCompare(right)),
      );
    }),
    SEEDED,
  );
});

test('a peer keeps its place, also for a worker that begins, and nobody else has it', (t) => {
  const peers = fc.subarray(['A', 'B', 'C', 'D', 'E'].map((key) => peer({ key })));
  fc.assert(
    fc.property(fc.array(peers, { maxLength: 20 }), (steps) => {
      const inForce = new ConfigInForce();
      const places = new Map<string, Place>();
      const generations = new Map<number, number>();
      for (const desired of steps) {
        const { removed, added } = inForce.replace(config(desired));
        for (const key of removed) places.delete(key);
        for (const { publicKey, slot, generation } of added) {
          t.true(generation > (generations.get(slot) ?? 0));
          generations.set(slot, generation);
          places.set(publicKey, { slot, generation });
        }
        t.is(new Set([...places.values()].map(({ slot }) => slot)).size, desired.length);
        const begun = inForce.fromNothing().added;
        t.deepEqual(
          new Map(
            begun.map(({ publicKey, slot, generation }) => [publicKey, { slot, generation }]),
          ),
          places,
        );
      }
    }),
    SEEDED,
  );
});
