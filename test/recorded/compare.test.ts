// The comparison finds every change but a field that came.

import test from 'ava';
import { differenceOf } from './compare.ts';
import { Bindings } from './placeholders.ts';
import type { RecordedAnswer } from './recording.ts';

const recorded: RecordedAnswer = {
  status: 200,
  headers: [
    ['content-type', 'application/json; charset=utf-8'],
    ['location', '/v0/rules/{{rule:uuid}}'],
  ],
  body: `{
    "data": {
      "id": "{{rule}}",
      "port": 80,
      "names": ["a", "b"],
      "owner": { "id": null, "is": true }
    }
  }`,
};
const ID = '0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee';
const OTHER = '0199aaaa-bbbb-7ccc-8ddd-ffffffffffff';
const headers = { 'content-type': 'application/json; charset=utf-8', location: `/v0/rules/${ID}` };
const data = { id: ID, port: 80, names: ['a', 'b'], owner: { id: null, is: true } };
const { id, ...withoutId } = data;
const textOf = (changes: object): string => JSON.stringify({ data: { ...data, ...changes } });

interface Received {
  status?: number;
  headers?: Record<string, string>;
  text?: string;
}

const compare = (received: Received, answer = recorded): string | null =>
  differenceOf(answer, { status: 200, headers, text: textOf({}), ...received }, new Bindings());

test('the same answer is the same', (t) => {
  t.is(compare({}), null);
});

test('fields and headers that came are no difference', (t) => {
  t.is(compare({ text: textOf({ more: 1 }) }), null);
  t.is(compare({ text: JSON.stringify({ links: {}, data: { first: [], ...data } }) }), null);
  t.is(compare({ text: textOf({ owner: { id: null, new: 'x', is: true } }) }), null);
  t.is(compare({ headers: { ...headers, etag: 'x' } }), null);
});

const changes: Record<string, [Received, string]> = {
  'a status': [{ status: 201 }, 'the status is 201, not 200: '],
  'a header': [{ headers: { ...headers, 'content-type': 'text/html' } }, 'the header content-type'],
  'a header that is missing': [
    { headers: { location: headers.location } },
    'the header content-type is missing',
  ],
  'a header of another record': [
    { headers: { ...headers, location: '/v0/rules/x' } },
    'the header location is "/v0/rules/x"',
  ],
  'a value': [{ text: textOf({ port: 81 }) }, 'body.data.port is 81, not 80'],
  'a text': [{ text: textOf({ names: ['a', 'c'] }) }, 'body.data.names[1] is "c", not "b"'],
  'a field that is missing': [
    { text: JSON.stringify({ data: { ...data, names: undefined } }) },
    'body.data.names is missing',
  ],
  'a field that is null': [{ text: textOf({ names: null }) }, 'body.data.names is null'],
  'the order of fields': [
    { text: JSON.stringify({ data: { ...withoutId, id } }) },
    'body.data has its members in the order port, names',
  ],
  'a number as text': [{ text: textOf({ port: '80' }) }, 'body.data.port is "80", not 80'],
  'a number with a fraction': [{ text: textOf({}).replace('80', '80.0') }, 'the body is not'],
  'a type': [{ text: textOf({ owner: [] }) }, 'body.data.owner is []'],
  'a boolean as number': [{ text: textOf({ owner: { id: null, is: 1 } }) }, 'body.data.owner.is'],
  'a longer list': [{ text: textOf({ names: ['a', 'b', 'c'] }) }, 'body.data.names has 3 members'],
  'a shorter list': [{ text: textOf({ names: ['a'] }) }, 'body.data.names has 1 members'],
  'the order of a list': [{ text: textOf({ names: ['b', 'a'] }) }, 'body.data.names[0]'],
  'another id in the body': [{ text: textOf({ id: OTHER }) }, 'body.data.id is'],
  whitespace: [{ text: `${textOf({})}\n` }, 'the body is not spelled'],
  'a member twice': [{ text: textOf({}).replace('"port"', '"port":80,"port"') }, 'the body is not'],
  'another spelling of a letter': [
    { text: textOf({}).replace('"a"', String.raw`"\u0061"`) },
    'the body is not spelled',
  ],
  'a body that is no JSON': [{ text: '<html>' }, 'the body is no JSON'],
  'no body': [{ text: '' }, 'the body is ""'],
};

for (const [what, [received, difference]] of Object.entries(changes))
  test(`found: ${what}`, (t) => {
    const found = compare(received) ?? 'nothing';
    t.true(found.startsWith(difference), found);
  });

test('found: a body where there was none', (t) => {
  t.is(compare({ text: '{}' }, { ...recorded, body: '' }), 'the body is "{}"');
  t.is(compare({ text: '' }, { ...recorded, body: '' }), null);
});

test('found: an error that is named beside the recorded ones', (t) => {
  const refusal = { ...recorded, headers: [], body: '{"errors":{"email":["is invalid"]}}' };
  const errors = { email: ['is invalid'] };
  t.is(compare({ text: JSON.stringify({ errors }) }, refusal), null);
  t.is(compare({ text: JSON.stringify({ errors, code: 7 }) }, refusal), null);
  const more = JSON.stringify({ errors: { ...errors, name: ['is invalid'] } });
  t.is(compare({ text: more }, refusal), 'body.errors.name was not there');
});
