// The commands of the command line about metadata that are fetched from the address of a SAML
// provider: what is known of them, fetching them at once, and making former certificates void.

import { type MetadataState, metadataState } from '../auth/saml/metadata-state.ts';
import { commandLine } from '../kit/process/command-line.ts';
import type { CommandName } from './grammar.ts';
import { performOperation } from './perform.ts';
import type { Command, Given, Outcome, Run } from './run.ts';
import { below, listed, type Listed } from './screen.ts';

/** The commands. */
export const metadataCommands: Partial<Record<CommandName, Run>> = {
  'provider show': (given, command) => about(given, command, null, () => null),
  'provider refresh': (given, command) =>
    about(given, command, { refresh: true }, (before, after) => {
      // Each try, and nothing else, says when to fetch next.
      if (before.refreshAt?.getTime() === after.refreshAt?.getTime())
        throw new Error('somebody else fetches or changes them at this moment; try again');
      if (after.problem !== null) throw new Error(`the metadata were not taken: ${after.problem}`);
      return 'The metadata were fetched.';
    }),
  'provider drop-certificate': (given, command) =>
    about(given, command, { drop_former: true }, (before, after) => {
      const count = formerOf(before) - formerOf(after);
      return count === 0
        ? 'No former certificate serves.'
        : `Former certificates that are void now: ${count}.`;
    }),
};

/** Asks something of an entry (null: nothing), and shows what is known of it then. */
async function about(
  given: Given,
  { options: { id = '' } }: Command,
  asked: object | null,
  says: (before: MetadataState, after: MetadataState) => string | null,
): Promise<Outcome> {
  const { recall } = await (await given.rooms()).context();
  const { saml_identity_providers: entries } = await recall.configuration();
  const entry = entries.find((one) => `saml/${one.id}` === id);
  if (entry === undefined)
    throw new Error(
      `there is no SAML provider ${id}; the id begins with saml/, see: ${commandLine('provider list')}`,
    );
  const before = await metadataState(given.database, entry);
  if (before === null)
    throw new Error(`${id} has no metadata address: its metadata are those of its entry`);
  if (asked !== null) {
    const sent = { params: { id: entry.id }, body: { saml_metadata: asked } };
    await performOperation(given, 'updateSamlMetadata', sent);
  }
  const after = asked === null ? before : await metadataState(given.database, entry);
  if (after === null) throw new Error(`${id} is gone`);
  const said = says(before, after);
  return { ...below(...(said === null ? [] : [said]), ...lines(after)), data: after };
}

function formerOf({ certificates }: MetadataState): number {
  return certificates.filter(({ state }) => state === 'former').length;
}

function lines(state: MetadataState): (string | Listed)[] {
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
  const columns = [
    ['certificate', 'fixed'],
    ['valid until', 'fixed'],
    ['sha256', 'fixed'],
  ] as const;
  return [...facts, listed(columns, rows)];
}
