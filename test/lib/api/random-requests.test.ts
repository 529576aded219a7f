// Random requests made of the OpenAPI document. What it allows never makes a 5xx, and is answered
// as it says (test/support/api/server.ts looks); what it cannot allow is a 4xx and changes nothing.

import test from 'ava';
import fc from 'fast-check';
import { allowedBy, refusedBy } from '../../support/api/random-values.ts';
import { databaseKinds } from '../../support/database/databases.ts';
import { operations, type Operation, type Part, resolve } from '../../support/api/openapi.ts';
import { addDevice, addRule, addUser } from '../../support/database/records.ts';
import { newKey, openServer, type TestServer } from '../../support/api/server.ts';
import { type Database, writeTransaction } from '../../../models/index.ts';
import { fakeDiagnosing, fakeExplaining, fakeLive } from '../../support/observe/fake-gateway.ts';
import { anyCharacter } from '../../support/api/characters.ts';

const writes = operations.filter(({ part }) => part.requestBody !== undefined);

/** What is asked of the data plane is answered, but that as many captures run as can. */
const GATEWAY = '01900000-0000-7000-8000-00000000cafe';
const dataPlane = {
  explaining: fakeExplaining(),
  live: fakeLive(GATEWAY),
  diagnosing: fakeDiagnosing(GATEWAY),
  capturing: { id: GATEWAY, capture: async () => null },
};

/** A server with records of every kind, and their ids by the names of paths. */
async function openFull(
  t: Parameters<typeof openServer>[0],
  kind: Parameters<typeof openServer>[1],
): Promise<TestServer & { ids: Record<string, string[]> }> {
  const server = await openServer(t, kind, { MAX_DEVICES_PER_USER: '100' }, dataPlane);
  const { database, adminId } = server;
  const { id: user } = await addUser(database);
  const device = await addDevice(database, user);
  const rules = [
    await addRule(database, { destination: '10.0.0.0/8' }),
    await addRule(database, { destination: 'fd00::/8', user_id: user }),
  ];
  const packet = { name: 'a', destination: '10.0.0.5', protocol: 'icmp', expect: 'drop' } as const;
  const { result: policyTest } = await writeTransaction(database, (transaction) =>
    database.models.PolicyTest.create({ ...packet, user_id: user }, { transaction }),
  );
  const { result: group } = await writeTransaction(database, (transaction) =>
    database.models.Group.create({ name: 'ops' }, { transaction }),
  );
  const ids = {
    users: [adminId, user],
    devices: [device.id],
    rules: rules.map(({ id }) => id),
    policy_tests: [policyTest.id],
    groups: [group.id],
    trusted_providers: ['okta'],
    saml_metadata: ['adfs'],
  };
  return { ...server, ids };
}

/** Everything that the tables of records hold. */
async function contentOf({ models }: Database): Promise<string> {
  const { User, Device, Rule, PolicyTest, Configuration } = models;
  const { Group, GroupMembership, OneTimeLink } = models;
  const rows = await Promise.all(
    [User, Device, Rule, PolicyTest, Configuration, Group, GroupMembership, OneTimeLink].map(
      (table) => (table as typeof User).findAll({ raw: true, order: ['id'] }),
    ),
  );
  return JSON.stringify(rows);
}

function bodySchema({ part }: Operation): { wrapper: string; record: Part } {
  const { schema } = part.requestBody.content['application/json'];
  const [wrapper] = schema.required as string[];
  return { wrapper: wrapper!, record: resolve(schema.properties[wrapper!]) };
}

function collectionOf({ path }: Operation): string {
  return path.split('/')[2] ?? '';
}

function pathOf({ path }: Operation, id: string): string {
  return path.replace('{kind}', 'oidc').replace('{id}', id);
}

function errorsOf({ log }: TestServer): object[] {
  return log.filter(({ level }) => level === 'error');
}

for (const kind of databaseKinds()) {
  test(`${kind}: what the document allows makes no 5xx`, async (t) => {
    t.timeout(300_000);
    const server = await openFull(t, kind);
    const { send, ids, adminId } = server;
    const request = fc.constantFrom(...operations).chain((operation) => {
      const known = ids[collectionOf(operation)] ?? [];
      // Who deletes himself is nobody in all that follows.
      const safe = operation.method === 'DELETE' ? known.filter((id) => id !== adminId) : known;
      const parameters = (operation.part.parameters ?? []) as Part[];
      return fc.record({
        operation: fc.constant(operation),
        id: fc.oneof(fc.constantFrom(...safe, 'none'), fc.uuid()),
        query: fc.record(
          Object.fromEntries(parameters.map(({ name, schema }) => [name, allowedBy(schema)])),
          { requiredKeys: [] },
        ),
        body:
          operation.part.requestBody === undefined
            ? fc.constant(null)
            : allowedBy(operation.part.requestBody.content['application/json'].schema),
      });
    });
    const statuses = new Map<number, number>();
    await fc.assert(
      fc.asyncProperty(request, async ({ operation, id, query, body }) => {
        const search = Object.entries(query)
          .map(([name, value]) => `${name}=${encodeURIComponent(readable(String(value)))}`)
          .join('&');
        const path = `${pathOf(operation, id)}?${search}`;
        const { status, text, ...answer } = await send(
          operation.method,
          path,
          body === null ? {} : { body },
        );
        const why = status < 500 ? '' : JSON.stringify(errorsOf(server));
        t.true(status < 500, `${operation.method} ${path} ${JSON.stringify(body)}: ${text}${why}`);
        if (status === 201) ids[collectionOf(operation)]?.push(answer.body.data.id as string);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }),
      // Enough that each operation has its turn, and each of these statuses comes.
      { numRuns: 900 },
    );
    t.deepEqual(errorsOf(server), []);
    for (const status of [200, 201, 204, 404, 422]) t.true(statuses.has(status), `${status}`);
    t.log([...statuses].map(([status, count]) => `${status}: ${count}`).join(', '));
  });

  test(`${kind}: what the document cannot allow is refused by name and changes nothing`, async (t) => {
    t.timeout(300_000);
    const server = await openFull(t, kind);
    const { send, ids, database, adminId } = server;
    const before = await contentOf(database);
    const request = fc.constantFrom(...writes).chain((operation) => {
      const { wrapper, record } = bodySchema(operation);
      // A confirmation without a password is ignored.
      const names = Object.keys(record.properties).filter(
        (name) => name !== 'password_confirmation',
      );
      return fc.record({
        operation: fc.constant(operation),
        wrapper: fc.constant(wrapper),
        id: fc.constantFrom(...(ids[collectionOf(operation)] ?? ['-'])),
        bad: fc
          .uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 4 })
          .chain((chosen) =>
            fc.record(
              Object.fromEntries(chosen.map((name) => [name, refusedBy(record.properties[name])])),
            ),
          ),
        noise: fc.dictionary(
          fc.constantFrom('__proto__', 'constructor', 'id', 'updated_at', '\ud800', '\0', ''),
          fc.jsonValue(),
        ),
      });
    });
    const good: Record<string, object> = {
      group: { name: 'new' },
      user: { email: 'new@example.com' },
      device: { user_id: adminId, public_key: newKey() },
      rule: { destination: '192.0.2.1' },
      policy_test: {
        name: 'b',
        user_id: adminId,
        destination: '10.0.0.6',
        protocol: 'tcp',
        port: 443,
        expect: 'accept',
      },
    };
    await fc.assert(
      fc.asyncProperty(request, async ({ operation, wrapper, id, bad, noise }) => {
        const base = operation.method === 'POST' ? good[wrapper] : {};
        const body = { ...noise, [wrapper]: { ...noise, ...base, ...bad } };
        const path = pathOf(operation, id);
        const answer = await send(operation.method, path, { body });
        t.is(answer.status, 422, `${path} ${JSON.stringify(body).slice(0, 300)}: ${answer.text}`);
        for (const name of Object.keys(bad)) t.true(name in answer.body.errors, `${name} is named`);
      }),
      { numRuns: 300 },
    );
    t.is(await contentOf(database), before);
    t.is(({} as Record<string, unknown>)['polluted'], undefined);
    t.deepEqual(errorsOf(server), []);
  });

  test(`${kind}: bytes, paths and tokens of any kind are refused and change nothing`, async (t) => {
    t.timeout(300_000);
    const server = await openFull(t, kind);
    const { send, ids, database } = server;
    const before = await contentOf(database);
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
      fc.string({ unit: anyCharacter }).map((text) => Buffer.from(JSON.stringify({ user: text }))),
      fc.json().map((text) => Buffer.from(text)),
      fc.constantFrom(
        Buffer.alloc(0),
        Buffer.from('{"user":'.repeat(20_000)),
        Buffer.from('[1e999]'),
      ),
    );
    const type = fc.constantFrom(
      'application/json',
      'text/plain',
      'application/x+json',
      'json',
      '/',
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...writes),
        bytes,
        type,
        async (operation, body, declared) => {
          const [id = ''] = ids[collectionOf(operation)] ?? [];
          const headers = { 'content-type': declared };
          const path = pathOf(operation, id);
          const { status } = await send(operation.method, path, { body, headers });
          t.true([400, 415].includes(status), `${status} ${declared} ${body.toString('latin1')}`);
        },
      ),
      { numRuns: 150 },
    );
    const segment = fc.oneof(
      fc.string({ unit: anyCharacter }).map((text) => encodeURIComponent(readable(text))),
      fc.stringMatching(/^[!-~]{0,20}$/),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('users', 'devices', 'rules', 'x'),
        segment,
        async (name, id) => {
          // An empty id is the list, what follows a question mark no part of the path.
          const path = `/v0/${name}/x${id.replaceAll(/[?#]/g, '')}`;
          const { status } = await send('PATCH', path, { body: { [name.slice(0, -1)]: {} } });
          t.is(status, 404, path);
        },
      ),
      { numRuns: 150 },
    );
    await fc.assert(
      fc.asyncProperty(fc.stringMatching(/^[ -~]{0,60}$/), async (authorization) => {
        const { status } = await send('GET', '/v0/users', {
          token: null,
          headers: { authorization },
        });
        t.is(status, 401);
      }),
      { numRuns: 100 },
    );
    t.is(await contentOf(database), before);
    t.deepEqual(errorsOf(server), []);
  });
}

/** Addresses cannot hold lone surrogates. */
function readable(text: string): string {
  return text.toWellFormed();
}
