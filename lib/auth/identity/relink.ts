// Freeing links, so that people can be linked again: the writes, for API and console, and the
// sentences about them, which the command line uses too.

import {
  type Database,
  freeLinks,
  type Links,
  type LinksWanted,
  readLinks,
} from '../../../models/index.ts';
import { type FieldError, messages } from '../../kit/validation/messages.ts';
import { refuseErrors, type Work } from '../../kit/records/writes.ts';

/** Why the links of one user cannot be freed; null where they can. */
export function whyNotFreed({ users, administrators }: Links): FieldError | null {
  if (users > 0) return null;
  return administrators > 0 ? messages.administratorNotFreed : messages.notLinked;
}

/** The result of freeing the links of an entry. */
export function relinkedSentence(
  { users, administrators }: Pick<Links, 'users' | 'administrators'>,
  until: Date,
): string {
  const many = users === 1 ? '1 user' : `${users} users`;
  const admins =
    administrators === 1 ? '1 administrator is' : `${administrators} administrators are`;
  const left =
    administrators === 0
      ? ''
      : ` ${admins} left out: an e-mail alone never links one; mark the entry as trusted for that.`;
  return `${many} may be linked anew, each by the next sign-in with their e-mail, until ${until.toISOString()}.${left}`;
}

/** Frees the links that `find` names; refused where those of one user cannot be. */
export function relinkWork(
  database: Database,
  find: () => Promise<LinksWanted>,
): Work<Links, Pick<Links, 'users' | 'administrators'> & { until: Date }> {
  return {
    // Sign-ins lock it too, so that none replaces a link between reading and freeing.
    scopes: { configuration: true },
    check: async (transaction) => {
      const wanted = await find();
      const links = await readLinks(database, wanted, transaction);
      const why = wanted.userId === null ? null : whyNotFreed(links);
      if (why !== null) refuseErrors({ user_id: [why] });
      return links;
    },
    write: async (transaction, links) => {
      const until = await freeLinks(database, links, new Date(), transaction);
      return { users: links.users, administrators: links.administrators, until };
    },
  };
}
