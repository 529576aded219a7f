// The page behind “Forgot password?”: asks for an e-mail and always answers the same. It is offered
// where mails can be sent and passwords are in use. docs/api.md#forgotten-passwords.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { Buckets } from '../../auth/buckets.ts';
import { sendReset } from '../../domain/enrolment/forgotten.ts';
import { TunnelAddresses } from '../../kit/http/tunnel-addresses.ts';
import { ApiError } from '../../kit/http/errors.ts';
import type { Mails } from '../../kit/mail/mailer.ts';
import { callerOf } from '../../kit/http/request-caller.ts';
import { textOf } from '../kit/form-token.ts';
import { openPage } from '../kit/route.ts';
import { say } from '../kit/texts.ts';
import type { Web } from '../kit/web.ts';
import { isLocalOn } from './sign-in.ts';

const PATH = '/forgotten_password';
/** Wishes of one address: an office may ask ten times at once, and once a minute. */
const WISHES = { perSecond: 1 / 60, burst: 10 };

/** The routes. */
export function forgottenPasswordPages(web: Web): ServerRoute[] {
  const { config } = web.services;
  const { scopeOf } = new TunnelAddresses(config);
  const buckets = config.apiRateLimit === 0 ? null : new Buckets(WISHES);
  return [
    openPage('GET', PATH, async (request, h) => {
      await mailsOf(web);
      return showPage(web, request, h, {});
    }),
    openPage('POST', PATH, async (request, h) => {
      const mails = await mailsOf(web);
      // From the form that signs in, with what was typed there.
      if (textOf(request, 'do') === 'forgot')
        return showPage(web, request, h, { email: textOf(request, 'email') });
      if (buckets?.take(scopeOf(request.app.address ?? '')) === false)
        throw new ApiError('too_many_requests', { reason: 'too_many_resets' });
      const { database } = web.services;
      const email = textOf(request, 'email');
      const origin = callerOf(request).origin;
      const context = { database, mails, externalUrl: config.externalUrl, origin };
      // Not waited for: how long it takes would tell who has an account.
      mails.later(() => sendReset(context, email));
      return showPage(web, request, h, { isAsked: true });
    }),
  ];
}

async function mailsOf(web: Web): Promise<Mails> {
  const { mails } = web.services;
  if (mails === undefined || !(await isLocalOn(web))) throw new ApiError('not_found');
  return mails;
}

function showPage(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  { email = '', isAsked = false }: { readonly email?: string; readonly isAsked?: boolean },
): Promise<ResponseObject> {
  const values = { title: say('forgot.title'), email, isAsked };
  return web.pages.show(request, h, 'forgotten-password', values);
}
