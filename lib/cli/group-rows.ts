// The commands that write groups and their members.

import { UsageError } from '../kit/process/usage-error.ts';
import type { Hints } from './error-words.ts';
import type { CommandName } from './grammar.ts';
import { isShortId } from './naming.ts';
import type { Done, Finds, Row, Sending } from './row.ts';
import { failuresNote } from './rule-rows.ts';
import type { Command, Outcome } from './run.ts';

const HINTS: Hints = { name: '--name engineers', description: '--description TEXT' };

/** Rows of commands. */
export const groupRows = {
  'group create': {
    operation: 'createGroup',
    hints: HINTS,
    sends: ({ options: { name, description } }) => ({
      body: { group: { name, ...(description === undefined ? {} : { description }) } },
    }),
    says: ({ answer }) => ({ text: String(answer['id']), data: answer }),
  },
  'group update': {
    operation: 'updateGroup',
    hints: HINTS,
    async sends({ options: { group = '', name, description } }, finds) {
      if (name === undefined && description === undefined)
        throw new UsageError('nothing to change was given; for example: --name engineers');
      const { id } = await finds.group(group);
      const fields = {
        ...(name === undefined ? {} : { name }),
        ...(description === undefined ? {} : { description }),
      };
      return { params: { id }, body: { group: fields } };
    },
    says: ({ answer }) => ({ text: `${String(answer['name'])} is changed.`, data: answer }),
  },
  'group delete': {
    operation: 'deleteGroup',
    async sends({ options: { group = '' } }, finds) {
      const { id, name } = await finds.group(group);
      return { params: { id }, named: name };
    },
    says: ({ params, sent: { named } }) => ({
      text: `${named} is removed, with its rules.`,
      data: { id: params['id'], removed: true },
    }),
  },
  'group add': {
    operation: 'changeGroupMembers',
    hints: HINTS,
    forced: 'they become members',
    sends: (command, finds) => members(command, finds, 'add'),
    says: ({ answer, failing }) => saidOf(`${String(answer['added'])} added.`, answer, failing),
  },
  'group remove': {
    operation: 'changeGroupMembers',
    hints: HINTS,
    sends: (command, finds) => members(command, finds, 'remove'),
    async says({ answer, failing, ...done }) {
      const text = [`${String(answer['removed'])} removed.`, ...(await stayingOf(done))];
      return saidOf(text.join('\n'), answer, failing);
    },
  },
} as const satisfies Partial<Record<CommandName, Row>>;

async function members(
  { operands, options: { group = '' } }: Command,
  finds: Finds,
  change: 'add' | 'remove',
): Promise<Sending> {
  const { id } = await finds.group(group);
  // The operation names all users whom it does not find, so that only short ids are looked up.
  const users = await Promise.all(
    operands.map(async (named) => (isShortId(named) ? (await finds.user(named)).id : named)),
  );
  return { params: { id }, body: { members: { [change]: users } } };
}

function saidOf(text: string, answer: Done['answer'], failing: number): Outcome {
  const { added, removed } = answer;
  return { text, data: { added, removed }, ...failuresNote(failing) };
}

/** The users who stay members because an identity provider says so. */
async function stayingOf({
  params,
  sent: { body },
  given: { database },
}: Pick<Done, 'params' | 'sent' | 'given'>): Promise<string[]> {
  const { membersAmong, staysBecause } = await import('../domain/groups/members.ts');
  const { members: changes } = body as { members: { remove: string[] } };
  const staying = await membersAmong(database, params['id'] ?? '', changes.remove);
  return staying.map((member) => `${staysBecause(member)}.`);
}
