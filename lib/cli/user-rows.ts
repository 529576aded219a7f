// The commands that change or delete a user, or let in one who is locked out.

import type { CommandName } from './grammar.ts';
import { LIMIT_HINTS, limitsSaid, speedsInWords, speedsOf, userLimits } from './limit-fields.ts';
import { emailAsTyped } from './naming.ts';
import type { Finds, Row, Sending } from './row.ts';
import { printable } from './text-table.ts';

/** In place of a name: there is none. */
const NO_NAME = 'none';

/** Rows of commands. */
export const userRows = {
  'user enable': switching(true),
  'user disable': switching(false),
  'user limit': {
    operation: 'updateUser',
    hints: LIMIT_HINTS,
    sends: ({ options }, finds) => changed(options.email, finds, userLimits(options)),
    says({ answer }) {
      const { email, quota } = answer;
      const [who, otherwise] = [`Each device of ${String(email)}`, 'the settings say'];
      const said = limitsSaid((inWords) => {
        const bytes = quota === null ? `what ${otherwise}` : inWords(Number(quota), 'amount');
        const speeds = speedsInWords(answer, who, otherwise, inWords);
        return `${speeds} All of them together carry ${bytes} in a month.`;
      });
      return { ...said, data: { ...speedsOf(answer), quota } };
    },
  },
  'user rename': {
    operation: 'updateUser',
    sends: ({ options: { email, name } }, finds) =>
      changed(email, finds, { name: name === NO_NAME ? null : name }),
    says({ answer, command: { options } }) {
      const [email, name] = [emailAsTyped(options.email, answer['email']), answer['name']];
      const text =
        typeof name === 'string'
          ? `${email} is called ${printable(name)}.`
          : `${email} has no name.`;
      return { text, data: { email, name } };
    },
  },
  'user set-role': {
    operation: 'updateUser',
    hints: { role: '--role unprivileged|admin' },
    sends: ({ options: { email, role } }, finds) => changed(email, finds, { role }),
    says({ answer, command: { options } }) {
      const [email, role] = [emailAsTyped(options.email, answer['email']), answer['role']];
      return { text: `${email} is ${String(role)} now.`, data: { email, role } };
    },
  },
  'user delete': {
    operation: 'deleteUser',
    sends: ({ options: { email } }, finds) => named(email, finds),
    says: ({ sent: { named: email } }) => ({
      text: `${email} is deleted, with devices, rules, tokens and sessions.`,
      data: { email, removed: true },
    }),
  },
  'user reset-mfa': {
    operation: 'removeSecondFactors',
    sends: ({ options: { email } }, finds) => named(email, finds),
    says({ answer: { removed }, sent: { named: email } }) {
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
    sends: ({ options: { email } }, finds) => named(email, finds),
    says: ({ sent: { named: email } }) => ({
      text: `${email} may try to sign in at once.`,
      data: { email, unlocked: true },
    }),
  },
} as const satisfies Partial<Record<CommandName, Row>>;

function switching(isEnabled: boolean): Row {
  return {
    operation: 'updateUser',
    async sends({ options: { email = '' } }, finds) {
      const { id, name } = await finds.user(email);
      const body = { user: { enabled: isEnabled } };
      return { params: { id }, body, called: { enabled: name } };
    },
    says({ answer, command: { options } }) {
      const email = emailAsTyped(options.email, answer['email']);
      const text = `${email} is ${isEnabled ? 'enabled' : 'disabled'}.`;
      return { text, data: { email, enabled: isEnabled } };
    },
  };
}

async function named(email = '', finds: Finds): Promise<Sending> {
  const { id, name } = await finds.user(email);
  return { params: { id }, named: emailAsTyped(email, name) };
}

function changed(email = '', finds: Finds, user: object): Sending {
  return { params: async () => ({ id: (await finds.user(email)).id }), body: { user } };
}
