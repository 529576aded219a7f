// People of a list who join no groups.

import type { Joining } from '../../../lib/enrolment/joining.ts';
import type { Person } from '../../../lib/enrolment/people-list.ts';

/** As enrolling many takes them. */
export function peopleOf(...emails: string[]): { people: Person[]; joining: Joining } {
  return {
    people: emails.map((email) => ({ email, line: null, groups: [] })),
    joining: { members: new Map(), failing: [] },
  };
}
