// What a test of an identity provider tells an administrator: one sentence, and how good it is.

/** One thing that was looked at. */
export interface Finding {
  /** `bad`: nobody can sign in; `doubtful`: some may not, or it could be safer. */
  readonly verdict: 'good' | 'doubtful' | 'bad';
  /** A sentence for an administrator. */
  readonly text: string;
}

/** Nothing is to be done. */
export function good(text: string): Finding {
  return { verdict: 'good', text };
}

/** Some may not sign in, or it could be safer. */
export function doubtful(text: string): Finding {
  return { verdict: 'doubtful', text };
}

/** Nobody can sign in. */
export function bad(text: string): Finding {
  return { verdict: 'bad', text };
}

/** What an entry asks of every person: a claim or an attribute with a value. */
interface Required {
  readonly name: string;
  readonly value: string;
}

/** Whether the person has what the entry asks for; `check` throws if it is missing. */
export function findRequired(
  kind: 'claim' | 'attribute',
  required: Required | undefined,
  check: () => void,
): Finding[] {
  if (required === undefined) return [];
  const wanted = `${required.name}=${required.value}`;
  try {
    check();
    return [good(`You have the required ${kind} ${wanted}.`)];
  } catch {
    return [bad(`You lack the required ${kind} ${wanted}: people without it are refused.`)];
  }
}
