// The two ways in which pages write: what is said of each end, and where the person is led.

import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi';
import test from 'ava';
import { ApiError } from '../../../../lib/kit/http/errors.ts';
import { messages } from '../../../../lib/kit/validation/messages.ts';
import { Recall } from '../../../../lib/kit/records/recall.ts';
import { Writes } from '../../../../lib/kit/records/writes.ts';
import { makeRooms, operations, type Rooms } from '../../../../lib/rooms.ts';
import { act, performs, saveForm } from '../../../../lib/web/kit/save.ts';
import type { Web } from '../../../../lib/web/kit/web.ts';
import { someCaller } from '../../../support/api/caller.ts';
import { openServer } from '../../../support/api/server.ts';

const ROOMS = { undos: { offer: async () => null } } as unknown as Rooms;
const errors = { name: [messages.blank] };

/** A page, with what it said and where it led. */
function openPage() {
  const heard: string[] = [];
  const web = {
    rooms: ROOMS,
    pages: {
      flash: (_h: unknown, kind: string, text: string) => heard.push(`${kind}: ${text}`),
      redirect: (_h: unknown, path: string) => heard.push(path),
    },
  } as unknown as Web;
  const request = (payload: object) =>
    ({
      payload,
      path: '/form',
      app: { caller: someCaller() },
      info: { received: 0 },
      auth: {},
    }) as unknown as Request;
  const response = (name: string) => {
    const code = (status: number) => heard.push(`${name} ${status}`);
    return { name, code } as unknown as ResponseObject;
  };
  return { heard, web, request, response, h: {} as ResponseToolkit };
}

const refusing = async (): Promise<never> => {
  throw new ApiError('unprocessable', { errors });
};

test('a form that is written is followed by a word on another page, or by its own', async (t) => {
  const { heard, web, request, response, h } = openPage();
  const form = {
    write: async (rooms: Rooms) => (rooms === ROOMS ? 7 : 0),
    again: async () => response('again'),
  };
  const done = (result: number) => ({ said: `${result} done`, to: '/list' });
  await saveForm(web, request({}), h, { ...form, done });
  t.deepEqual(heard.splice(0), ['done: 7 done', '/list']);
  const kind = 'failed' as const;
  await saveForm(web, request({}), h, { ...form, done: (result) => ({ ...done(result), kind }) });
  t.deepEqual(heard.splice(0), ['failed: 7 done', '/list']);
  const own = response('own');
  t.is(await saveForm(web, request({}), h, { ...form, done: async () => own }), own);
  t.deepEqual(heard, []);
});

test('a form that is refused is shown again, with status 422 and the errors of its fields', async (t) => {
  const { heard, web, request, response, h } = openPage();
  const seen: unknown[] = [];
  const form = {
    again: async (found: object) => {
      seen.push(found);
      return response('again');
    },
    done: () => ({ said: 'done', to: '/list' }),
  };
  await saveForm(web, request({}), h, { ...form, write: refusing });
  const write = async () => t.fail('a form that is refused before is not written');
  const refused = { base: ['Somebody changed this'] };
  await saveForm(web, request({}), h, { ...form, write, refused });
  t.deepEqual(seen, [errors, refused]);
  t.deepEqual(heard, ['again 422', 'again 422']);
  const missing = async () => {
    throw new ApiError('not_found');
  };
  await t.throwsAsync(saveForm(web, request({}), h, { ...form, write: missing }), {
    message: 'not_found',
  });
});

test('who goes back from a question sees the form as it was typed', async (t) => {
  const { heard, web, request, response, h } = openPage();
  const shown = response('again');
  const answer = await saveForm(web, request({ effect: 'back' }), h, {
    asked: { label: 'Save', back: '/form', isForm: true },
    write: async () => t.fail('nothing is written'),
    again: async (found) => {
      t.deepEqual(found, {});
      return shown;
    },
    done: () => ({ said: 'done', to: '/list' }),
  });
  t.is(answer, shown);
  t.deepEqual(heard, [], 'no status of an error');
});

test('a button says what came of it, where it leads or where it was', async (t) => {
  const { heard, web, request, h } = openPage();
  const button = { back: '/one', to: '/list', done: (count: number) => `${count} gone` };
  await act(web, request({}), h, { ...button, write: async () => 2 });
  t.deepEqual(heard.splice(0), ['done: 2 gone', '/list']);
  await act(web, request({}), h, { ...button, write: refusing });
  t.deepEqual(heard.splice(0), ['failed: name: Please fill this in.', '/one']);
  const failed = () => 'It stays';
  await act(web, request({}), h, { ...button, write: refusing, failed });
  t.deepEqual(heard.splice(0), ['failed: It stays', '/one']);
  const { to: _to, ...without } = button;
  await act(web, request({}), h, { ...without, write: async () => 1 });
  t.deepEqual(heard, ['done: 1 gone', '/one']);
});

test('an operation gets the record, what names it, and the errors of the form', async (t) => {
  const { services, database } = await openServer(t, 'sqlite');
  const [recall, writes] = [new Recall(database), new Writes(database)];
  const rooms = makeRooms({ services, recall, writes, fixed: {} });
  const made = await performs(someCaller(), 'createGroup', { record: { name: 'Staff' } })(rooms);
  t.is(made['name'], 'Staff');
  const params = { id: String(made['id']) };
  const bad = { description: [messages.invalid], name: [messages.invalid] };
  const refused = performs(someCaller(), 'updateGroup', {
    params,
    record: { name: '' },
    errors: bad,
  })(rooms);
  const { errors: found } = await t.throwsAsync(refused, { instanceOf: ApiError });
  // What the operation says of a field counts before what the form says.
  t.deepEqual(found, { description: [messages.invalid], name: [messages.blank] });
  t.deepEqual(await performs(someCaller(), 'deleteGroup', { params })(rooms), {});
  t.is(await database.models.Group.count(), 0);
});

test('every operation that a page names exists', (t) => {
  const folder = resolve(import.meta.dirname, '../../../../lib/web');
  const texts = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => readFileSync(join(folder, path), 'utf8'));
  const calls = texts.flatMap((text) => [...text.matchAll(/(?<!function )\bperforms\(/g)]);
  const named = texts.flatMap((text) =>
    [...text.matchAll(/\bperforms\((?:\w+|\w+\(\w+\)), '(\w+)'/g)].map(([, id]) => id),
  );
  t.is(named.length, calls.length, 'each call names its operation');
  t.true(named.length > 10);
  const ids = operations.filter(({ kind }) => kind === 'write').map(({ id }) => id);
  for (const id of named) t.true(ids.includes(id ?? ''), id);
  t.throws(() => performs(someCaller(), 'makeCoffee', {}), {
    message: 'no operation is called makeCoffee',
  });
});
