// What tests call the API by: data comes back, an error is thrown.

import test from 'ava';
import { Api, ApiRefusal } from '../../../lib/testing/api.ts';
import { answerOf, type Sent } from '../../../lib/testing/requests.ts';

function apiThatAnswers(status: number, text: string): { api: Api; asked: unknown[] } {
  const asked: unknown[] = [];
  const api = new Api(async (method: string, path: string, sent?: Sent) => {
    asked.push([method, path, sent]);
    return answerOf(status, {}, text);
  });
  return { api, asked };
}

test('each verb asks as it is called, and answers with the data', async (t) => {
  const { api, asked } = apiThatAnswers(200, '{"data":{"id":"7"}}');
  t.deepEqual(await api.get('/v0/rules/7'), { id: '7' });
  t.deepEqual(await api.post('/v0/rules', { rule: {} }), { id: '7' });
  t.deepEqual(await api.patch('/v0/rules/7', { rule: {} }), { id: '7' });
  await api.delete('/v0/rules/7');
  t.deepEqual(asked, [
    ['GET', '/v0/rules/7', {}],
    ['POST', '/v0/rules', { body: { rule: {} } }],
    ['PATCH', '/v0/rules/7', { body: { rule: {} } }],
    ['DELETE', '/v0/rules/7', {}],
  ]);
});

test('an answer without a body is no error', async (t) => {
  await t.notThrowsAsync(apiThatAnswers(204, '').api.delete('/v0/rules/7'));
});

test('an error is thrown with what was asked and answered', async (t) => {
  const { api } = apiThatAnswers(404, '{"error":"not_found"}');
  const error = await t.throwsAsync(api.get('/v0/rules/7'), {
    instanceOf: ApiRefusal,
    message: 'GET /v0/rules/7 was answered 404: {"error":"not_found"}',
  });
  t.is(error.status, 404);
  t.deepEqual(error.body, { error: 'not_found' });
});
