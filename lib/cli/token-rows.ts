// The command that revokes a token.

import { commandLine } from '../kit/process/command-line.ts';
import type { CommandName } from './grammar.ts';
import type { Row } from './row.ts';

/** Rows of commands. */
export const tokenRows = {
  'token revoke': {
    operation: 'deleteApiToken',
    absent: (id) => new Error(`there is no token ${id}; see: ${commandLine('token list')}`),
    async sends({ operand }, finds) {
      const named = operand ?? '';
      return { params: { id: await finds.token(named) }, named };
    },
    says: ({ params: { id } }) => ({ text: `${id} is revoked.`, data: { id, revoked: true } }),
  },
} as const satisfies Partial<Record<CommandName, Row>>;
