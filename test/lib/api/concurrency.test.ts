// Requests at one instant: what is unique stays unique, what is limited stays limited, and whoever
// comes late is refused as if he had come a day later. By one server, and by two processes on one
// database. docs/api.md#conventions.

import test, { type ExecutionContext } from 'ava';
import { migrate } from '../../../models/index.ts';
import { type ApiProcess, type ApiServer, startProcess } from '../../support/api/api-process.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  type TestDatabaseKind,
} from '../../support/database/databases.ts';
import { checkAnswer } from '../../support/api/openapi.ts';
import { newKey, openServer, refused } from '../../support/api/server.ts';

type Send = ApiServer['send'];

/** Processes that serve the databases of all tests here; more processes only take longer to start. */
const processes: ApiProcess[] = [];

/** Servers on one database: each request goes to the next of them. */
interface Servers {
  sends: Send[];
  adminId: string;
}

async function openServers(
  t: ExecutionContext,
  kind: TestDatabaseKind,
  count: number,
  settings: Record<string, string>,
): Promise<Servers> {
  t.timeout(120_000);
  if (count === 1) {
    const { send, adminId } = await openServer(t, kind, settings);
    return { sends: [send], adminId };
  }
  const place = await makePlace(t, kind);
  await migrate(await openAt(t, place));
  while (processes.length < count) processes.push(startProcess());
  const servers: ApiServer[] = [];
  for (const { serve } of processes) servers.push(await serve(place, settings));
  const sends = servers.map(({ send }): Send => async (method, path, sent) => {
    const answer = await send(method, path, sent);
    t.is(checkAnswer(method, path, answer), null, answer.text);
    return answer;
  });
  const { body } = await sends[0]!('GET', '/v0/users');
  return { sends, adminId: body.data[0].id };
}

/** Sends bodies at one instant; those that were refused, and the records that were made. */
async function race(
  { sends }: Servers,
  path: string,
  bodies: readonly object[],
): Promise<{ made: Record<string, unknown>[]; refusals: object[]; statuses: number[] }> {
  const answers = await Promise.all(
    bodies.map((body, i) => sends[i % sends.length]!('POST', path, { body })),
  );
  return {
    made: answers.filter(({ status }) => status === 201).map(({ body }) => body.data),
    refusals: answers.filter(({ status }) => status === 422).map(({ body }) => body as object),
    statuses: answers.map(({ status }) => status),
  };
}

const times = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));

for (const kind of databaseKinds())
  for (const count of [1, 2]) {
    const name = `${kind}, ${count === 1 ? 'one server' : 'two processes'}`;

    test(`${name}: 50 creations get the 40 free addresses, and ten a clean refusal`, async (t) => {
      const servers = await openServers(t, kind, count, {
        WIREGUARD_IPV4_NETWORK: '100.64.0.0/26',
        WIREGUARD_IPV6_ENABLED: 'false',
        MAX_DEVICES_PER_USER: '100',
      });
      const device = (): object => ({
        device: { user_id: servers.adminId, public_key: newKey() },
      });
      // Of 64 addresses the first, the last and the gateway's are reserved.
      t.is((await race(servers, '/v0/devices', times(21, device))).made.length, 21);
      const { made, refusals } = await race(servers, '/v0/devices', times(50, device));
      t.is(made.length, 40);
      t.is(new Set(made.map(({ ipv4 }) => ipv4)).size, 40);
      t.deepEqual(
        refusals,
        times(10, () => refused({ base: ['CIDR 100.64.0.0/26 is exhausted'] })),
      );
      const { body } = await servers.sends[0]!('GET', '/v0/devices');
      t.is(new Set(body.data.map(({ ipv4 }: { ipv4: string }) => ipv4)).size, 61);
    });

    test(`${name}: of equal records at one instant one is made`, async (t) => {
      const servers = await openServers(t, kind, count, { MAX_DEVICES_PER_USER: '100' });
      const { adminId } = servers;
      const public_key = newKey();
      const taken = ['has already been taken'];
      const spellings = ['ann@example.com', 'ANN@example.com', 'Ann@Example.Com'];
      const cases: [path: string, body: (i: number) => object, errors: object][] = [
        // E-mails are equal in any case.
        ['/v0/users', (i) => ({ user: { email: spellings[i % 3] } }), { email: taken }],
        [
          '/v0/rules',
          () => ({ rule: { destination: '10.0.0.0/8' } }),
          { destination: ['destination overlaps with an existing rule'] },
        ],
        [
          '/v0/rules',
          () => ({ rule: { destination: '10.0.0.0/8', user_id: adminId } }),
          { destination: ['destination overlaps with an existing rule'] },
        ],
        [
          '/v0/devices',
          () => ({ device: { user_id: adminId, public_key: newKey(), name: 'laptop' } }),
          { name: taken },
        ],
        [
          '/v0/devices',
          () => ({ device: { user_id: adminId, public_key } }),
          { public_key: taken },
        ],
        [
          '/v0/devices',
          () => ({ device: { user_id: adminId, public_key: newKey(), ipv4: '100.64.9.9' } }),
          { ipv4: taken },
        ],
        [
          '/v0/devices',
          () => ({ device: { user_id: adminId, public_key: newKey(), ipv6: 'fd00::9:9' } }),
          { ipv6: taken },
        ],
      ];
      for (const [path, body, errors] of cases) {
        const { made, refusals, statuses } = await race(servers, path, times(20, body));
        t.is(made.length, 1, `${path} ${JSON.stringify(errors)}: ${statuses.join(' ')}`);
        t.deepEqual(
          refusals,
          times(19, () => refused(errors)),
        );
      }
    });

    test(`${name}: the limit of devices is reached and not passed`, async (t) => {
      const servers = await openServers(t, kind, count, { MAX_DEVICES_PER_USER: '7' });
      const limit =
        'Maximum device limit reached. Remove an existing device before creating a new one.';
      const { made, refusals } = await race(
        servers,
        '/v0/devices',
        times(20, () => ({ device: { user_id: servers.adminId, public_key: newKey() } })),
      );
      t.is(made.length, 7);
      t.deepEqual(
        refusals,
        times(13, () => refused({ base: [limit] })),
      );
      t.is(new Set(made.map((device) => device['name'])).size, 7, 'made-up names differ');
    });

    test(`${name}: a record that is deleted while it is changed is either`, async (t) => {
      const servers = await openServers(t, kind, count, {});
      for (let i = 0; i < 5; i += 1) {
        const { made } = await race(servers, '/v0/rules', [
          { rule: { destination: `10.0.0.${i}` } },
        ]);
        const path = `/v0/rules/${String(made[0]?.['id'])}`;
        const answers = await Promise.all(
          times(10, (j) => {
            const send = servers.sends[j % servers.sends.length]!;
            return j === 5
              ? send('DELETE', path)
              : send('PATCH', path, {
                  body: { rule: { action: j % 2 === 0 ? 'drop' : 'accept' } },
                });
          }),
        );
        t.is(answers[5]?.status, 204);
        for (const { status } of answers.toSpliced(5, 1)) t.true([200, 404].includes(status));
        t.is((await servers.sends[0]!('GET', path)).status, 404);
      }
    });
  }
