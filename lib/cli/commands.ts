// The commands of administrators' passwords, of new tokens, and of the lists of tokens and of the
// audit trail. Errors are thrown with a sentence for the person who typed.

import { readAuditEntries } from '../../models/index.ts';
import { ensureAdministrator } from '../auth/accounts.ts';
import { listTokens, NAME_CHARACTERS_MAX } from '../auth/tokens.ts';
import { isScope, type Scope, SCOPES } from '../kit/operations/scopes.ts';
import { commandLine } from '../kit/process/command-line.ts';
import { UsageError } from '../kit/process/usage-error.ts';
import { entryLine, showEntry } from '../kit/records/audit.ts';
import { refusalOf } from './fault-words.ts';
import { findUser } from './finds.ts';
import type { CommandName } from './grammar.ts';
import { labelOfPassword, passwordOf } from './passwords.ts';
import { performOperation } from './perform.ts';
import type { Command, Given, Outcome, Run } from './run.ts';
import { table } from './text-table.ts';

/** What an administrator should know who gets a password where none serves. */
const LOCAL_REOPENED =
  'Signing in by password was switched off; it is on again, for everyone who has a password.';
const LOCAL_FIXED =
  'LOCAL_AUTH_ENABLED=false disables passwords: remove it and restart the gateway.';

const NO_ADMINISTRATOR =
  'Its owner is no administrator: the API answers “forbidden” to each request with this token.';

const BAD_NAME = `a token's name has 1 to ${NAME_CHARACTERS_MAX} characters`;

/** Audit entries that are listed when nobody says how many. */
const AUDIT_LIMIT = 100;

/** The commands. */
export const databaseCommands: Partial<Record<CommandName, Run>> = {
  'admin create-or-reset': createOrResetAdministrator,
  'token create': createTokenFor,
  'token list': listAllTokens,
  'audit list': listAudit,
};

async function createOrResetAdministrator(
  { database, readStdin, rooms }: Given,
  { options }: Command,
): Promise<Outcome> {
  const email = options.email ?? '';
  const { passwordStdin, resetMfa: resetFactors } = options;
  const password = await passwordOf(passwordStdin, readStdin);
  const { isLocalReopened } = await ensureAdministrator(
    database,
    { email, password },
    { resetFactors },
  );
  const { fixed } = await (await rooms()).context();
  const notes = passwordStdin ? [] : [labelOfPassword(email)];
  if (fixed.local_auth_enabled === false) notes.push(LOCAL_FIXED);
  else if (isLocalReopened) notes.push(LOCAL_REOPENED);
  return {
    text: passwordStdin ? `${email} is an administrator.` : password,
    data: passwordStdin ? { email } : { email, password },
    ...(notes.length === 0 ? {} : { note: notes.join('\n') }),
  };
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
  const { answer } = await performOperation(given, 'createTokenOfUser', sent, (faults) =>
    faults['name'] === undefined ? refusalOf(faults) : new Error(BAD_NAME),
  );
  const { id, token, expires_at: end } = answer;
  const expires_at = new Date(String(end)).toISOString();
  const note = [
    `This is shown once. Its id is ${String(id)}; it ends at ${expires_at}, or by: ${commandLine(`token revoke ${String(id)}`)}`,
    ...(user.role === 'admin' ? [] : [NO_ADMINISTRATOR]),
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
  const tokens = await listTokens(
    database,
    options.email === undefined ? {} : { email: options.email },
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
    text: table(['id', 'owner', 'name', 'scopes', 'expires', 'last used'], rows),
    data: tokens,
  };
}

async function listAudit({ database }: Given, { options }: Command): Promise<Outcome> {
  const { since, limit = since === undefined ? AUDIT_LIMIT : Number.POSITIVE_INFINITY } = options;
  const entries = await readAuditEntries(database, {
    limit,
    ...(since === undefined ? {} : { since }),
  });
  return { text: entries.map(entryLine).join('\n'), data: entries.map(showEntry) };
}
