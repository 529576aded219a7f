// Finds the row of a command: a command loads only the rows of its kind.

import type { CommandName } from './grammar.ts';
import type { Row } from './row.ts';

type Rows = Partial<Record<CommandName, Row>>;

/** The rows of commands by their first word. */
const kinds: Readonly<Record<string, () => Promise<Rows>>> = {
  device: async () => (await import('./device-rows.ts')).deviceRows,
  group: async () => (await import('./group-rows.ts')).groupRows,
  'policy-test': async () => (await import('./policy-test-rows.ts')).policyTestRows,
  rule: async () => (await import('./rule-rows.ts')).ruleRows,
  token: async () => (await import('./token-rows.ts')).tokenRows,
  user: async () => (await import('./user-rows.ts')).userRows,
};

/** The row of a command; null where it has none. */
export async function rowOf(words: CommandName): Promise<Row | null> {
  const [first = ''] = words.split(' ');
  return (await kinds[first]?.())?.[words] ?? null;
}
