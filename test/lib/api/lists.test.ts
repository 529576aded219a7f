// Lists: whole, in pages and filtered, while others write; long lists in bounded memory.
// docs/api.md#lists.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import Hapi from '@hapi/hapi';
import { answerList, SHORT_LIST_MAX } from '../../../lib/api/lists.ts';
import type { Listed } from '../../../lib/kit/records/collection.ts';
import { ListTurns } from '../../../lib/api/list-turns.ts';
import { LIMIT_MAX } from '../../../lib/kit/operations/id-pages.ts';
import { Recall } from '../../../lib/kit/records/recall.ts';
import { startApi } from '../../support/api/api-process.ts';
import { addManyDevices } from '../../support/database/many-devices.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
} from '../../support/database/databases.ts';
import { addDevice, addRule, addUser } from '../../support/database/records.ts';
import { migrate, noteClientFile, removeDevices, writeTransaction } from '../../../models/index.ts';
import {
  ADMIN_EMAIL,
  type Answer,
  answers,
  logInto,
  type LogLine,
  openServer,
  refused,
  type Row,
  type TestServer,
} from '../../support/api/server.ts';

const invalid = ['is invalid'];

/** A description that makes a long list of few devices. */
const LONG = 'long '.repeat(400).trim();

/** Follows `Link` from a path to the end. Returns the pages in their order. */
async function pagesFrom(t: ExecutionContext, send: TestServer['send'], path: string) {
  const pages: Answer[] = [];
  for (let next: string | null = path; next !== null;) {
    const page: Answer = await send('GET', next);
    t.is(page.status, 200, page.text);
    pages.push(page);
    next = nextOf(page);
  }
  return pages;
}

function nextOf({ headers }: Answer): string | null {
  return /^<(.*)>; rel="next"$/.exec(String(headers['link']))?.[1] ?? null;
}

function idsOf(...pages: { body: { data: { id: string }[] } }[]): string[] {
  return pages.flatMap(({ body }) => body.data.map(({ id }) => id));
}

for (const kind of databaseKinds()) {
  test(`${kind}: pages are linked by Link, the oldest record first, and together are the whole list`, async (t) => {
    const { send, adminId, database } = await openServer(t, kind);
    const ids = await addManyDevices(database, adminId, 253);
    const whole = await send('GET', '/v0/devices');
    t.deepEqual(idsOf(whole), ids);
    t.is(whole.headers['link'], undefined);
    for (const [path, sizes] of [
      ['/v0/devices?limit=100', [100, 100, 53]],
      ['/v0/devices?limit=253', [253]],
      ['/v0/devices?limit=252', [252, 1]],
      ['/v0/devices?limit=1000', [253]],
    ] as const) {
      const pages = await pagesFrom(t, send, path);
      t.deepEqual(
        pages.map(({ body }) => body.data.length),
        sizes,
        path,
      );
      t.deepEqual(
        pages.flatMap(({ body }) => body.data),
        whole.body.data,
      );
      for (const { body } of pages) t.deepEqual(Object.keys(body), ['data']);
    }
    const first = await send('GET', '/v0/devices?limit=10');
    const cursor = new URL(nextOf(first)!, 'http://x').searchParams.get('cursor')!;
    const byCursor = await send('GET', `/v0/devices?cursor=${cursor}`);
    t.deepEqual(idsOf(byCursor), ids.slice(10, 110), '100 without a limit');
    t.deepEqual(idsOf(...(await pagesFrom(t, send, nextOf(byCursor)!))), ids.slice(110));
    t.is((await send('HEAD', '/v0/devices?limit=5')).text, '');
  });

  test(`${kind}: users and rules come in pages too`, async (t) => {
    const { send, adminId, database } = await openServer(t, kind);
    for (let i = 0; i < 5; i += 1) {
      await addUser(database);
      await addRule(database, {
        destination: `10.0.0.${i}`,
        user_id: i % 2 === 0 ? adminId : null,
      });
    }
    for (const path of [
      '/v0/users',
      '/v0/rules',
      '/v0/rules?user_id=',
      `/v0/rules?user_id=${adminId}`,
    ]) {
      const whole = await send('GET', path);
      t.true(whole.body.data.length > 1, path);
      const pages = await pagesFrom(t, send, `${path}${path.includes('?') ? '&' : '?'}limit=1`);
      t.is(pages.length, whole.body.data.length, path);
      t.deepEqual(idsOf(...pages), idsOf(whole));
    }
  });

  test(`${kind}: a list that is always in pages refuses an empty filter`, async (t) => {
    const { send } = await openServer(t, kind);
    for (const name of ['groups', 'api_tokens']) {
      const { status, body } = await send('GET', `/v0/${name}?user_id=`);
      t.is(status, 422, name);
      t.deepEqual(body.errors, { user_id: ['is invalid'] });
    }
  });

  test(`${kind}: devices are filtered by whether their file is out of date, in pages too`, async (t) => {
    const { send, adminId, database } = await openServer(t, kind);
    const { id: ann } = await addUser(database);
    const ids = await addManyDevices(database, adminId, 120);
    const own = await addDevice(database, ann, { ipv4: '100.65.0.2', ipv6: 'fd00::a:2' });
    const old = ids.filter((_, i) => i % 2 === 0);
    for (const id of [...old, own.id]) await noteClientFile(database, id, '0'.repeat(64));
    const path = '/v0/devices?file_out_of_date';
    t.deepEqual(idsOf(await send('GET', `${path}=true`)), [...old, own.id]);
    t.deepEqual(idsOf(await send('GET', `${path}=true&user_id=${ann}`)), [own.id]);
    const others = ids.filter((_, i) => i % 2 === 1);
    t.deepEqual(idsOf(await send('GET', `${path}=false`)), others);
    for (const [value, all] of [
      ['true', [...old, own.id]],
      ['false', others],
    ] as const) {
      const pages = await pagesFrom(t, send, `${path}=${value}&limit=25`);
      t.deepEqual(idsOf(...pages), all);
      t.deepEqual(
        pages.map(({ body }) => body.data.length),
        value === 'true' ? [25, 25, 11] : [25, 25, 10],
      );
    }
    t.deepEqual(idsOf(await send('GET', `${path}=true&file_out_of_date=false`)), []);
    for (const value of ['', 'yes', 'TRUE', '1']) {
      const { status, body } = await send('GET', `${path}=${value}`);
      t.is(status, 422, value);
      t.deepEqual(body.errors, { file_out_of_date: ['should be one of true, false'] });
    }
    t.is((await send('GET', '/v0/users?file_out_of_date=yes')).status, 200, 'not of users');
  });

  test(`${kind}: a filter leaves only the records that match it`, async (t) => {
    const { send, adminId, database } = await openServer(t, kind);
    const { id: ann } = await addUser(database, { email: 'Ann+Lee@Example.com' });
    const { id: bob } = await addUser(database);
    const own = await addDevice(database, ann);
    await addDevice(database, adminId);
    const rule = await addRule(database, { destination: '10.0.0.1', user_id: ann });
    const global = await addRule(database, { destination: '10.0.0.2' });
    const unknown = '00000000-0000-7000-8000-000000000000';
    const table: [path: string, ids: string[]][] = [
      [`/v0/devices?user_id=${ann}`, [own.id]],
      [`/v0/devices?user_id=${ann.toUpperCase()}&limit=1`, [own.id]],
      [`/v0/devices?user_id=${ann}&user_id=${ann}`, [own.id]],
      [`/v0/devices?user_id=${ann}&user_id=${adminId}`, []],
      [`/v0/devices?user_id=${bob}`, []],
      [`/v0/devices?user_id=${unknown}`, []],
      ['/v0/devices?user_id=x', []],
      ['/v0/devices?user_id=', []],
      ['/v0/devices?user_id=%00&limit=5', []],
      ['/v0/devices?user_id=%ff', []],
      [`/v0/rules?user_id=${ann}`, [rule.id]],
      [`/v0/rules?user_id=${bob}`, []],
      ['/v0/rules?user_id=', [global.id]],
      ['/v0/rules?user_id', [global.id]],
      ['/v0/rules?user_id=x', []],
      ['/v0/policy_tests?user_id=', []],
      ['/v0/rules', [rule.id, global.id]],
      [`/v0/users?email=${encodeURIComponent('ANN+lee@example.COM')}`, [ann]],
      ['/v0/users?email=ann+lee@example.com', [ann]],
      [`/v0/users?email=${ADMIN_EMAIL}&limit=3`, [adminId]],
      ['/v0/users?email=ann', []],
      ['/v0/users?email=', []],
      ['/v0/users?email=%00', []],
      [`/v0/users?user_id=${bob}&email=${ADMIN_EMAIL}`, [adminId]],
      [`/v0/users?email=${ADMIN_EMAIL}&email=ann%2blee@example.com`, []],
      ['/v0/devices?email=nobody&page=2&__proto__=1&limit%5B%5D=x', [own.id]],
    ];
    for (const [path, ids] of table) {
      const answer = await send('GET', path);
      t.is(answer.status, 200, path);
      // The list without a filter holds the administrator's device too.
      t.deepEqual(
        path.startsWith('/v0/devices?email') ? idsOf(answer).slice(0, 1) : idsOf(answer),
        ids,
        path,
      );
    }
  });

  test(`${kind}: the link to the next page keeps the filters and the path of EXTERNAL_URL`, async (t) => {
    const settings = { EXTERNAL_URL: 'https://vpn.example.com/gate/' };
    const { send, database } = await openServer(t, kind, settings);
    const { id } = await addUser(database, { email: 'a+b&c@d.e' });
    await addManyDevices(database, id, 3);
    const page = await send('GET', `/v0/devices/?x=1&user_id=${id.toUpperCase()}&limit=02`);
    const next = nextOf(page) ?? '';
    t.true(next.startsWith(`/gate/v0/devices?limit=2&user_id=${id.toUpperCase()}&cursor=`), next);
    const last = await send('GET', next.replace('/gate', ''));
    t.is(last.body.data.length, 1);
    t.is(last.headers['link'], undefined);
  });

  test(`${kind}: an invalid limit or cursor is refused, and the answer names the parameter`, async (t) => {
    const server = await openServer(t, kind);
    const row = (query: string, errors: object): Row => ({
      says: query,
      send: ['GET', `/v0/users?${query}`],
      status: 422,
      body: refused(errors),
    });
    const late = Buffer.alloc(22, 0xff).toString('base64url');
    await answers(t, server, [
      row('limit=0', { limit: ['must be greater than or equal to 1'] }),
      row('limit=-1', { limit: ['must be greater than or equal to 1'] }),
      row(`limit=${LIMIT_MAX + 1}`, { limit: ['must be less than or equal to 1000'] }),
      row('limit=1e999', { limit: invalid }),
      row(`limit=${'9'.repeat(400)}`, { limit: ['must be less than or equal to 1000'] }),
      ...['x', '', '1.5', ' 5', '0x5', '5%00', 'null', 'true', '[]'].map((limit) =>
        row(`limit=${limit}`, { limit: invalid }),
      ),
      row('limit', { limit: invalid }),
      row('limit=5&limit=5', { limit: invalid }),
      ...[
        'x',
        '',
        '%00',
        'A'.repeat(29),
        'A'.repeat(31),
        `${'A'.repeat(29)}=`,
        late,
        server.adminId,
      ].map((cursor) => row(`cursor=${cursor}`, { cursor: invalid })),
      row('cursor=a&cursor=a', { cursor: invalid }),
      row('limit=0&cursor=x', { limit: ['must be greater than or equal to 1'], cursor: invalid }),
      row('limit=x&email=nobody', { limit: invalid }),
    ]);
    t.is((await server.send('GET', `/v0/users?cursor=${'A'.repeat(30)}`)).body.data.length, 1);
  });

  test(`${kind}: pages stay correct while other requests add and delete records`, async (t) => {
    const { send, adminId, database } = await openServer(t, kind);
    const ids = await addManyDevices(database, adminId, 120);
    const seen: string[] = [];
    let round = 0;
    for (let next: string | null = '/v0/devices?limit=10'; next !== null; round += 1) {
      const page: Answer = await send('GET', next);
      seen.push(...idsOf(page));
      next = nextOf(page);
      // Deletes one that was shown, the last one shown and one that comes later; adds one at the
      // end.
      const gone = [ids[round * 10]!, seen.at(-1)!, ids[119 - round]!];
      await writeTransaction(database, (transaction) =>
        removeDevices(database, [...new Set(gone)], transaction),
      );
      await addDevice(database, adminId, { ipv4: null, ipv6: null });
    }
    t.is(new Set(seen).size, seen.length, 'no record twice');
    t.true(round > 10);
    const missed = ids.filter((id) => !seen.includes(id));
    const later = new Set(Array.from({ length: round }, (_, i) => ids[119 - i]));
    t.true(
      missed.every((id) => later.has(id)),
      'none that existed throughout is missing',
    );
  });

  test(`${kind}: a long list is sent while it is read, and equals the sum of its pages`, async (t) => {
    const { send, adminId, database, server } = await openServer(t, kind);
    const ids = await addManyDevices(database, adminId, 2_100, { description: LONG });
    for (let i = 0; i < 2; i += 1) {
      const whole = await send('GET', '/v0/devices');
      t.true(whole.text.length > SHORT_LIST_MAX);
      t.is(whole.headers['content-type'], 'application/json; charset=utf-8');
      t.is(whole.headers['cache-control'], 'no-store');
      t.is(whole.headers['content-length'], undefined);
      t.deepEqual(idsOf(whole), ids);
    }
    const owned = await send('GET', `/v0/devices?user_id=${adminId}`);
    t.deepEqual(idsOf(owned), ids);
    const head = await server.inject({
      method: 'HEAD',
      url: '/v0/devices',
      headers: { authorization: `Bearer ${await tokenOf(database)}` },
    });
    t.is(head.statusCode, 200);
    t.is(head.payload, '');
  });
}

async function tokenOf(database: TestServer['database']): Promise<string> {
  const { createToken } = await import('../../../lib/auth/tokens.ts');
  return (await createToken(database, { email: ADMIN_EMAIL, name: 'head' })).token;
}

test('a client notices when a long list breaks off, and the log says so', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const log: LogLine[] = [];
  const record = { id: 'x', inserted_at: '2026-11-20T10:00:00.000000Z', text: 'y'.repeat(5_000) };
  let pages = 0;
  const listed: Listed = {
    name: 'things',
    filters: {},
    sources: [],
    list: async () => {
      if ((pages += 1) > 3) throw new Error('the database went away');
      return Array.from({ length: 1_000 }, () => record);
    },
  };
  const server = Hapi.server({ host: '127.0.0.1', port: 0, debug: false });
  const turns = new ListTurns();
  const context = { recall: new Recall(database), turns, log: logInto(log), outside: '' };
  server.route({
    method: 'GET',
    path: '/v0/things',
    handler: (request, h) => answerList(context, listed, request, h),
  });
  await server.start();
  t.teardown(() => server.stop());
  const response = await fetch(`${server.info.uri}/v0/things`);
  t.is(response.status, 200);
  await t.throwsAsync(response.text());
  t.deepEqual(
    log.map(({ level, message }) => [level, message]),
    [['error', 'a list broke off']],
  );
});

const MIB = 1_048_576;

/** What a process holds in memory, in MiB: at this moment, or at most so far. */
function held(pid: number | undefined, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1_024;
}

// A heap too small for a whole long list. V8 can enlarge the space for young objects freely, which
// would hide how much memory a list takes.
const LIMITS = ['--max-old-space-size=64', '--max-semi-space-size=2'];

for (const kind of databaseKinds())
  test(`${kind}: a list of 25 MB takes little memory, even when the client reads slowly`, async (t) => {
    t.timeout(180_000);
    const place = await makePlace(t, kind);
    const database = await openAt(t, place);
    await migrate(database);
    const { id } = await addUser(database);
    await addManyDevices(database, id, 10_000, { description: LONG });
    const { pid, uri, token } = await startApi(t, place, {}, LIMITS);
    const read = async (slowly: boolean): Promise<number> => {
      const request = get(`${uri}/v0/devices`, { headers: { authorization: `Bearer ${token}` } });
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      t.is(response.statusCode, 200);
      let bytes = 0;
      let end = '';
      for await (const chunk of response as AsyncIterable<Buffer>) {
        if (bytes === 0 && slowly) {
          const before = held(pid, 'VmRSS');
          await sleep(1_500);
          const grown = held(pid, 'VmRSS') - before;
          t.true(grown < 16, `${grown} MiB more while the client waited`);
        }
        bytes += chunk.length;
        end = (end + chunk.toString('latin1')).slice(-3);
      }
      t.is(end, '}]}');
      return bytes / MIB;
    };
    // What the first list loads and compiles is no part of a list, nor is a heap that has room left
    // from the start.
    const page = `${uri}/v0/devices?limit=1000`;
    for (let i = 0; i < 8; i++)
      await (await fetch(page, { headers: { authorization: `Bearer ${token}` } })).text();
    const before = held(pid, 'VmHWM');
    const size = await read(true);
    const afterOne = held(pid, 'VmHWM');
    // The first client that reads fast needs more at once than one that reads slowly.
    t.is(await read(false), size);
    const afterTwo = held(pid, 'VmHWM');
    t.is(await read(false), size);
    const afterThree = held(pid, 'VmHWM');
    const texts = [size, before, afterOne, afterTwo, afterThree].map(
      (mib) => `${mib.toFixed(0)} MiB`,
    );
    t.log(`a list of ${texts[0]}; held ${texts[1]} before, then at most ${texts.slice(2).join()}`);
    t.true(size > 20);
    t.true(afterThree - before < size / 2, 'a whole list was never there');
    t.true(afterThree - afterTwo < size / 4, 'and nothing of it stays');
  });
