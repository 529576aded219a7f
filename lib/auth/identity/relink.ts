// The words about linking people anew, the same for API, console and command line.

import type { Links } from '../../../models/index.ts';

/** Why the links of one user cannot be freed; null where they can. */
export function whyNotFreed({ users, administrators }: Links): string | null {
  if (users > 0) return null;
  return administrators > 0
    ? 'is an administrator, who is linked anew only by a verified e-mail or through a trusted entry'
    : 'is not linked through this identity provider';
}

/** What freeing the links of an entry came to. */
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
