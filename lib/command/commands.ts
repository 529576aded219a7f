// What the commands of the command line do, besides serving: each takes an open database and
// returns what to print. Faults are thrown with a sentence for the person who typed.

import { type Database, emailKey, readAuditEntries } from '../../models/index.ts';
import {
  endWaitOf,
  ensureAdministrator,
  resetSecondFactorsOf,
  setUserEnabled,
} from '../auth/accounts.ts';
import type { FixedSettings } from '../records/effective-configuration.ts';
import { isScope, type Scope, SCOPES } from '../operations/scopes.ts';
import { createToken, listTokens, revokeToken } from '../auth/tokens.ts';
import type { CommandName } from './grammar.ts';
import { commandLine } from '../process/command-line.ts';
import { labelOfPassword, passwordOf } from './passwords.ts';
import { setSwitches, type Switches } from '../devices/switches.ts';
import { entryLine, showEntry } from '../records/audit.ts';
import { UsageError } from '../process/usage-error.ts';
import type { Command, Outcome, Run } from './run.ts';
import { printable, table } from './text-table.ts';

/** What an administrator should know who gets a password where none serves. */
const LOCAL_REOPENED =
  'Signing in by password was switched off; it is on again, for everyone who has a password.';
const LOCAL_FIXED =
  'LOCAL_AUTH_ENABLED=false keeps passwords from serving: take it away and start the gateway anew.';

const NO_ADMINISTRATOR =
  'Its owner is no administrator: the API answers “forbidden” to each request with this token.';

/** Audit entries that are listed when nobody says how many. */
const AUDIT_LIMIT = 100;

/** The commands that need nothing but the database. */
export const databaseCommands: Partial<Record<CommandName, Run>> = {
  'admin create-or-reset': createOrResetAdministrator,
  'user enable': (database, command) => switchUser(database, command, true),
  'user disable': (database, command, _stdin, fixed) => switchUser(database, command, false, fixed),
  'device enable': (database, command) => switchDevice(database, command, { isOn: true }),
  'device disable': (database, command) => switchDevice(database, command, { isOn: false }),
  'device expire': (database, command) =>
    switchDevice(database, command, { expiresAt: command.options.at ?? null }),
  'user reset-mfa': resetMfa,
  'user unlock': unlockUser,
  'token create': createTokenFor,
  'token list': listAllTokens,
  'token revoke': revokeOneToken,
  'audit list': listAudit,
};

async function createOrResetAdministrator(
  database: Database,
  { options }: Command,
  readStdin: () => Promise<string>,
  fixed: FixedSettings = {},
): Promise<Outcome> {
  const email = options.email ?? '';
  const { passwordStdin, resetMfa: resetFactors } = options;
  const password = await passwordOf(passwordStdin, readStdin);
  const { isLocalReopened } = await ensureAdministrator(
    database,
    { email, password },
    { resetFactors },
  );
  const notes = passwordStdin ? [] : [labelOfPassword(email)];
  if (fixed.local_auth_enabled === false) notes.push(LOCAL_FIXED);
  else if (isLocalReopened) notes.push(LOCAL_REOPENED);
  return {
    text: passwordStdin ? `${email} is an administrator.` : password,
    data: passwordStdin ? { email } : { email, password },
    ...(notes.length === 0 ? {} : { note: notes.join('\n') }),
  };
}

async function switchUser(
  database: Database,
  { options }: Command,
  isEnabled: boolean,
  fixed?: FixedSettings,
): Promise<Outcome> {
  const email = options.email ?? '';
  await setUserEnabled(database, email, isEnabled, fixed);
  return {
    text: `${email} is ${isEnabled ? 'enabled' : 'disabled'}.`,
    data: { email, enabled: isEnabled },
  };
}

async function switchDevice(
  database: Database,
  { options }: Command,
  switches: Switches,
): Promise<Outcome> {
  const { id, name, disabled_at, expires_at } = await setSwitches(
    database,
    options.id ?? '',
    switches,
  );
  return {
    text: `${printable(name)} is switched ${disabled_at === null ? 'on' : 'off'} and ${endInWords(expires_at)}.`,
    data: { id, enabled: disabled_at === null, expires_at },
  };
}

function endInWords(end: Date | null): string {
  if (end === null) return 'does not end';
  const time = end.toISOString();
  return end.getTime() <= Date.now() ? `has ended: ${time} is past` : `ends at ${time}`;
}

async function resetMfa(database: Database, { options }: Command): Promise<Outcome> {
  const email = options.email ?? '';
  const count = await resetSecondFactorsOf(database, email);
  const done =
    count === 0
      ? `${email} has no second factor`
      : count === 1
        ? `One second factor of ${email} removed`
        : `${count} second factors of ${email} removed`;
  return {
    text: `${done}; the user is signed out.`,
    data: { email, removed: count },
  };
}

async function unlockUser(
  database: Database,
  { options: { email = '' } }: Command,
): Promise<Outcome> {
  await endWaitOf(database, email);
  return { text: `${email} may try to sign in at once.`, data: { email, unlocked: true } };
}

async function createTokenFor(database: Database, { options }: Command): Promise<Outcome> {
  const created = await createToken(database, {
    email: options.email ?? '',
    name: options.name ?? '',
    ...(options.days === undefined ? {} : { days: options.days }),
    ...(options.scopes === undefined ? {} : { scopes: scopesOf(options.scopes) }),
  });
  const user = await database.models.User.findOne({
    where: { email_key: emailKey((options.email ?? '').trim()) },
  });
  const { id, expires_at } = created;
  const note = [
    `This is shown once. Its id is ${id}; it ends at ${expires_at.toISOString()}, or by: ${commandLine(`token revoke ${id}`)}`,
    ...(user?.role === 'admin' ? [] : [NO_ADMINISTRATOR]),
  ].join('\n');
  return { text: created.token, data: created, note };
}

function scopesOf(text: string): Scope[] {
  const words = text.split(',').map((word) => word.trim());
  if (!words.every(isScope))
    throw new UsageError(`--scopes takes ${SCOPES.join()}, or some of them, not "${text}"`);
  return words;
}

async function listAllTokens(database: Database, { options }: Command): Promise<Outcome> {
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

async function revokeOneToken(database: Database, { operand }: Command): Promise<Outcome> {
  const id = operand ?? '';
  if (!(await revokeToken(database, id)))
    throw new Error(`there is no token ${id}; see: ${commandLine('token list')}`);
  return { text: `${id} is revoked.`, data: { id, revoked: true } };
}

async function listAudit(database: Database, { options }: Command): Promise<Outcome> {
  const { since, limit = since === undefined ? AUDIT_LIMIT : Number.POSITIVE_INFINITY } = options;
  const entries = await readAuditEntries(database, {
    limit,
    ...(since === undefined ? {} : { since }),
  });
  return { text: entries.map(entryLine).join('\n'), data: entries.map(showEntry) };
}
