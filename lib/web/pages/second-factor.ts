// The second step of signing in: a code of an authenticator, or a recovery code. Until it was shown
// nothing else is reachable.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { actorId } from '../../auth/index.ts';
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
  'This code is wrong, or it was used before. After 5 wrong codes you must wait 15 minutes.';

/** The routes of the second step. */
export function secondFactorPages(web: Web): ServerRoute[] {
  return [
    secondFactorPage('GET', '/mfa/auth', (request, h) => showStep(web, request, h, [])),
    secondFactorPage('POST', '/mfa/auth', (request, h) => judgeStep(web, request, h)),
  ];
}

/** How codes of a user are counted. */
export function codesOf(request: Request, userId: string): Counted[] {
  return [{ kind: 'code', subject: userId }, fromAddress(request.app.address)];
}

async function judgeStep(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const { database, counters } = web.services;
  const counted = codesOf(request, actorId(request));
  const taken = await takeAttempt(database, counted);
  const { refusedBy } = taken;
  const done =
    refusedBy === null
      ? await completeSecondFactor(web, request, h, async (userId, transaction) => {
          const isGood = await spendCode(database, userId, textOf(request, 'code'), transaction);
          if (isGood) await forgiveAttempt(database, counted, transaction);
          return isGood;
        })
      : null;
  if (done !== null) return done;
  counters.add('sign_ins', refusedBy === null ? 'bad_code' : 'too_many_codes');
  await noteLocks(web.services, request, taken, actorId(request));
  return (await showStep(web, request, h, [BAD_CODE])).code(401);
}

function showStep(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  faults: readonly string[],
): Promise<ResponseObject> {
  return web.pages.show(request, h, 'second-factor', { title: 'Second step', faults });
}
