// `postern flows` and `postern refusals`: what is asked of the gateway that runs, and what people
// and programs read of its answer.

import test from 'ava';
import type {
  EndedFlow,
  FlowQuery,
  LiveFlow,
  RefusalQuery,
  SeenRefusal,
} from '../../../dataplane/index.ts';
import { addDevice, addRule, addUser } from '../../support/database/records.ts';
import { openLocally } from '../../support/api/local-socket.ts';
import { linesAt } from '../../support/api/terminal.ts';
import { endedFlowOf, fakeLive, flowOf, refusalOf } from '../../support/observe/fake-gateway.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';
const RULE = '01900000-0000-7000-8000-000000000001';

test('flows are a table with names, and JSON for programs', async (t) => {
  let deviceId = '';
  const queries: FlowQuery[] = [];
  const live = fakeLive(GATEWAY, {
    flows: async (query) => {
      queries.push(query);
      return { flows: [flowOf('key', { by: 'rule', rule: RULE })], next: null };
    },
    deviceIdOf: () => deviceId,
    publicKeyOf: (id) => (id === deviceId ? 'key' : null),
  });
  const { database, run } = await openLocally(t, { live });
  const user = await addUser(database, { email: 'alice@example.com' });
  deviceId = (await addDevice(database, user.id, { name: 'laptop', ipv4: '100.64.9.9' })).id;
  const outcome = await run('flows');
  t.is(
    outcome?.text,
    [
      'FROM                     TO            PROTOCOL  DECIDED BY                                 SENT         RECEIVED      LAST SEEN',
      `laptop 100.64.0.2:50000  10.0.0.5:443  tcp       rule ${RULE}  12 (1800 B)  20 (24000 B)  2026-11-25T12:01:00Z`,
    ].join('\n'),
  );
  t.like(outcome?.data, [{ source_device_id: deviceId, rule_id: RULE }]);
  const { id: rule } = await addRule(database, { destination: '10.0.0.5' });
  await run('flows', '--device', 'laptop', '--destination', '10.0.0.0/8', '--rule', rule);
  await run('flows', '--user', 'Alice@example.com', '--json');
  const nothing = { destination: null, rule: null };
  t.deepEqual(queries, [
    { device: null, scope: null, ...nothing },
    {
      device: 'key',
      scope: null,
      destination: { network: new Uint8Array([10, 0, 0, 0]), prefixBits: 8 },
      rule,
    },
    { device: null, scope: user.id, ...nothing },
  ]);
});

test('tables of flows and of refusals fit a terminal, and cut no address and no id', async (t) => {
  const ids = new Map<string, string>();
  const live = fakeLive(GATEWAY, {
    flows: async () => ({ flows: [flowOf('key', { by: 'rule', rule: RULE })], next: null }),
    endedFlows: async () => ({
      flows: [endedFlowOf('key', { by: 'rule', rule: RULE, because: 'device_removed' })],
      next: null,
    }),
    refusals: async () => [
      refusalOf('key', {
        reason: 'rule_drop',
        rule: RULE,
        source: 'fd00::2',
        destination: 'fd00::3',
      }),
    ],
    deviceIdOf: (key) => ids.get(key) ?? null,
  });
  const { database, run } = await openLocally(t, { live });
  const user = await addUser(database);
  const name = 'the laptop of somebody with quite a long name';
  ids.set('key', (await addDevice(database, user.id, { name })).id);
  const now = Date.UTC(2026, 10, 25, 13);
  t.deepEqual(linesAt(t, await run('flows'), 80, now), [
    'FROM                          TO            PROTOCOL  DECIDED BY     SENT',
    '  RECEIVED      LAST SEEN',
    'the laptop… 100.64.0.2:50000  10.0.0.5:443  tcp       rule 00000001  12 (1.8 kB)',
    '  20 (24.0 kB)  59 min ago',
  ]);
  const ended = linesAt(t, await run('flows', '--ended'), 80, now).join('\n');
  for (const whole of [' 100.64.0.2:50000', '10.0.0.5:443', 'rule 00000001', 'device removed'])
    t.true(ended.includes(whole), `${whole} of ${ended}`);
  for (const width of [80, 100]) {
    const refused = linesAt(t, await run('refusals'), width).join('\n');
    for (const whole of ['fd00::2', '[fd00::3]:22', '(00000001)'])
      t.true(refused.includes(whole), `${whole} of ${refused}`);
  }
  for (const command of ['flows', 'refusals']) {
    const lines = linesAt(t, await run(command), 200, now);
    t.is(lines.length, 2);
    t.true(lines[1]?.includes(name) && lines[1].includes(RULE), lines[1]);
  }
});

test('so many flows are shown as were asked for, from as many pages as it takes', async (t) => {
  const limits: number[] = [];
  const live = fakeLive(GATEWAY, {
    flows: async (_query, limit, from) => {
      limits.push(limit);
      const flow = (from?.flow ?? 1) + limit;
      const flows = Array.from({ length: limit }, (_, i) => flowOf('key', { sourcePort: i + 1 }));
      return { flows, next: { worker: 0, flow } };
    },
  });
  const { run } = await openLocally(t, { live });
  t.is(((await run('flows')) as { data: unknown[] }).data.length, 100);
  const many = await run('flows', '--limit', '2500');
  t.is((many as { data: unknown[] }).data.length, 2_500);
  t.deepEqual(limits, [100, 1_000, 1_000, 1_000]);
  t.regex(String(many?.text), /^There are more; --limit N shows so many\.$/m);
});

test('refusals say why; what nobody could read has no addresses', async (t) => {
  const queries: RefusalQuery[] = [];
  const live = fakeLive(GATEWAY, {
    refusals: async (query) => {
      queries.push(query);
      const unread = { source: null, destination: null, protocol: null, port: null };
      return [
        refusalOf('key', {
          reason: 'rule_drop',
          rule: RULE,
          source: 'fd00::2',
          destination: 'fd00::3',
        }),
        refusalOf('key', { reason: 'inner_malformed', ...unread }),
      ];
    },
  });
  const { run } = await openLocally(t, { live });
  const lines = String((await run('refusals', '--reason', 'rule_drop'))?.text).split('\n');
  t.regex(
    lines[1]!,
    new RegExp(`fd00::2 +\\[fd00::3\\]:22 +tcp +3 .*A rule drops it\\. \\(${RULE}\\)$`),
  );
  t.regex(lines[2]!, /What a device sent was no IP packet\.$/);
  t.deepEqual(queries, [{ device: null, scope: null, reason: 'rule_drop' }]);
  await t.throwsAsync(run('refusals', '--reason', 'drop') as Promise<unknown>, {
    message: /^reason: is invalid; give a reason, such as rule_drop/,
  });
  await t.throwsAsync(run('flows', '--destination', 'x') as Promise<unknown>, {
    message: /^destination: is invalid; give an address or a network/,
  });
  await t.throwsAsync(run('flows', '--user', 'nobody@example.com') as Promise<unknown>, {
    message: /^there is no user nobody@example\.com; see: /,
  });
});

test('ended flows say when and why they ended; --follow shows those that end', async (t) => {
  const queries: [FlowQuery, number][] = [];
  let ended = [endedFlowOf('key', { because: 'device_removed' })];
  const live = fakeLive(GATEWAY, {
    endedFlows: async (query, limit) => {
      queries.push([query, limit]);
      return { flows: ended, next: null };
    },
  });
  const { run, said, pauses } = await openLocally(t, { live });
  const outcome = await run('flows', '--ended', '--destination', '10.0.0.5', '--limit', '7');
  t.is(
    outcome?.text,
    [
      'ENDED                 FROM              TO            PROTOCOL  DECIDED BY  SENT         RECEIVED      WHY',
      '2026-11-25T12:01:10Z  100.64.0.2:50000  10.0.0.5:443  tcp       default     12 (1800 B)  20 (24000 B)  device removed',
    ].join('\n'),
  );
  t.like(outcome?.data, [{ ended_because: 'device_removed' }]);
  const destination = { network: new Uint8Array([10, 0, 0, 5]), prefixBits: 32 };
  t.deepEqual(queries, [[{ device: null, scope: null, destination, rule: null }, 7]]);
  pauses.push(async () => {
    ended = [endedFlowOf('key', { sourcePort: 2, endedMs: Date.UTC(2026, 10, 26) }), ...ended];
  });
  await run('flows', '--ended', '--follow');
  t.deepEqual(
    said.map(({ data }) => (data as Record<string, unknown>)['source_port']),
    [50_000, 2],
  );
  t.is(queries.at(-1)![1], 1_000);
  ended = [];
  t.is((await run('flows', '--ended'))?.text, 'no flow has ended lately');
});

test('--ended --follow reads on until it meets what it has shown', async (t) => {
  const at = (i: number) => endedFlowOf('key', { sourcePort: 1 + i, endedMs: 1_000 + i });
  let ended = [at(0)];
  const live = fakeLive(GATEWAY, {
    endedFlows: async (_query, limit, from) => {
      const begin = from?.[0] ?? 0;
      const next = begin + limit < ended.length ? [begin + limit] : null;
      return { flows: ended.slice(begin, begin + limit), next };
    },
  });
  const { run, said, pauses } = await openLocally(t, { live });
  pauses.push(async () => {
    ended = Array.from({ length: 2_500 }, (_, i) => at(2_499 - i));
  });
  await run('flows', '--ended', '--follow');
  t.is(said.length, 2_500);
});

test('ended flows are found by the id of a device that was deleted', async (t) => {
  const gone = '01900000-0000-7000-8000-00000000dead';
  const queries: FlowQuery[] = [];
  const live = fakeLive(GATEWAY, {
    endedFlows: async (query) => {
      queries.push(query);
      return { flows: [endedFlowOf('key', { because: 'device_removed' })], next: null };
    },
    publicKeyOf: (id) => (id === gone ? 'key' : null),
  });
  const { run } = await openLocally(t, { live });
  t.like((await run('flows', '--ended', '--device', gone))?.data, [
    { ended_because: 'device_removed' },
  ]);
  t.deepEqual(
    queries.map(({ device }) => device),
    ['key'],
  );
  const message = /^there is no device /;
  await t.throwsAsync(run('flows', '--device', gone) as Promise<unknown>, { message });
  const byName = run('flows', '--ended', '--device', 'nobody') as Promise<unknown>;
  await t.throwsAsync(byName, { message });
});

test('a rule or a device that nobody knows is no empty list', async (t) => {
  let ended: EndedFlow[] = [];
  const live = fakeLive(GATEWAY, {
    endedFlows: async () => ({ flows: ended, next: null }),
    publicKeyOf: () => 'key',
  });
  const { run } = await openLocally(t, { live });
  const noRule = /^there is no rule .*; see: .*rule list$/;
  for (const [line, message] of [
    ['flows --rule nope', noRule],
    [`flows --rule ${RULE}`, noRule],
    [`flows --follow --rule ${RULE}`, noRule],
    ['flows --ended --rule nope', noRule],
    [`flows --ended --rule ${RULE}`, noRule],
    [`flows --ended --device ${RULE}`, /^there is no device .*; see: .*device list$/],
    ['refusals --device nope', /^there is no device nope/],
    [`refusals --device ${RULE}`, /^there is no device /],
  ] as const)
    await t.throwsAsync(run(...line.split(' ')), { message }, line);
  ended = [endedFlowOf('key')];
  for (const option of ['--rule', '--device'])
    t.like(await run('flows', '--ended', option, RULE), { data: { length: 1 } }, 'remembered');
});

test('what a filter names is asked for once', async (t) => {
  const { database, run, server } = await openLocally(t, { live: fakeLive(GATEWAY) });
  const user = await addUser(database);
  const device = await addDevice(database, user.id);
  const rule = await addRule(database, { destination: '10.0.0.5' });
  const asked: string[] = [];
  server.events.on('response', ({ path }) => void asked.push(path));
  await run('flows', '--ended', '--device', device.id, '--rule', rule.id);
  t.deepEqual(asked, [`/v0/devices/${device.id}`, `/v0/rules/${rule.id}`, '/v0/ended_flows']);
});

test('--follow names a device that is new, and many devices as well as one', async (t) => {
  const ids = new Map<string, string>();
  let alive: LiveFlow[] = [];
  const live = fakeLive(GATEWAY, {
    flows: async () => ({ flows: alive, next: null }),
    deviceIdOf: (key) => ids.get(key) ?? null,
  });
  const { database, run, said, pauses } = await openLocally(t, { live });
  const user = await addUser(database);
  const connect = async (name: string): Promise<void> => {
    ids.set(name, (await addDevice(database, user.id, { name })).id);
    alive = [...alive, flowOf(name, { sourcePort: ids.size })];
  };
  await connect('first');
  ids.set('gone', '01900000-0000-7000-8000-00000000dead');
  alive.push(flowOf('gone', { sourcePort: 900 }));
  pauses.push(
    () => connect('second'),
    async () => {
      for (let i = 0; i < 40; i++) await connect(`device ${i}`);
    },
  );
  await run('flows', '--follow');
  const named = said.map(({ text }) => text.split(' 100.64.0.2:')[0]!);
  const expected = [...ids.entries()].map(([name, id]) => (name === 'gone' ? id : name));
  t.deepEqual(named.toSorted(), expected.toSorted());
});

test('nothing is said in words', async (t) => {
  const { run } = await openLocally(t, { live: fakeLive(GATEWAY) });
  t.is((await run('flows'))?.text, 'no flow is alive');
  t.is((await run('refusals'))?.text, 'nothing was refused lately');
});

test('--follow shows what is there, then only what is new', async (t) => {
  let alive: LiveFlow[] = [flowOf('key', { sourcePort: 1 })];
  let refused: SeenRefusal[] = [refusalOf('key', { port: 1 }), refusalOf('key', { port: 2 })];
  const live = fakeLive(GATEWAY, {
    flows: async () => ({ flows: alive, next: null }),
    refusals: async () => refused,
  });
  const { run, said, pauses } = await openLocally(t, { live });
  pauses.push(
    async () => void (alive = [...alive, flowOf('key', { sourcePort: 2 })]),
    async () => void (alive = alive.slice(1)),
  );
  await run('flows', '--follow');
  const ports = (): unknown[] =>
    said.splice(0).map(({ data }) => (data as Record<string, unknown>)['source_port']);
  t.deepEqual(ports(), [1, 2]);
  pauses.push(async () => void (refused = [{ ...refused[1]!, count: 4 }, refused[0]!]));
  await run('refusals', '--follow');
  t.deepEqual(
    said.map(({ data }) => {
      const { port, count } = data as { port: number; count: number };
      return [port, count];
    }),
    [
      [2, 3],
      [1, 3],
      [2, 4],
    ],
  );
  t.regex(said[2]!.text, /10\.0\.0\.6:2 {2}tcp {2}4 {2}/);
});

test('a name that holds control characters moves no cursor', async (t) => {
  const live = fakeLive(GATEWAY, {
    refusals: async () => [refusalOf('key')],
    deviceIdOf: () => 'evil\u001b[2J',
  });
  const { run, said } = await openLocally(t, { live });
  await run('refusals', '--follow');
  t.false(said[0]!.text.includes('\u001b'));
});
