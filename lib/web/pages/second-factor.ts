// The second step of signing in: a code of an authenticator, or a recovery code. Until it was shown
// nothing else is reachable.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { callerOf } from '../../kit/http/request-caller.ts';
import { completeSecondFactor } from '../../auth/sign-in.ts';
import { tryCode } from '../../auth/try-code.ts';
import { textOf } from '../kit/form-token.ts';
import { secondFactorPage } from '../kit/route.ts';
import { say } from '../kit/texts.ts';
import type { Web } from '../kit/web.ts';

/** The routes of the second step. */
export function secondFactorPages(web: Web): ServerRoute[] {
  return [
    secondFactorPage('GET', '/mfa/auth', (request, h) => showStep(web, request, h, [])),
    secondFactorPage('POST', '/mfa/auth', (request, h) => validateStep(web, request, h)),
  ];
}

async function validateStep(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const count = (isLocked: boolean): void =>
    web.services.counters.add('sign_ins', isLocked ? 'too_many_codes' : 'bad_code');
  const typed = { code: textOf(request, 'code'), count };
  const done = await tryCode(web.services, callerOf(request), typed, (spend) =>
    completeSecondFactor(web, request, h, spend),
  );
  return done ?? (await showStep(web, request, h, [say('code.wrong')])).code(401);
}

function showStep(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  errors: readonly string[],
): Promise<ResponseObject> {
  return web.pages.show(request, h, 'second-factor', { title: say('code.title'), errors });
}
