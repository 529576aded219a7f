// Questions who may reach an address that are asked at once: one runs, equal ones share an answer,
// and beyond some that wait they are refused.

import test, { type ExecutionContext } from 'ava';
import { WhoQuestions } from '../../../../lib/observe/explain/who-questions.ts';
import { ApiError } from '../../../../lib/kit/http/errors.ts';
import { Recall } from '../../../../lib/kit/records/recall.ts';
import { createGateway } from '../../../../lib/testing/index.ts';
import { configOf } from '../../../support/api/server.ts';
import { openDatabase } from '../../../support/database/databases.ts';
import { addUser } from '../../../support/database/records.ts';
import { openConsole } from '../../../support/web/console.ts';

const ANY = { protocol: null, port: null } as const;

async function openQuestions(t: ExecutionContext) {
  const database = await openDatabase(t, 'sqlite');
  const services = { config: configOf(), database };
  return { database, questions: new WhoQuestions({ services, recall: new Recall(database) }) };
}

test('nine questions at once are answered, others are refused, and later ones are answered', async (t) => {
  const { questions } = await openQuestions(t);
  const ask = (i: number) => questions.ask({ destination: `10.0.0.${i}`, ...ANY }, `user ${i}`);
  const asked = await Promise.allSettled(Array.from({ length: 60 }, (_, i) => ask(i)));
  const refused = asked.flatMap((one) => (one.status === 'rejected' ? [one.reason as Error] : []));
  t.is(refused.length, 51);
  for (const error of refused) {
    t.true(error instanceof ApiError);
    t.like(error, { code: 'too_many_requests', reason: 'too_many_questions' });
  }
  t.deepEqual((await ask(1)).people, []);
});

test('one asker has four requests at most, and others are answered beside them', async (t) => {
  const { questions } = await openQuestions(t);
  const ask = (i: number, asker: string) =>
    questions.ask({ destination: `10.0.0.${i}`, ...ANY }, asker);
  const greedy = Array.from({ length: 60 }, (_, i) => ask(i, 'a'));
  const asked = await Promise.allSettled([...greedy, ask(1, 'b')]);
  t.is(asked.slice(0, 60).filter(({ status }) => status === 'rejected').length, 56);
  t.is(asked[60]!.status, 'fulfilled');
  t.deepEqual((await ask(1, 'a')).people, []);
});

test('equal questions that have not begun share an answer; one that has begun is not shared', async (t) => {
  const { database, questions } = await openQuestions(t);
  const asked = { destination: '10.0.0.5', ...ANY };
  const first = questions.ask(asked, 'a');
  // The first has begun once the microtasks are done.
  await new Promise(setImmediate);
  const [second, third] = [questions.ask(asked, 'a'), questions.ask({ ...asked }, 'a')];
  const other = questions.ask({ ...asked, protocol: 'tcp', port: 443 }, 'a');
  await addUser(database, { email: 'ann@example.com' });
  t.is(await second, await third);
  t.not(await second, await first);
  t.not(await other, await second);
  t.deepEqual(
    (await second).people.map(({ user }) => user.email),
    ['ann@example.com'],
  );
});

test('a question that fails is no end of the questions behind it', async (t) => {
  const { database, questions } = await openQuestions(t);
  const { sequelize } = database;
  const query = sequelize.query.bind(sequelize) as typeof sequelize.query;
  sequelize.query = () => Promise.reject(new Error('away'));
  const failed = questions.ask({ destination: '10.0.0.5', ...ANY }, 'a');
  await t.throwsAsync(failed, { message: 'away' });
  sequelize.query = query;
  t.deepEqual((await questions.ask({ destination: '10.0.0.5', ...ANY }, 'a')).people, []);
});

test('the API answers 429 with Retry-After beyond that, and counts it', async (t) => {
  await using gateway = await createGateway();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      gateway.inject('GET', `/v0/who_may_reach?destination=10.0.0.${i}`),
    ),
  );
  const refused = answers.filter(({ status }) => status === 429);
  t.is(answers.filter(({ status }) => status === 200).length, 4);
  t.is(refused.length, 16);
  for (const { body, headers } of refused) {
    t.deepEqual(body, { error: 'too_many_requests' });
    t.is(headers['retry-after'], '1');
  }
  const { text } = await gateway.inject('GET', '/metrics');
  t.regex(text, /requests_refused_total\{reason="too_many_questions"\} 16\n/);
});

test('the page says that the gateway is busy', async (t) => {
  const { admin } = await openConsole(t, 'sqlite');
  const pages = await Promise.all(
    Array.from({ length: 12 }, (_, i) => admin.get(`/explain/who?destination=10.0.0.${i}`)),
  );
  const refused = pages.filter(({ status }) => status === 429);
  t.is(refused.length, 8);
  for (const { text } of refused) t.true(text.includes('Busy, ask again'), text);
});
