// Jobs: what is stored of them, in which order they run, and how they end.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { messages } from '../../../../lib/kit/validation/messages.ts';
import { ApiError } from '../../../../lib/kit/http/errors.ts';
import { type Job, JOB_RECORDS_MAX, type JobPlan, Jobs } from '../../../../lib/web/kit/jobs.ts';
import { someCaller } from '../../../support/api/caller.ts';
import { logInto, type LogLine } from '../../../support/api/server.ts';

const caller = someCaller('r1');

function planned(fields: Partial<JobPlan> = {}): JobPlan {
  return {
    userId: 'u',
    ids: ['a', 'b', 'c'],
    matching: async (ids) => ids,
    names: async (ids) => new Map(ids.map((id) => [id, `name of ${id}`])),
    run: async () => undefined,
    title: 'Switch off',
    nouns: ['device', 'devices'],
    done: 'switched off',
    back: '/devices',
    action: '/devices/many',
    ...fields,
  };
}

async function done(jobs: Jobs, plan: JobPlan): Promise<Job> {
  const job = jobs.ask(plan)!;
  jobs.begin(job, caller);
  while (!job.isOver) await sleep(1);
  return job;
}

test('records are changed in parts, each once, and a record that no longer matches is left alone', async (t) => {
  const jobs = new Jobs(logInto([]));
  const ids = Array.from({ length: 50 }, (_, i) => `id ${i}`);
  const begun: string[] = [];
  let [most, now] = [0, 0];
  const job = await done(
    jobs,
    planned({
      ids,
      matching: async (some) => some.filter((id) => !id.endsWith('7')),
      run: async (_request, id) => {
        begun.push(id);
        most = Math.max(most, (now += 1));
        await sleep(1);
        now -= 1;
      },
    }),
  );
  t.like(job, { done: 45, passedOver: 5, refused: 0, broke: null, total: 50 });
  t.true(most > 1 && most <= 16, `${most} at once`);
  jobs.begin(job, caller);
  t.is(begun.length, 45);
});

test('refused records are named, and the others are changed', async (t) => {
  const error = (): never => {
    throw new ApiError('unprocessable', { errors: { base: [messages.ownSwitch] } });
  };
  const gone = (): never => {
    throw new ApiError('not_found');
  };
  const job = await done(
    new Jobs(logInto([])),
    planned({ run: async (_request, id) => (id === 'a' ? error() : id === 'b' ? gone() : null) }),
  );
  t.like(job, { done: 1, passedOver: 1, refused: 1, broke: null });
  t.deepEqual(job.named, [{ name: 'name of a', why: 'You cannot disable yourself' }]);
});

test('a job stops when its administrator may no longer write', async (t) => {
  const ids = Array.from({ length: 40 }, (_, i) => `${i}`);
  let runs = 0;
  const job = await done(
    new Jobs(logInto([])),
    planned({
      ids,
      run: async () => {
        if ((runs += 1) > 20) throw new ApiError('forbidden');
      },
    }),
  );
  t.like(job, { done: 20, broke: 'You may not do this now.' });
  t.is(runs, 32);
});

test('an error ends a job, and the log holds it', async (t) => {
  const log: LogLine[] = [];
  const run = () => Promise.reject(new Error('the database went away'));
  const job = await done(new Jobs(logInto(log)), planned({ run }));
  t.regex(job.broke ?? '', /its log says why/);
  t.is(log[0]?.message, 'a job broke off');
});

test('a gateway that stops finishes started writes and starts no others', async (t) => {
  const jobs = new Jobs(logInto([]));
  const ids = Array.from({ length: 40 }, (_, i) => `${i}`);
  let [runs, ended] = [0, 0];
  const job = jobs.ask(
    planned({
      ids,
      run: async () => {
        runs += 1;
        await sleep(5);
        ended += 1;
      },
    }),
  )!;
  jobs.begin(job, caller);
  while (runs === 0) await sleep(1);
  await jobs.stop();
  t.is(ended, runs);
  t.is(runs, 16);
  t.is(job.broke, 'The gateway stopped.');
});

test('jobs that nobody confirms are removed for new ones, running jobs are not', async (t) => {
  const jobs = new Jobs(logInto([]));
  const ids = Array.from({ length: JOB_RECORDS_MAX }, () => 'x');
  const [first, second] = [jobs.ask(planned({ ids }))!, jobs.ask(planned({ ids }))!];
  t.is(jobs.find(first.id, 'u'), first);
  t.is(jobs.find(first.id, 'somebody else'), null);
  const { promise, resolve } = Promise.withResolvers<readonly string[]>();
  const third = jobs.ask(planned({ ids, matching: () => promise }))!;
  t.is(jobs.find(first.id, 'u'), null, 'the oldest goes');
  t.is(jobs.find(second.id, 'u'), second);
  jobs.begin(third, caller);
  const fourth = jobs.ask(planned({ ids, matching: () => promise }))!;
  jobs.begin(fourth, caller);
  t.is(jobs.ask(planned()), null, 'both that are kept run');
  resolve([]);
  await jobs.stop();
  t.truthy(jobs.ask(planned()));
});
