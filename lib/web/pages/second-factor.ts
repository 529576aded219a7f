// The second step of signing in: a code of an authenticator, or a recovery code. Until it was shown
// nothing else is reachable.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import type { Transaction } from '../../../models/index.ts';
import { actorId, callerOf } from '../../http/request-caller.ts';
import {
  type Counted,
  forgiveAttempt,
  fromAddress,
  noteLocks,
  takeAttempt,
} from '../../auth/attempts.ts';
import { spendCode } from '../../auth/second-factors.ts';
import { completeSecondFactor } from '../../auth/sign-in.ts';
import { textOf } from '../kit/form-token.ts';
import { secondFactorPage } from '../kit/route.ts';
import type { Web } from '../kit/web.ts';

/** What is said of every code that is not taken. */
export const BAD_CODE =
  'This code is wrong, or it was used before. After 5 wrong codes you must wait 15 minutes, after 5 more twice as long, up to a day.';

/** The routes of the second step. */
export function secondFactorPages(web: Web): ServerRoute[] {
  return [
    secondFactorPage('GET', '/mfa/auth', (request, h) => showStep(web, request, h, [])),
    secondFactorPage('POST', '/mfa/auth', (request, h) => judgeStep(web, request, h)),
  ];
}

/** How the codes that the user types are counted. */
export function codesOf(request: Request): Counted[] {
  return [{ kind: 'code', subject: actorId(request) }, fromAddress(request.app.address)];
}

/** Whether the code of the form is a good one of that user; from then on it no longer works. */
type SpendCode = (userId: string, transaction: Transaction) => Promise<boolean>;

/**
 * Does what the code of the form is asked for; `act` spends the code in its transaction. Null where
 * the code was wrong, or came after too many wrong ones (`isLocked`); `count` counts that.
 */
export async function tryCode<T>(
  web: Web,
  request: Request,
  count: (isLocked: boolean) => void,
  act: (spend: SpendCode) => Promise<T | null>,
): Promise<T | null> {
  const { database } = web.services;
  const counted = codesOf(request);
  const taken = await takeAttempt(database, counted);
  const spend: SpendCode = async (userId, transaction) => {
    const isGood = await spendCode(database, userId, textOf(request, 'code'), transaction);
    if (isGood) await forgiveAttempt(database, counted, transaction);
    return isGood;
  };
  const done = taken.refusedBy === null ? await act(spend) : null;
  if (done !== null) return done;
  count(taken.refusedBy !== null);
  await noteLocks(web.services, callerOf(request), taken, actorId(request));
  return null;
}

async function judgeStep(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const count = (isLocked: boolean): void =>
    web.services.counters.add('sign_ins', isLocked ? 'too_many_codes' : 'bad_code');
  const done = await tryCode(web, request, count, (spend) =>
    completeSecondFactor(web, request, h, spend),
  );
  return done ?? (await showStep(web, request, h, [BAD_CODE])).code(401);
}

function showStep(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  faults: readonly string[],
): Promise<ResponseObject> {
  return web.pages.show(request, h, 'second-factor', { title: 'Second step', faults });
}
