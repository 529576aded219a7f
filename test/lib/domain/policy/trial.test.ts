// The answer of a policy test is what the gateway does: POST /v0/explain says the same of the same
// packet once the rules are in force, and so does a slow twin of the filter. A write is held up if
// and only if a test that passes would fail.

import test from 'ava';
import fc from 'fast-check';
import { createGateway, type TestGateway } from '../../../../lib/testing/index.ts';
import { type ShownRule, twinVerdict } from './twin.ts';

interface Shown {
  readonly id: string;
  readonly name: string;
  readonly user_id: string | null;
  readonly device_id: string | null;
  readonly destination: string;
  readonly protocol: 'tcp' | 'udp' | 'icmp';
  readonly port: number | null;
  readonly expect: 'accept' | 'drop';
  readonly passes: boolean;
  readonly verdict: 'accept' | 'drop';
  readonly reason: string | null;
  readonly rule_id: string | null;
}

const host = fc
  .tuple(fc.integer({ min: 0, max: 1 }), fc.integer({ min: 1, max: 3 }))
  .map(([b, c]) => `10.0.${b}.${c}`);
const host6 = fc.integer({ min: 1, max: 3 }).map((c) => `fd12::${c}`);
const port = fc.integer({ min: 1, max: 4 });
const network = fc.oneof(
  fc.tuple(host, fc.constantFrom(8, 16, 24, 31, 32)).map(([text, bits]) => `${text}/${bits}`),
  fc.tuple(host6, fc.constantFrom(16, 64, 127, 128)).map(([text, bits]) => `${text}/${bits}`),
);
const whose = fc.constantFrom(null, 0, 1);
const ports = fc.option(
  fc.tuple(fc.constantFrom('tcp', 'udp'), port, port).map(([type, a, b]) => ({
    port_type: type,
    port_range: `${Math.min(a, b)} - ${Math.max(a, b)}`,
  })),
  { nil: { port_type: null, port_range: null } },
);
const asks = fc.oneof(
  { weight: 4, arbitrary: ports.map((some) => ({ ...some, protocol: null })) },
  {
    weight: 1,
    arbitrary: fc.constant({ port_type: null, port_range: null, protocol: 'icmp' }),
  },
);
const rule = fc
  .tuple(fc.constantFrom('accept', 'drop'), network, asks, whose)
  .map(([action, destination, traffic, owner]) => ({ action, destination, ...traffic, owner }));
const traffic = fc.oneof(
  fc.tuple(fc.constantFrom('tcp', 'udp'), port).map(([protocol, to]) => ({ protocol, port: to })),
  fc.constant({ protocol: 'icmp', port: null }),
);
const asked = fc
  .tuple(
    fc.constantFrom('accept', 'drop'),
    fc.oneof(host, host6),
    traffic,
    fc.integer({ min: 0, max: 3 }),
  )
  .map(([expect, destination, what, who]) => ({ expect, destination, ...what, who }));

type ValueOf<A> = A extends fc.Arbitrary<infer Value> ? Value : never;

/** Empties rules and tests of a gateway. */
async function empty({ api }: TestGateway): Promise<void> {
  for (const path of ['/v0/policy_tests', '/v0/rules'])
    for (const { id } of await api.get<{ id: string }[]>(path)) await api.delete(`${path}/${id}`);
}

for (const defaultAction of ['accept', 'drop'] as const)
  test(`policy tests, explanations, a slow twin and refusals agree: default ${defaultAction}`, async (t) => {
    await using gateway = await createGateway({ settings: { DEFAULT_ACTION: defaultAction } });
    const { api } = gateway;
    const devices = [
      await gateway.addDevice({ user: 'a@example.com' }),
      await gateway.addDevice({ user: 'b@example.com' }),
    ];
    const owners = devices.map(({ userId }) => userId);
    const makeTest = async (
      { who, ...fields }: ValueOf<typeof asked>,
      name: string,
    ): Promise<void> => {
      const sender = who < 2 ? { user_id: owners[who] } : { device_id: devices[who - 2]?.id };
      await api.post('/v0/policy_tests', { policy_test: { name, ...fields, ...sender } });
    };
    const ownerOf = ({ user_id, device_id }: Shown): string =>
      user_id ?? devices.find(({ id }) => id === device_id)?.userId ?? '';
    const twinOf = (rules: readonly ShownRule[], one: Shown) =>
      twinVerdict(rules, { ...one, ownerId: ownerOf(one) }, defaultAction);
    let heldUp = 0;

    /** Writes a rule after those of `before`, and adds it to them. */
    const writeRule = async (
      { owner, ...fields }: ValueOf<typeof rule>,
      before: ShownRule[],
      tests: readonly Shown[],
    ): Promise<void> => {
      const body = { rule: { ...fields, user_id: owner === null ? null : owners[owner] } };
      const answer = await gateway.inject('POST', '/v0/rules', { body });
      const made = { id: 'made', ...body.rule } as ShownRule;
      const failing = tests.filter(
        (one) =>
          twinOf(before, one).verdict === one.expect &&
          twinOf([...before, made], one).verdict !== one.expect,
      );
      const errors = (answer.body as { errors?: Record<string, string[]> }).errors ?? {};
      if (errors['destination'] !== undefined) return;
      t.is(answer.status, failing.length === 0 ? 201 : 422, answer.text);
      t.is((errors['base'] ?? []).length, failing.length, answer.text);
      for (const { name } of failing)
        t.true(
          errors['base']?.some((text) => text.includes(`"${name}"`)),
          answer.text,
        );
      if (failing.length === 0) return void before.push(answer.body.data as ShownRule);
      heldUp += 1;
      const forced = await gateway.inject('POST', '/v0/rules?force=true', { body });
      t.is(forced.status, 201, forced.text);
      before.push(forced.body.data as ShownRule);
    };

    const compareAll = async (): Promise<void> => {
      const rules = await api.get<ShownRule[]>('/v0/rules');
      for (const one of await api.get<Shown[]>('/v0/policy_tests')) {
        const twin = twinOf(rules, one);
        t.is(one.verdict, twin.verdict);
        t.is(one.passes, one.verdict === one.expect);
        if (one.rule_id === null) t.deepEqual(twin.rules, []);
        else t.true(twin.rules.includes(one.rule_id));
        if (one.device_id === null) continue;
        const { device_id, destination, protocol, port: to } = one;
        const explain = { device_id, destination, protocol, port: to };
        const said = await api.post<Pick<Shown, 'verdict' | 'reason' | 'rule_id'>>('/v0/explain', {
          explain,
        });
        const { verdict, reason, rule_id } = one;
        t.like(said, { verdict, reason, rule_id });
      }
    };

    // A world in which a write is held up: chance alone makes none in one of many runs.
    const other = defaultAction === 'accept' ? 'drop' : 'accept';
    const ping = { destination: '10.0.0.1', protocol: 'icmp', port: null, who: 0 } as const;
    const all = { port_type: null, port_range: null, protocol: null, owner: null } as const;
    const breaking = { action: other, destination: '10.0.0.1/32', ...all } as const;
    await fc.assert(
      fc.asyncProperty(
        fc.array(asked, { minLength: 3, maxLength: 8 }),
        fc.array(rule, { minLength: 3, maxLength: 8 }),
        async (tests, rules) => {
          await empty(gateway);
          for (const [i, one] of tests.entries()) await makeTest(one, `test ${i}.`);
          const shown = await api.get<Shown[]>('/v0/policy_tests');
          const written: ShownRule[] = [];
          for (const one of rules) await writeRule(one, written, shown);
          t.deepEqual(await api.get<ShownRule[]>('/v0/rules'), written);
          await compareAll();
        },
      ),
      {
        numRuns: 15,
        endOnFailure: true,
        examples: [[[{ ...ping, expect: defaultAction }], [breaking]]],
      },
    );
    t.true(heldUp > 0, 'some writes were held up');
  });
