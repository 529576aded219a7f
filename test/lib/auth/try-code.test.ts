// A code that is typed is counted before it is checked, and a good one takes its count back.

import test from 'ava';
import { ATTEMPTS_MAX } from '../../../lib/auth/attempts.ts';
import { codesOf, spends, tryCode } from '../../../lib/auth/try-code.ts';
import { addSecondFactor, renewRecoveryCodes } from '../../../lib/auth/second-factors.ts';
import type { Caller } from '../../../lib/kit/process/caller.ts';
import { type LogLine, logInto } from '../../../lib/testing/log.ts';
import { GATEWAY, writeTransaction } from '../../../models/index.ts';
import { configOf } from '../../support/api/server.ts';
import { firstKind, openDatabase } from '../../support/database/databases.ts';
import { addPerson } from '../../support/web/visitor.ts';

for (const kind of firstKind())
  test(`${kind}: good codes are not counted, and after five wrong ones nothing is tried`, async (t) => {
    const database = await openDatabase(t, kind);
    const lines: LogLine[] = [];
    const services = { config: configOf(), database, log: logInto(lines) };
    const { id } = await addPerson(database, 'ann@example.com');
    const { result: codes } = await writeTransaction(database, async (transaction) => {
      const factor = { userId: id, name: 'phone', secret: 'A'.repeat(32), step: 0 };
      await addSecondFactor(database, factor, transaction);
      return renewRecoveryCodes(database, id, transaction);
    });
    const origin = { ...GATEWAY, address: '192.0.2.7' };
    const caller: Caller = { origin, letIn: null, userId: id, seesSecrets: true, revision: null };
    const counts: boolean[] = [];
    let tried = 0;
    const shown = (code = 'wrong') =>
      tryCode(services, caller, { code, count: (isLocked) => counts.push(isLocked) }, (spend) => {
        tried += 1;
        return writeTransaction(database, (transaction) => spend(id, transaction)).then(
          ({ result }) => (result ? 'done' : null),
        );
      });
    const count = () => database.models.SignInAttempt.count();
    t.is(await shown(codes[0]), 'done');
    t.deepEqual([tried, counts, await count()], [1, [], 0]);
    t.is(await shown(codes[0]), null, 'it was used');
    t.deepEqual(counts, [false]);
    for (let i = 1; i < ATTEMPTS_MAX; i += 1) t.is(await shown(), null);
    t.is(tried, 1 + ATTEMPTS_MAX);
    t.is(await shown(codes[1]), null, 'a good one comes too late');
    t.is(tried, 1 + ATTEMPTS_MAX);
    t.deepEqual(counts.splice(ATTEMPTS_MAX), [true]);
    t.true(lines.some(({ message }) => message.includes('a wait of 15 minutes began')));
    // The code was not spent.
    const { result: isGood } = await writeTransaction(database, (transaction) =>
      spends(database, codesOf(services, caller), codes[1] ?? '')(id, transaction),
    );
    t.true(isGood);
  });
