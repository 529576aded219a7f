// The provider commands of the command line: which identity providers there are, and whose word on
// e-mail addresses is trusted. The mark is for an entry as it leads now, like that of the console.
// And linking people anew, as the API does it.

import {
  type Database,
  emailKey,
  freeLinks,
  isTrusted,
  lockScopes,
  markTrusted,
  readLinks,
  readOrCreateConfiguration,
  readUsers,
  writeTransaction,
} from '../../models/index.ts';
import { sentenceOf } from '../judge/messages.ts';
import { effectiveConfiguration, type FixedSettings } from '../records/effective-configuration.ts';
import { authoritiesOf } from '../auth/identity/authority.ts';
import { methodOf } from '../auth/identity/method.ts';
import { relinkedSentence, whyNotFreed } from '../auth/identity/relink.ts';
import type { CommandName } from './grammar.ts';
import { commandLine } from '../process/command-line.ts';
import { noUser } from '../process/absent.ts';
import { UsageError } from '../process/usage-error.ts';
import type { Command, Outcome, Run } from './run.ts';

/** The commands. */
export const providerCommands: Partial<Record<CommandName, Run>> = {
  'provider list': listProviders,
  'provider trust': (...given) => setTrust(true, ...given),
  'provider distrust': (...given) => setTrust(false, ...given),
  'provider relink': relink,
};

async function listProviders(
  database: Database,
  _command: Command,
  _readStdin: () => Promise<string>,
  fixed: FixedSettings = {},
): Promise<Outcome> {
  const rows = [];
  for (const { id, label, authority } of await readProviders(database, fixed)) {
    const trusted = authority !== null && (await isTrusted(database, authority));
    rows.push({ id, label, trusted });
  }
  const lines = rows.map(({ id, label, trusted }) =>
    [id, label, trusted ? 'trusted' : 'not trusted'].join('\t'),
  );
  return { text: lines.join('\n'), data: rows };
}

async function setTrust(
  trusted: boolean,
  database: Database,
  { options }: Command,
  _readStdin: () => Promise<string>,
  fixed: FixedSettings = {},
): Promise<Outcome> {
  const { id, authority } = await findProvider(database, options.id ?? '', fixed);
  if (authority === null)
    throw new Error(`the metadata of ${id} cannot be read, so nobody is there to be trusted`);
  await writeTransaction(database, async (transaction) => {
    await lockScopes(database, transaction, { configuration: true });
    await markTrusted(database, authority, trusted, transaction);
  });
  return {
    text: `${id} is ${trusted ? 'trusted' : 'not trusted'} with e-mail addresses.`,
    data: { id, trusted },
  };
}

async function relink(
  database: Database,
  { options: { id: wanted = '', email, everyone } }: Command,
  _readStdin: () => Promise<string>,
  fixed: FixedSettings = {},
): Promise<Outcome> {
  if ((email === undefined) === !everyone)
    throw new UsageError('say who: --email E for one user, or --everyone');
  const { id, kind, entryId } = await findProvider(database, wanted, fixed);
  const [user] =
    email === undefined ? [] : await readUsers(database, { emailKey: emailKey(email.trim()) });
  if (email !== undefined && user === undefined) throw noUser(email);
  const links = { kind, provider_id: entryId, userId: user?.id ?? null };
  const { result } = await writeTransaction(database, async (transaction) => {
    await lockScopes(database, transaction, { configuration: true });
    const found = await readLinks(database, links, transaction);
    const why = user === undefined ? null : whyNotFreed(found);
    if (why !== null) throw new Error(`${email} ${sentenceOf(why)}`);
    const until = await freeLinks(database, found, new Date(), transaction);
    return { users: found.users, administrators: found.administrators, until };
  });
  const until = result.until.toISOString();
  return { text: relinkedSentence(result, result.until), data: { id, ...result, until } };
}

async function findProvider(database: Database, wanted: string, fixed: FixedSettings) {
  const provider = (await readProviders(database, fixed)).find(({ id }) => id === wanted);
  if (provider !== undefined) return provider;
  throw new Error(
    `there is no identity provider ${wanted}; the id begins with oidc/ or saml/, see: ${commandLine('provider list')}`,
  );
}

/** The entries as they serve; an id is the kind and the id, because two kinds may share one. */
async function readProviders(database: Database, fixed: FixedSettings) {
  const row = await readOrCreateConfiguration(database);
  const entries = await authoritiesOf(database, effectiveConfiguration(row, fixed));
  return entries.map((entry) => ({
    ...entry,
    entryId: entry.id,
    id: methodOf(entry.kind, entry.id),
  }));
}
