// The commands of administrators' passwords, of new tokens, and of the lists of tokens and of the
// audit trail. Errors are thrown with a sentence for the person who typed.

import { readAuditEntries } from '../../models/index.ts';
import type { MadeAdministrator } from '../auth/account-fields.ts';
import { unfitAdministrator } from '../auth/accounts.ts';
import { listTokens, NAME_CHARACTERS_MAX } from '../auth/tokens.ts';
import { isScope, type Scope, SCOPES } from '../kit/operations/scopes.ts';
import { commandLine } from '../kit/process/command-line.ts';
import { UsageError } from '../kit/process/usage-error.ts';
import { type Errors, hasCode } from '../kit/validation/validate.ts';
import { sentences } from '../kit/validation/messages.ts';
import { entryCells, entryLine, showEntry } from '../kit/records/audit.ts';
import { refusalOf } from './error-words.ts';
import { findUser, searchIn } from './finds.ts';
import type { CommandName } from './grammar.ts';
import { userMeant } from './naming.ts';
import { labelOfPassword, passwordOf } from './passwords.ts';
import { performOperation } from './perform.ts';
import type { Command, Given, Outcome, Run } from './run.ts';
import { listed, screenTable } from './screen.ts';
import type { Column } from './text-table.ts';

/** What an administrator should know who gets a password where none serves. */
const LOCAL_REOPENED =
  'Signing in by password was switched off; it is on again, for everyone who has a password.';
const LOCAL_FIXED =
  'LOCAL_AUTH_ENABLED=false disables passwords: remove it and restart the gateway.';

const NO_ADMINISTRATOR =
  'Its owner is no administrator: the API answers “forbidden” to each request with this token.';

const ALL_RIGHTS =
  'The token has all rights, because no scope was named; to give fewer: --scopes read';

const BAD_NAME = `a token's name has 1 to ${NAME_CHARACTERS_MAX} characters`;

/** Audit entries that are listed when nobody says how many. */
const AUDIT_LIMIT = 100;

/** What a terminal shows of an audit entry. */
const AUDIT_COLUMNS: readonly Column[] = [
  { label: 'time', kind: 'time' },
  { label: 'who', kind: 'text' },
  { label: 'from', kind: 'fixed' },
  { label: 'action', kind: 'fixed' },
  { label: 'record', kind: 'place' },
  { label: 'fields', kind: 'text' },
];

/** The commands. */
export const databaseCommands: Partial<Record<CommandName, Run>> = {
  'admin create-or-reset': createOrResetAdministrator,
  'token create': createTokenFor,
  'token list': listAllTokens,
  'audit list': listAudit,
};

async function createOrResetAdministrator(given: Given, { options }: Command): Promise<Outcome> {
  const email = options.email ?? '';
  const { passwordStdin, resetMfa } = options;
  const password = await passwordOf(passwordStdin, given.readStdin);
  const administrator = { email, password, remove_second_factors: resetMfa };
  const { answer } = await performOperation(
    given,
    'ensureAdministrator',
    { body: { administrator } },
    (errors) => unfitAdministrator(administrator) ?? refusedAdministrator(email, errors),
  );
  const { password_sign_in_reopened: isReopened } = answer as unknown as MadeAdministrator;
  const { fixed } = await (await given.rooms()).context();
  const notes = passwordStdin ? [] : [labelOfPassword(email)];
  if (fixed.local_auth_enabled === false) notes.push(LOCAL_FIXED);
  else if (isReopened) notes.push(LOCAL_REOPENED);
  return {
    text: passwordStdin ? `${email} is an administrator.` : password,
    data: passwordStdin ? { email } : { email, password },
    ...(notes.length === 0 ? {} : { note: notes.join('\n') }),
  };
}

function refusedAdministrator(email: string, errors: Errors): Error {
  if (!hasCode(errors['email'], 'looksTaken')) return refusalOf(errors);
  const said = `${email.trim()} ${sentences.looksTaken}`;
  return new Error(`${said}; give another address, or exactly that of the other user`);
}

async function createTokenFor(given: Given, { options }: Command): Promise<Outcome> {
  const { email = '', name = '', days, scopes } = options;
  const fields = {
    name,
    ...(days === undefined ? {} : { days }),
    ...(scopes === undefined ? {} : { scopes: scopesOf(scopes) }),
  };
  const user = await findUser(given.database, email);
  const sent = { params: { id: user.id }, body: { api_token: fields } };
  const { answer } = await performOperation(given, 'createTokenOfUser', sent, (errors) =>
    errors['name'] === undefined ? refusalOf(errors) : new Error(BAD_NAME),
  );
  const { id, token, expires_at: end } = answer;
  const expires_at = new Date(String(end)).toISOString();
  const isAdministrators = user.role === 'admin';
  const note = [
    `This token is shown only now. Its id is ${String(id)}; it ends at ${expires_at}, or by: ${commandLine(`token revoke ${String(id)}`)}`,
    ...(isAdministrators ? [] : [NO_ADMINISTRATOR]),
    ...(isAdministrators && scopes === undefined ? [ALL_RIGHTS] : []),
  ].join('\n');
  const data = { id, token, name: answer['name'], scopes: answer['scopes'], expires_at };
  return { text: String(token), data, note };
}

function scopesOf(text: string): Scope[] {
  const words = text.split(',').map((word) => word.trim());
  if (!words.every(isScope))
    throw new UsageError(`--scopes takes ${SCOPES.join()}, or some of them, not "${text}"`);
  return words;
}

async function listAllTokens({ database }: Given, { options }: Command): Promise<Outcome> {
  const { email } = options;
  const owner = email === undefined ? null : await userMeant(searchIn(database), email);
  const tokens = await listTokens(
    database,
    email === undefined ? {} : { email: owner?.name ?? email },
  );
  const rows = tokens.map((token) => [
    token.id,
    token.email,
    token.name,
    token.scopes.join(' '),
    token.expires_at?.toISOString() ?? 'never expires',
    token.last_used_at?.toISOString() ?? 'never used',
  ]);
  return {
    ...listed(
      [
        ['id', 'id'],
        ['owner', 'text'],
        ['name', 'text'],
        ['scopes', 'fixed'],
        ['expires', 'time'],
        ['last used', 'time'],
      ],
      rows,
    ),
    data: tokens,
  };
}

async function listAudit({ database }: Given, { options }: Command): Promise<Outcome> {
  const { since, limit = since === undefined ? AUDIT_LIMIT : Number.POSITIVE_INFINITY } = options;
  const entries = await readAuditEntries(database, {
    limit,
    ...(since === undefined ? {} : { since }),
  });
  return {
    // Programs split these lines at tabs.
    text: entries.map(entryLine).join('\n'),
    onScreen: (screen) => screenTable(screen, AUDIT_COLUMNS, entries.map(entryCells)),
    data: entries.map(showEntry),
  };
}
