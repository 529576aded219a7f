// Answers to writes wait until they are in force: docs/api.md#when-a-write-is-in-force.

import test from 'ava';
import { currentRevision } from '../../../../models/index.ts';
import { openServer } from '../../../support/api/server.ts';

test('a write is answered with its revision, once it is in force', async (t) => {
  const asked: [revision: number, timeoutMs: number][] = [];
  const gate = Promise.withResolvers<boolean>();
  const whenApplied = (revision: number, timeoutMs: number): Promise<boolean> => {
    asked.push([revision, timeoutMs]);
    return gate.promise;
  };
  const { send, database } = await openServer(t, 'sqlite', {}, { whenApplied });
  let isAnswered = false;
  const sent = send('POST', '/v0/rules', { body: { rule: { destination: '10.0.0.1' } } });
  void sent.then(() => (isAnswered = true));
  while (asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  t.false(isAnswered);
  gate.resolve(true);
  const answer = await sent;
  const revision = await currentRevision(database);
  t.deepEqual(asked, [[revision, 2000]]);
  t.is(answer.headers['postern-revision'], String(revision));
  t.is(answer.headers['postern-applied'], 'true');
});

test('a write that is not in force in time is kept, and the answer says so', async (t) => {
  const { send } = await openServer(t, 'sqlite', {}, { whenApplied: async () => false });
  const made = await send('POST', '/v0/rules', { body: { rule: { destination: '10.0.0.1' } } });
  t.is(made.status, 201);
  t.is(made.headers['postern-applied'], 'false');
  const { id } = made.body.data;
  const same = await send('PATCH', `/v0/rules/${id}`, { body: { rule: {} } });
  t.is(same.headers['postern-revision'], made.headers['postern-revision']);
  const gone = await send('DELETE', `/v0/rules/${id}`);
  t.is(gone.status, 204);
  t.is(gone.headers['postern-applied'], 'false');
});

test('a request that writes nothing waits for nothing', async (t) => {
  const whenApplied = (): Promise<boolean> => Promise.reject(new Error('asked'));
  const { send } = await openServer(t, 'sqlite', {}, { whenApplied });
  for (const [method, path, body] of [
    ['GET', '/v0/rules', undefined],
    ['POST', '/v0/rules', { rule: {} }],
    ['DELETE', '/v0/rules/x', undefined],
  ] as const) {
    const { status, headers } = await send(method, path, body === undefined ? {} : { body });
    t.true(status < 500);
    t.is(headers['postern-revision'], undefined);
    t.is(headers['postern-applied'], undefined);
  }
});
