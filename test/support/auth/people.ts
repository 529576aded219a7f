// People of a list who join no groups.

import type { Joining } from '../../../lib/domain/enrolment/joining.ts';
import type { Person } from '../../../lib/domain/enrolment/people-list.ts';

/** As enrolling many takes them. */
export function peopleOf(...emails: string[]): { people: Person[]; joining: Joining } {
  return {
    people: emails.map((email) => ({ email, line: null, groups: [] })),
    joining: { members: new Map(), failing: [] },
  };
}
