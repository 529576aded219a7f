// What is behind a one-time link: a password to choose, or the way to an identity provider. Looking
// at it changes nothing, because scanners of mail open links; only the form, or the word of the
// provider, uses the link. docs/api.md#enrolment.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import type { LinkPurpose, User } from '../../../models/index.ts';
import { endWait } from '../../auth/accounts.ts';
import { LOCAL_METHOD } from '../../auth/local.ts';
import {
  LINK_FIELD,
  LINK_PATH,
  LinkRefusal,
  openLink,
  useLink,
} from '../../auth/one-time-links.ts';
import { hashPassword } from '../../auth/passwords.ts';
import { completeSignIn } from '../../auth/sign-in.ts';
import { hasNoErrors } from '../../kit/validation/validate.ts';
import type { FormErrors } from '../kit/plain-words.ts';
import { messages } from '../../kit/validation/messages.ts';
import { saveChanges } from '../../kit/records/writes.ts';
import { validatePasswordFields } from '../../domain/users/users.ts';
import { textOf } from '../kit/form-token.ts';
import { openPage } from '../kit/route.ts';
import { say } from '../kit/texts.ts';
import type { Web } from '../kit/web.ts';
import { answerLocalOff, isLocalOn, providersOf } from './sign-in.ts';
import { OWN_DEVICES } from './user-devices.ts';

const PATH = `${LINK_PATH}/{secret}`;

/** The routes of a link. */
export function oneTimeLinkPages(web: Web): ServerRoute[] {
  return [
    openPage(
      'GET',
      PATH,
      counted(web, (request, h) => showLink(web, request, h, {})),
    ),
    openPage(
      'POST',
      PATH,
      counted(web, (request, h) => choosePassword(web, request, h)),
    ),
  ];
}

type Handler = (request: Request, h: ResponseToolkit) => Promise<ResponseObject>;

/** Counts links that are refused. */
function counted({ services }: Web, handler: Handler): Handler {
  return async (request, h) => {
    try {
      return await handler(request, h);
    } catch (error) {
      if (error instanceof LinkRefusal) services.counters.add('sign_ins', 'link_refused');
      throw error;
    }
  };
}

async function showLink(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  errors: FormErrors,
): Promise<ResponseObject> {
  const secret = secretOf(request);
  const { link, user } = await openLink(web.services.database, secret);
  const isLocal = await isLocalOn(web);
  const isReset = link.purpose === 'password_reset';
  const isDeviceNext = await addsDevice(web, user, link.purpose);
  const [title, more] = isReset
    ? (['link.reset', 'link.reset_more'] as const)
    : ([
        user.last_signed_in_at === null ? 'link.welcome' : 'link.back',
        isDeviceNext ? 'link.welcome_more' : 'link.back_more',
      ] as const);
  const query = new URLSearchParams({
    [LINK_FIELD]: secret,
    return_to: placeAfter(isDeviceNext),
  }).toString();
  return web.pages.show(request, h, 'one-time-link', {
    title: say(title),
    email: user.email,
    more,
    isEnrolment: !isReset,
    isLocalOn: isLocal,
    action: `${LINK_PATH}/${secret}`,
    until: link.expires_at.toISOString(),
    providers: (await providersOf(web, null)).map(({ label, path }) => ({
      label,
      path: `${path}?${query}`,
    })),
    errors,
  });
}

async function choosePassword(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  if (!(await isLocalOn(web))) return answerLocalOff(web, request, h);
  const { database, passwordCost, counters } = web.services;
  const { link, user } = await openLink(database, secretOf(request));
  const typed = textOf(request, 'password');
  const { values, errors } = validatePasswordFields({
    password: typed,
    password_confirmation: textOf(request, 'password_confirmation'),
  });
  if (typed === '') errors['password'] = [messages.blank];
  if (!hasNoErrors(errors)) return (await showLink(web, request, h, errors)).code(422);
  const password_hash = await hashPassword(values.password ?? '', passwordCost);
  const response = await completeSignIn(web, request, h, {
    userId: user.id,
    method: LOCAL_METHOD,
    returnTo: placeAfter(await addsDevice(web, user, link.purpose)),
    also: async (present, transaction) => {
      await useLink(database, link, transaction);
      await endWait(database, present, transaction);
      await saveChanges(present, { password_hash }, transaction);
    },
  });
  counters.add('sign_ins', 'link_used');
  return response;
}

/** Whether the person, who is new and has no device, adds one next. */
async function addsDevice(
  { recall, services }: Web,
  { id, role, last_signed_in_at: lastSignedInAt }: User,
  purpose: LinkPurpose,
): Promise<boolean> {
  if (purpose === 'password_reset' || lastSignedInAt !== null) return false;
  await recall.refresh();
  const { allow_unprivileged_device_management: management } = await recall.configuration();
  if (role !== 'admin' && !management) return false;
  return (await services.database.models.Device.count({ where: { user_id: id } })) === 0;
}

/** Where the person goes on: to the form of a device, or to where everybody begins. */
function placeAfter(isDeviceNext: boolean): string {
  return isDeviceNext ? `${OWN_DEVICES}/new` : '/';
}

function secretOf(request: Request): string {
  return String(request.params['secret']);
}
