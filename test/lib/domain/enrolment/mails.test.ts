// What is noted of mails with links: at the very link that a mail holds, from the moment on when
// the link is made. docs/api.md#enrolment.

import test, { type ExecutionContext } from 'ava';
import { makeLink } from '../../../../lib/auth/one-time-links.ts';
import { enrolMany, mailMany, queueMails } from '../../../../lib/domain/enrolment/many.ts';
import { mailLink } from '../../../../lib/domain/enrolment/mails.ts';
import type { Mail, Mails } from '../../../../lib/kit/mail/mailer.ts';
import { type Database, findLinkOf, revokeLink, searchIds } from '../../../../models/index.ts';
import { peopleOf } from '../../../support/auth/people.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';
import { addUser, write } from '../../../models/fixtures.ts';

const WAITS = /^The mail was not sent yet\. .* make another link\.$/;
const OVER = /^Before its turn came, the link was used, replaced or revoked/;
const wish = { hours: 1, createdBy: null, isMailed: true, externalUrl: 'https://vpn.example/' };

/** A mail server that does something while it takes a mail. */
function serverThat(meanwhile: (mail: Mail) => Promise<unknown>): Mails & { sent: string[] } {
  const sent: string[] = [];
  return {
    sent,
    send: async (mail) => {
      await meanwhile(mail);
      sent.push(mail.to);
      return null;
    },
    later: () => false,
  };
}

async function linkOf(t: ExecutionContext, database: Database, email: string) {
  const user = await database.models.User.findOne({ where: { email }, rejectOnEmpty: true });
  const link = await findLinkOf(database, user.id, 'enrolment');
  if (link === null) return t.fail(`no link of ${email}`) as never;
  return link;
}

for (const kind of databaseKinds()) {
  const people = ['ann', 'bob', 'cy', 'dan', 'eve'].map((name) => `${name}@example.com`);
  const [ann, bob, cy, dan, eve] = people as [string, string, string, string, string];

  test(`${kind}: a link that is over by the turn of its mail gets none`, async (t) => {
    const database = await openDatabase(t, kind);
    const enrol = (emails: readonly string[], isMailed = true) =>
      write(database, (tx) => enrolMany(database, peopleOf(...emails), { ...wish, isMailed }, tx));
    const { links } = await enrol(people);
    const mails = serverThat(async ({ to }) => {
      if (to !== ann) return;
      await enrol([ann, bob], false);
      const { user_id: userId } = await linkOf(t, database, cy);
      const wanted = { userId, purpose: 'enrolment' } as const;
      await write(database, (tx) => revokeLink(database, wanted, new Date(), tx));
      await (await linkOf(t, database, dan)).update({ used_at: new Date() });
    });
    const unsent = await mailMany(database, mails, links);
    t.deepEqual(mails.sent, [ann, eve]);
    t.deepEqual([...unsent.keys()], [bob, cy, dan]);
    for (const { isOver, mail_fault: why } of unsent.values())
      t.true(isOver && OVER.test(why ?? ''));
    // The new links of Ann and Bob were not mailed, whatever went out with the former ones.
    for (const email of [ann, bob])
      t.like(await linkOf(t, database, email), { mailed_at: null, mail_fault: null }, email);
    t.regex((await linkOf(t, database, dan)).mail_fault ?? '', OVER);
    t.like(await linkOf(t, database, eve), { mail_fault: null });
    t.truthy((await linkOf(t, database, eve)).mailed_at);
  });

  test(`${kind}: a mail that nobody got to send is found`, async (t) => {
    const database = await openDatabase(t, kind);
    const enrolled = await write(database, (tx) =>
      enrolMany(database, peopleOf(ann, bob), wish, tx),
    );
    const asked = { text: '', state: 'unsent', offset: 0, limit: 10 };
    const unsent = async (): Promise<number> => (await searchIds(database, 'users', asked)).length;
    t.is(await unsent(), 2);
    t.regex((await linkOf(t, database, ann)).mail_fault ?? '', WAITS);
    const mails = serverThat(async () => t.is(await unsent(), 2 - mails.sent.length));
    t.is((await mailMany(database, mails, enrolled.links)).size, 0);
    t.is(await unsent(), 0);

    const full = await write(database, (tx) => enrolMany(database, peopleOf(ann), wish, tx));
    t.false(await queueMails(database, mails, full.links));
    t.regex((await linkOf(t, database, ann)).mail_fault ?? '', /^Too many mails wait\./);
  });

  test(`${kind}: so is the mail for another password`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database, { email: ann });
    const reset = { purpose: 'password_reset', hours: 1, createdBy: null, isMailed: true } as const;
    const make = async () =>
      (await write(database, (tx) => makeLink(database, user, reset, tx))).link;
    const first = await make();
    t.regex(first.mail_fault ?? '', WAITS);
    const second = await make();
    const mails = serverThat(async () => {});
    const mailed = { email: ann, url: 'https://vpn.example/one_time_links/x' };
    t.true((await mailLink(database, mails, { ...mailed, link: first })).isOver);
    t.regex((await second.reload()).mail_fault ?? '', WAITS);
    t.false((await mailLink(database, mails, { ...mailed, link: second })).isOver);
    t.like(await second.reload(), { mail_fault: null });
    t.deepEqual(mails.sent, [ann]);
  });
}
