// The provider commands of the command line: which identity providers there are, and whose word on
// e-mail addresses is trusted. The mark is for an entry as it leads now, like that of the console.

import {
  type Database,
  isTrusted,
  markTrusted,
  readOrCreateConfiguration,
  writeTransaction,
} from '../models/index.ts';
import { effectiveConfiguration, type FixedSettings } from './api/v0/effective-configuration.ts';
import { authoritiesOf } from './auth/identity/authority.ts';
import { methodOf } from './auth/identity/method.ts';
import type { Command, CommandName } from './cli.ts';
import { commandLine } from './command-line.ts';
import type { Outcome } from './commands.ts';

type Run = (
  database: Database,
  command: Command,
  readStdin: () => Promise<string>,
  fixed?: FixedSettings,
) => Promise<Outcome>;

/** The commands. */
export const providerCommands: Partial<Record<CommandName, Run>> = {
  'provider list': listProviders,
  'provider trust': (...given) => setTrust(true, ...given),
  'provider distrust': (...given) => setTrust(false, ...given),
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
  const wanted = options.id ?? '';
  const provider = (await readProviders(database, fixed)).find(({ id }) => id === wanted);
  if (provider === undefined)
    throw new Error(
      `there is no identity provider ${wanted}; the id begins with oidc/ or saml/, see: ${commandLine('provider list')}`,
    );
  const { id, authority } = provider;
  if (authority === null)
    throw new Error(`the metadata of ${id} cannot be read, so nobody is there to be trusted`);
  await writeTransaction(database, (transaction) =>
    markTrusted(database, authority, trusted, transaction),
  );
  return {
    text: `${id} is ${trusted ? 'trusted' : 'not trusted'} with e-mail addresses.`,
    data: { id, trusted },
  };
}

/** The entries as they serve; an id is the kind and the id, because two kinds may share one. */
async function readProviders(database: Database, fixed: FixedSettings) {
  const row = await readOrCreateConfiguration(database);
  const entries = await authoritiesOf(effectiveConfiguration(row, fixed));
  return entries.map((entry) => ({ ...entry, id: methodOf(entry.kind, entry.id) }));
}
