// Enrolment: a person gets a one-time link, chooses a password where one is needed, and adds a
// device whose private key nobody else sees. docs/api.md#enrolment.

import {
  type Database,
  findLinkOf,
  isTakable,
  noteAction,
  type OneTimeLink,
  revokeLink,
  type User,
} from '../../../models/index.ts';
import { LINK_HOURS, linkAddress, type LinkWish, makeLink } from '../../auth/one-time-links.ts';
import { ApiError } from '../../kit/http/errors.ts';
import {
  choice,
  flag,
  integer,
  mark,
  recordId,
  resource,
  text,
  timestamp,
} from '../../kit/validation/fields.ts';
import { addError, type Validated, validatorOf } from '../../kit/validation/validate.ts';
import { messages } from '../../kit/validation/messages.ts';
import type { Mails } from '../../kit/mail/mailer.ts';
import type { Caller } from '../../kit/process/caller.ts';
import type { RecordContext } from '../../kit/records/collection.ts';
import { type Shown, showTime, showTimeOrNull } from '../../kit/records/shown.ts';
import { refuseErrors } from '../../kit/records/writes.ts';
import { findUser } from '../users/users.ts';
import { type JoinWish, planJoining } from './joining.ts';
import { type Ended, leave } from './leaving.ts';
import { type MailedLink, mailLink } from './mails.ts';
import { type Enrolment, enrolMany, type LinkChoices, mailMany } from './many.ts';

const PURPOSE = 'enrolment';
const STATES = ['open', 'used', 'expired'] as const;

/** What is sent and answered of a link. */
export const enrolmentFields = resource({
  user_id: recordId('Whom it lets in.'),
  email: mark(text('The e-mail of that user.'), { readOnly: true }),
  hours: mark(
    integer('For how many hours it is good.', LINK_HOURS.min, LINK_HOURS.max).default(
      LINK_HOURS.default,
    ),
    { writeOnly: true },
  ),
  mail: mark(
    flag('Whether the link also goes to the user by e-mail; needs SMTP_URL.').default(false),
    {
      writeOnly: true,
    },
  ),
  state: mark(choice('Whether it can still be used.', ...STATES), { readOnly: true }),
  created_by: recordId('The administrator who made it; null: a command.').allow(null),
  expires_at: timestamp('Until when it can be used.'),
  used_at: timestamp('When it was used; null: not yet.').allow(null),
  mailed_at: timestamp('When the mail server took the mail with it; null: no mail was sent.').allow(
    null,
  ),
  mail_fault: mark(
    text('Why no mail was sent, or not yet; null where none was asked for, or one was sent.'),
    { readOnly: true },
  ).allow(null),
  inserted_at: timestamp('When it was made.'),
});

/** What is answered of a link that was just made. */
export const madeEnrolmentFields = enrolmentFields.keys({
  url: mark(text('The link itself. It is shown here only.'), { readOnly: true }),
});

/** The values of a link that is to be made. */
export interface EnrolmentValues {
  readonly hours?: number;
  readonly mail?: boolean;
}

/** What enrolments need of the server. */
export interface EnrolmentContext extends RecordContext {
  readonly services: RecordContext['services'] & {
    /** Left out where no mail is sent. */
    readonly mails?: Mails;
  };
}

/** Validates them, without the database. */
export const validateEnrolment = validatorOf<EnrolmentValues>(enrolmentFields);

/** The enrolments of one server; users are named by UUID or e-mail address. */
export class Enrolments {
  readonly #context: EnrolmentContext;

  constructor(context: EnrolmentContext) {
    this.#context = context;
  }

  /** The state of a user's link; throws `not_found` where none was made. */
  async show(userId: string): Promise<Shown> {
    const user = await findUser(this.#database, userId);
    const link = await findLinkOf(this.#database, user.id, PURPOSE);
    if (link === null) throw new ApiError('not_found');
    return showLink(user, link);
  }

  /** Makes a link in place of the one before; the answer alone has the link itself. */
  async make(caller: Caller, userId: string, input: Validated<EnrolmentValues>): Promise<Shown> {
    const { values } = input;
    const { config, mails } = this.#context.services;
    const errors = { ...input.errors };
    if (values.mail === true && mails === undefined) addError(errors, 'mail', messages.needsMail);
    refuseErrors(errors);
    const wish = {
      purpose: PURPOSE,
      hours: values.hours ?? LINK_HOURS.default,
      createdBy: caller.userId,
      isMailed: values.mail === true,
    } as const;
    const { user, secret, link } = await this.#makeLink(caller, userId, wish);
    const url = linkAddress(config.externalUrl, secret);
    if (values.mail !== true || mails === undefined) return { ...showLink(user, link), url };
    const outcome = await mailLink(this.#database, mails, { link, email: user.email, url });
    const { mailed_at: mailedAt, mail_fault: mailError } = outcome;
    const shown = { ...showLink(user, link), mailed_at: showTimeOrNull(mailedAt) };
    return { ...shown, mail_fault: mailError, url };
  }

  /**
   * Makes another link for a user who has one, which goes out by e-mail alone, after the present
   * request. Throws `not_found` for others. Where too many mails wait, the link before stays.
   */
  async sendAgain(caller: Caller, userId: string): Promise<void> {
    const { config, mails } = this.#context.services;
    if (mails === undefined) return refuseErrors({ mail: [messages.needsMail] });
    let links: readonly MailedLink[] = [];
    const made = Promise.withResolvers<void>();
    // The mail takes its place in the queue first: a link whose mail has none would help nobody.
    const hasPlace = mails.later(async () => {
      await made.promise;
      return mailMany(this.#database, mails, links);
    });
    if (!hasPlace) return refuseErrors({ base: [{ code: 'tooManyMails' }] });
    try {
      const wish = {
        purpose: PURPOSE,
        hours: LINK_HOURS.default,
        createdBy: caller.userId,
        isMailed: true,
      } as const;
      const { user, secret, link } = await this.#makeLink(caller, userId, wish, true);
      links = [{ link, email: user.email, url: linkAddress(config.externalUrl, secret) }];
    } finally {
      made.resolve();
    }
  }

  /** Makes the users of a list who do not exist, with links and memberships: all, or nobody. */
  enrol(caller: Caller, asked: JoinWish, choices: LinkChoices): Promise<Enrolment> {
    const { people } = asked;
    const { externalUrl } = this.#context.services.config;
    const wish = { ...choices, createdBy: caller.userId, externalUrl };
    return this.#context.writes.run(caller, {
      // People who join groups together must not exceed the limit, and e-mails of new people must
      // not look alike.
      scopes: { configuration: true },
      check: (transaction) => planJoining(this.#context, asked, transaction),
      write: (transaction, joining) => {
        caller.failing = joining.failing.length;
        return enrolMany(this.#database, { people, joining }, wish, transaction);
      },
    });
  }

  /** Revokes the link that can still be used; throws `not_found` where there is none. */
  async revoke(caller: Caller, userId: string): Promise<void> {
    await this.#context.writes.run(caller, {
      check: (transaction) => findUser(this.#database, userId, transaction),
      write: async (transaction, user) => {
        const wanted = { userId: user.id, purpose: PURPOSE } as const;
        if (!(await revokeLink(this.#database, wanted, new Date(), transaction)))
          throw new ApiError('not_found');
        const changes = { purpose: { to: PURPOSE } };
        const recordId = user.id;
        noteAction(transaction, { action: 'revoke link', kind: 'user', recordId, changes });
      },
    });
  }

  /** Ends everything that lets a person in who has left. */
  leave(caller: Caller, userId: string): Promise<Ended> {
    return leave(this.#context, caller, userId);
  }

  /** `isAnother`: only where the user has a link, in whatever state. */
  #makeLink(caller: Caller, userId: string, wish: LinkWish, isAnother = false) {
    return this.#context.writes.run(caller, {
      check: async (transaction) => {
        const user = await findUser(this.#database, userId, transaction);
        if (user.disabled_at !== null) refuseErrors({ base: [messages.linkOfDisabled] });
        if (isAnother && (await findLinkOf(this.#database, user.id, PURPOSE, transaction)) === null)
          throw new ApiError('not_found');
        return user;
      },
      write: async (transaction, user) => ({
        user,
        ...(await makeLink(this.#database, user, wish, transaction)),
      }),
    });
  }

  get #database(): Database {
    return this.#context.services.database;
  }
}

/** A link as it is shown; never the link itself. */
function showLink(user: Pick<User, 'id' | 'email'>, link: OneTimeLink): Shown {
  return {
    user_id: user.id,
    email: user.email,
    state: stateOf(link),
    created_by: link.created_by,
    expires_at: showTime(link.expires_at),
    used_at: showTimeOrNull(link.used_at),
    mailed_at: showTimeOrNull(link.mailed_at ?? null),
    mail_fault: link.mail_fault ?? null,
    inserted_at: showTime(link.inserted_at),
  };
}

/** Whether a link can still be used. */
export function stateOf(
  link: Pick<OneTimeLink, 'used_at' | 'inserted_at' | 'expires_at'>,
): (typeof STATES)[number] {
  if (link.used_at !== null) return 'used';
  return isTakable(link, new Date()) ? 'open' : 'expired';
}
