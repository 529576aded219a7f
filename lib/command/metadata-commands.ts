// The commands of the command line about metadata that are fetched from the address of a SAML
// provider: what is known of them, fetching them at once, and making former certificates void.

import {
  type Database,
  readOrCreateConfiguration,
  type SamlIdentityProvider,
  writeTransaction,
} from '../../models/index.ts';
import { effectiveConfiguration, type FixedSettings } from '../records/effective-configuration.ts';
import { type MetadataState, metadataState } from '../auth/saml/metadata-state.ts';
import { dropFormerCertificates, refreshOnDemand } from '../auth/saml/refresh.ts';
import type { CommandName } from './grammar.ts';
import { commandLine } from '../process/command-line.ts';
import type { Command, Outcome, Run } from './run.ts';
import { table } from './text-table.ts';

/** The commands. */
export const metadataCommands: Partial<Record<CommandName, Run>> = {
  'provider show': (database, command, _stdin, fixed) =>
    about(database, command, fixed, async () => null),
  'provider refresh': (database, command, _stdin, fixed) =>
    about(database, command, fixed, async (entry) => {
      const refreshed = await refreshOnDemand({ database }, entry);
      if (refreshed?.kind === 'fetched') return 'The metadata were fetched.';
      if (refreshed?.kind === 'refused')
        throw new Error(`the metadata were not taken: ${refreshed.problem}`);
      throw new Error('somebody else fetches or changes them at this moment; try again');
    }),
  'provider drop-certificate': (database, command, _stdin, fixed) =>
    about(database, command, fixed, async (entry) => {
      const { result: count } = await writeTransaction(database, (transaction) =>
        dropFormerCertificates(database, entry, transaction),
      );
      return count === 0
        ? 'No former certificate serves.'
        : `Former certificates that are void now: ${count}.`;
    }),
};

/** Does something to an entry, and shows what is known of it then. */
async function about(
  database: Database,
  { options: { id = '' } }: Command,
  fixed: FixedSettings = {},
  act: (entry: SamlIdentityProvider) => Promise<string | null>,
): Promise<Outcome> {
  const row = await readOrCreateConfiguration(database);
  const { saml_identity_providers: entries } = effectiveConfiguration(row, fixed);
  const entry = entries.find((one) => `saml/${one.id}` === id);
  if (entry === undefined)
    throw new Error(
      `there is no SAML provider ${id}; the id begins with saml/, see: ${commandLine('provider list')}`,
    );
  if (entry.metadata_url === undefined)
    throw new Error(`${id} has no metadata address: its metadata are those of its entry`);
  const said = await act(entry);
  const state = await metadataState(database, entry);
  if (state === null) throw new Error(`${id} is gone`);
  return { text: [...(said === null ? [] : [said]), ...lines(state)].join('\n'), data: state };
}

function lines(state: MetadataState): string[] {
  const time = (at: Date | null): string => at?.toISOString() ?? 'never';
  const facts = [
    `address      ${state.url}`,
    `entity id    ${state.entityId ?? 'none: nobody can sign in yet'}`,
    `fetched      ${time(state.fetchedAt)}`,
    `fetched next ${time(state.refreshAt)}`,
    ...(state.problem === null ? [] : [`problem      ${state.problem}`]),
  ];
  const rows = state.certificates.map(({ sha256, validUntil, state: use }) => [
    use.replace('_', ' '),
    validUntil.toISOString().slice(0, 10),
    sha256,
  ]);
  return [...facts, table(['certificate', 'valid until', 'sha256'], rows)];
}
