// Who may reach an address: the answer for all people is that of `POST /v0/explain` for each of
// their devices, in random worlds, and it takes bounded time.

import { setImmediate as turnOver } from 'node:timers/promises';
import test from 'ava';
import fc from 'fast-check';
import type { Answer } from '../../../../lib/observe/explain/fields.ts';
import type { ShownService, WhoAnswer } from '../../../../lib/observe/explain/who-fields.ts';
import { TooManyPortsError } from '../../../../lib/observe/explain/services.ts';
import { isReaching, reachOf } from '../../../../lib/observe/explain/who.ts';
import { Recall } from '../../../../lib/kit/records/recall.ts';
import { createGateway, type TestGateway } from '../../../../lib/testing/index.ts';
import { type Database, writeTransaction } from '../../../../models/index.ts';
import { configOf } from '../../../support/api/server.ts';
import { openDatabase } from '../../../support/database/databases.ts';
import { addManyDevices } from '../../../support/database/many-devices.ts';
import { addUser } from '../../../support/database/records.ts';

interface Asked {
  readonly destination: string;
  readonly protocol: string;
  readonly port?: number;
}

const host = fc.constantFrom('10.0.0.1', '10.0.0.2', '10.0.1.1', 'fd12::1', '192.168.7.9');
const network = fc.constantFrom(
  '10.0.0.0/8',
  '10.0.0.0/24',
  '10.0.0.1/32',
  '10.0.1.0/24',
  'fd12::/16',
  'fd12::1/128',
  '192.168.7.0/24',
  '0.0.0.0/0',
);
const port = fc.integer({ min: 1, max: 4 });
const ports = fc.oneof(
  fc.constant({}),
  fc.constant({ protocol: 'icmp' }),
  fc.tuple(fc.constantFrom('tcp', 'udp'), port, port).map(([type, a, b]) => ({
    port_type: type,
    port_range: `${Math.min(a, b)} - ${Math.max(a, b)}`,
  })),
  fc.constant({ port_type: 'tcp', port_range: '65535' }),
);
function tcp(range: string) {
  return { port_type: 'tcp', port_range: range };
}

/** Everyone, one of the people, or one of the groups. */
const whose = fc.constantFrom('all', 'user 0', 'user 1', 'user 2', 'group 0', 'group 1');
const rule = fc.record({
  action: fc.constantFrom('accept', 'drop'),
  destination: network as fc.Arbitrary<string>,
  traffic: ports as fc.Arbitrary<object>,
  whose: whose as fc.Arbitrary<string>,
  enforced: fc.boolean().map((is) => is || undefined),
});

/** Rules of everyone, a group and a person that meet at some ports: chance alone rarely makes them. */
const LAYERS = (
  [
    { action: 'accept', destination: '10.0.0.0/24', traffic: tcp('1 - 4'), whose: 'all' },
    { action: 'drop', destination: '10.0.0.0/24', traffic: tcp('2 - 3'), whose: 'group 0' },
    { action: 'accept', destination: '10.0.0.1/32', traffic: tcp('3 - 65535'), whose: 'user 0' },
    { action: 'drop', destination: '10.0.0.0/8', traffic: {}, whose: 'group 1' },
  ] as const
).map((one) => ({ ...one, enforced: undefined }));

/** What is asked of each world; the address of a device is filled in. */
const PACKETS: readonly Omit<Asked, 'destination'>[] = [
  ...[1, 2, 3, 4, 5, 65_535].flatMap((to) => [
    { protocol: 'tcp', port: to },
    { protocol: 'udp', port: to },
  ]),
  { protocol: 'icmp' },
  { protocol: '47' },
];

/** Three people in two groups, with devices of all kinds; the administrator is there too. */
async function makePeople(gateway: TestGateway) {
  const { api } = gateway;
  const add = (wish: Parameters<TestGateway['addDevice']>[0]) => gateway.addDevice(wish);
  const devices = [
    await add({ user: 'ann@example.com', name: 'laptop' }),
    await add({ user: 'ann@example.com', name: 'off' }),
    await add({ user: 'bob@example.com', name: 'router', routes: ['192.168.7.0/24'] }),
    await add({ user: 'cat@example.com', name: 'phone' }),
    await add({ user: 'dan@example.com', name: 'of-the-disabled' }),
  ];
  await api.patch(`/v0/devices/${devices[1]!.id}`, { device: { enabled: false } });
  await api.patch(`/v0/users/${devices[4]!.userId}`, { user: { disabled: true } });
  await api.post('/v0/users', { user: { email: 'eve@example.com' } });
  const users = [devices[0]!.userId, devices[2]!.userId, devices[3]!.userId];
  const groups: string[] = [];
  for (const [i, members] of [
    [users[0], users[1]],
    [users[1], users[2]],
  ].entries()) {
    const { id } = await api.post<{ id: string }>('/v0/groups', { group: { name: `group ${i}` } });
    await api.post(`/v0/groups/${id}/members`, { members: { add: members } });
    groups.push(id);
  }
  return { devices, users, groups };
}

/** Whether a service that is listed holds a packet. */
function holds({ protocol, port_range: range }: ShownService, asked: Omit<Asked, 'destination'>) {
  const name = /^\d+$/.test(asked.protocol) ? 'other' : asked.protocol;
  if (protocol !== null && protocol !== name) return false;
  if (range === null) return true;
  const [first = '0', last = first] = range.split(' - ');
  return Number(first) <= (asked.port ?? 0) && (asked.port ?? 0) <= Number(last);
}

for (const defaultAction of ['accept', 'drop'])
  test(`who may reach an address is as the explanation for each device: default ${defaultAction}`, async (t) => {
    await using gateway = await createGateway({ settings: { DEFAULT_ACTION: defaultAction } });
    const { api } = gateway;
    const { devices, users, groups } = await makePeople(gateway);
    let accepted = 0;
    let differing = 0;

    const compare = async (destination: string): Promise<void> => {
      const query = `/v0/who_may_reach?destination=${destination}`;
      const whole = await api.get<WhoAnswer>(query);
      t.is(whole.people.length + whole.other_people_count, 6);
      for (const packet of PACKETS) {
        const { protocol, port: to } = packet;
        const asked = `&protocol=${protocol}${to === undefined ? '' : `&port=${to}`}`;
        const one = await api.get<WhoAnswer>(query + asked);
        for (const { id, userId } of devices) {
          const explain = { device_id: id, destination, ...packet };
          const said = await gateway.inject('POST', '/v0/explain', { body: { explain } });
          const { verdict, rule_id } = said.body.data as Answer;
          const about = JSON.stringify({ ...explain, one, whole, said: said.body });
          const person = one.people.find(({ user_id }) => user_id === userId);
          const may = person?.devices.some((device) => device.id === id) ?? false;
          t.is(may, verdict === 'accept', about);
          if (may)
            t.deepEqual(
              person?.services.map((service) => service.rule_id),
              [rule_id],
              about,
            );
          const inAll = whole.people
            .filter(
              ({ user_id, devices: ofPerson }) =>
                user_id === userId && ofPerson.some((device) => device.id === id),
            )
            .flatMap(({ services }) => services.filter((service) => holds(service, packet)));
          t.deepEqual(
            inAll.map((service) => service.rule_id),
            may ? [rule_id] : [],
            about,
          );
          if (may) accepted += 1;
          if (may && whole.people.some(({ services }) => services.length > 1)) differing += 1;
        }
      }
    };

    await fc.assert(
      fc.asyncProperty(
        fc.array(rule, { minLength: 2, maxLength: 9 }),
        fc.oneof(host, fc.constantFrom('device', 'nobody')),
        async (rules, asked) => {
          for (const { id } of await api.get<{ id: string }[]>('/v0/rules'))
            await api.delete(`/v0/rules/${id}`);
          for (const { whose: of, traffic, ...fields } of rules) {
            const [kind, number] = of.split(' ');
            const owner =
              kind === 'user'
                ? { user_id: users[Number(number)] }
                : kind === 'group'
                  ? { group_id: groups[Number(number)] }
                  : {};
            // One that overlaps another is refused, and the world is as good without it.
            await gateway.inject('POST', '/v0/rules', {
              body: { rule: { ...fields, ...traffic, ...owner } },
            });
          }
          const special = { device: devices[3]!.ipv4, nobody: '100.64.200.200' };
          await compare(special[asked as keyof typeof special] ?? asked);
        },
      ),
      { numRuns: 6, endOnFailure: true, examples: [[LAYERS, '10.0.0.1']] },
    );
    t.true(accepted > 0 && differing > 0, `${accepted} accepted, ${differing} by several rules`);
  });

/** How long a question may keep all others waiting. */
const BLOCK_MS_MAX = 40;

/** Users with 2,000 devices. */
async function makeCrowd(database: Database, userCount: number): Promise<string[]> {
  const first = await addUser(database, { email: 'first@example.com' });
  const { result: others } = await writeTransaction(database, (transaction) =>
    database.models.User.bulkCreate(
      Array.from({ length: userCount - 1 }, (_, i) => ({ email: `user-${i}@example.com` })),
      { transaction },
    ),
  );
  await addManyDevices(database, first.id, 2_000);
  const ids = [first.id, ...others.map(({ id }) => id)];
  await database.sequelize.query(
    `UPDATE devices SET user_id =
       json_extract(:ids, '$[' || (CAST(SUBSTR(name, 7) AS INTEGER) % ${userCount}) || ']')`,
    { replacements: { ids: JSON.stringify(ids) } },
  );
  return ids;
}

/** One port of TCP; each number has another one. */
function onePort(i: number) {
  const at = 1 + 3 * i;
  return { destination: '10.2.0.0/16', port_type: 'tcp' as const, port_start: at, port_end: at };
}

/** The most CPU time in ms of this thread between two turns of its loop, while some work runs. */
async function longestBlock(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let isDone = false;
  const watching = (async () => {
    while (!isDone) {
      const before = process.threadCpuUsage();
      await turnOver();
      const { user, system } = process.threadCpuUsage(before);
      longest = Math.max(longest, (user + system) / 1_000);
    }
  })();
  await work();
  isDone = true;
  await watching;
  return longest;
}

test.serial(
  '2,000 devices and 10,000 rules for one address take bounded time, in short steps',
  async (t) => {
    const database = await openDatabase(t, 'sqlite');
    const users = await makeCrowd(database, 500);
    const { result: group } = await writeTransaction(database, async (transaction) => {
      const made = await database.models.Group.create({ name: 'half' }, { transaction });
      await database.models.GroupMembership.bulkCreate(
        users.slice(0, 250).map((user_id) => ({ user_id, group_id: made.id, source: 'manual' })),
        { transaction },
      );
      const rules = Array.from({ length: 10_000 }, (_, i) => {
        const action = i % 2 === 0 ? ('accept' as const) : ('drop' as const);
        if (i < 6_000) return { ...onePort(i), action };
        if (i < 8_000) return { ...onePort(i), action, group_id: made.id };
        return { ...onePort(i), action, user_id: users[i % 500]! };
      });
      await database.models.Rule.bulkCreate(rules, { transaction });
      return made;
    });
    t.truthy(group.id);
    const context = { config: configOf(), database };
    const recall = new Recall(database);
    for (const service of [
      { protocol: null, port: null },
      { protocol: 'tcp', port: 443 },
    ] as const) {
      const asked = { destination: '10.2.0.5', ...service };
      const before = process.cpuUsage();
      const found = await reachOf(context, recall, asked);
      const { user, system } = process.cpuUsage(before);
      // Rules are remembered now. One of five that is short is enough: the others may have had the
      // collector of garbage.
      const blocks: number[] = [];
      while (blocks.length < 5 && !blocks.some((ms) => ms < BLOCK_MS_MAX))
        blocks.push(await longestBlock(() => reachOf(context, recall, asked)));
      const block = Math.min(...blocks);
      const ms = Math.round((user + system) / 1_000);
      t.log(`${service.port ?? 'all ports'}: ${ms} ms of CPU, ${blocks.join(', ')} ms at once`);
      t.true(block < BLOCK_MS_MAX, `${block} ms`);
      t.is(found.people.length, 500);
      t.is(found.people.filter(isReaching).length, 500);
      t.true(user + system < 4_000_000, `${user + system} µs`);
    }

    // A question for all ports is refused where the rules name too many; one for a port is not.
    const small = { ...context, costMax: 1_000_000 };
    const all = { destination: '10.2.0.5', protocol: null, port: null };
    await t.throwsAsync(reachOf(small, recall, all), { instanceOf: TooManyPortsError });
    const one = await reachOf(small, recall, { ...all, protocol: 'tcp', port: 443 });
    t.is(one.people.length, 500);
  },
);
