// The commands that let somebody in who is locked out, and that which revokes a token.

import { commandLine } from '../process/command-line.ts';
import type { CommandName } from './grammar.ts';
import type { Finds, Row, Sending } from './row.ts';
import type { Command } from './run.ts';

/** Rows of commands. */
export const accountRows = {
  'user reset-mfa': {
    operation: 'removeSecondFactors',
    sends: ofUser,
    says({ answer: { removed }, command: { options } }) {
      const { email } = options;
      const done =
        removed === 0
          ? `${email} has no second factor`
          : removed === 1
            ? `One second factor of ${email} removed`
            : `${String(removed)} second factors of ${email} removed`;
      return { text: `${done}; the user is signed out.`, data: { email, removed } };
    },
  },
  'user unlock': {
    operation: 'unlockUser',
    sends: ofUser,
    says: ({ command: { options } }) => ({
      text: `${options.email} may try to sign in at once.`,
      data: { email: options.email, unlocked: true },
    }),
  },
  'token revoke': {
    operation: 'deleteApiToken',
    absent: (id) => new Error(`there is no token ${id}; see: ${commandLine('token list')}`),
    sends: ({ operand }) => ({ params: { id: operand ?? '' }, named: operand ?? '' }),
    says: ({ command: { operand: id } }) => ({
      text: `${id} is revoked.`,
      data: { id, revoked: true },
    }),
  },
} as const satisfies Partial<Record<CommandName, Row>>;

async function ofUser({ options }: Command, finds: Finds): Promise<Sending> {
  return { params: { id: (await finds.user(options.email ?? '')).id } };
}
