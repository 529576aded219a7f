// The provider commands of the command line: which identity providers there are, which of them are
// trusted about e-mail addresses, and freeing links so that people are linked again, by the
// operations of the API.

import { isTrusted } from '../../models/index.ts';
import { authoritiesOf } from '../auth/identity/authority.ts';
import { methodOf } from '../auth/identity/method.ts';
import { relinkedSentence } from '../auth/identity/relink.ts';
import { type FieldError, sentenceOf } from '../kit/validation/messages.ts';
import { commandLine } from '../kit/process/command-line.ts';
import { UsageError } from '../kit/process/usage-error.ts';
import { refusalOf } from './error-words.ts';
import { findUser } from './finds.ts';
import type { CommandName } from './grammar.ts';
import { performOperation } from './perform.ts';
import type { Command, Given, Outcome, Run } from './run.ts';
import { screenTable } from './screen.ts';
import type { Column } from './text-table.ts';

/** What a terminal shows of a provider. */
const COLUMNS: readonly Column[] = [
  { label: 'id', kind: 'fixed' },
  { label: 'name', kind: 'text' },
  { label: 'e-mail addresses', kind: 'fixed' },
];

/** The commands. */
export const providerCommands: Partial<Record<CommandName, Run>> = {
  'provider list': listProviders,
  'provider trust': (...given) => setTrust(true, ...given),
  'provider distrust': (...given) => setTrust(false, ...given),
  'provider relink': relink,
};

async function listProviders(given: Given): Promise<Outcome> {
  const rows = [];
  for (const { id, label, authority } of await readProviders(given)) {
    const trusted = authority !== null && (await isTrusted(given.database, authority));
    rows.push({ id, label, trusted });
  }
  const cells = rows.map(({ id, label, trusted }) => [
    id,
    label,
    trusted ? 'trusted' : 'not trusted',
  ]);
  return {
    text: cells.map((row) => row.join('\t')).join('\n'),
    onScreen: (screen) => screenTable(screen, COLUMNS, cells),
    data: rows,
  };
}

async function setTrust(trusted: boolean, given: Given, { options }: Command): Promise<Outcome> {
  const { id, authority, params } = await findProvider(given, options.id ?? '');
  if (authority === null)
    throw new Error(`the metadata of ${id} cannot be read, so there is no provider to trust`);
  const body = { trusted_provider: { trusted } };
  await performOperation(given, 'updateTrustedProvider', { params, body });
  return {
    text: `${id} is ${trusted ? 'trusted' : 'not trusted'} with e-mail addresses.`,
    data: { id, trusted },
  };
}

async function relink(
  given: Given,
  { options: { id: wanted = '', email, everyone } }: Command,
): Promise<Outcome> {
  if ((email === undefined) === !everyone)
    throw new UsageError('say who: --email E for one user, or --everyone');
  const { id, params } = await findProvider(given, wanted);
  const user_id = email === undefined ? null : (await findUser(given.database, email)).id;
  const body = { relink: { user_id, everyone } };
  const { answer } = await performOperation(given, 'updateRelink', { params, body }, (errors) => {
    const [why] = (errors['user_id'] ?? []) as FieldError[];
    return why === undefined ? refusalOf(errors) : new Error(`${email} ${sentenceOf(why)}`);
  });
  const links = {
    users: Number(answer['users']),
    administrators: Number(answer['administrators']),
  };
  const until = new Date(String(answer['until']));
  const data = { id, ...links, until: until.toISOString() };
  return { text: relinkedSentence(links, until), data };
}

async function findProvider(given: Given, wanted: string) {
  const provider = (await readProviders(given)).find(({ id }) => id === wanted);
  if (provider !== undefined) return provider;
  throw new Error(
    `there is no identity provider ${wanted}; the id begins with oidc/ or saml/, see: ${commandLine('provider list')}`,
  );
}

/** The entries as they serve; an id is the kind and the id, because two kinds may share one. */
async function readProviders({ database, rooms }: Given) {
  const { recall } = await (await rooms()).context();
  const entries = await authoritiesOf(database, await recall.configuration());
  return entries.map(({ kind, id, ...entry }) => ({
    ...entry,
    params: { kind, id },
    id: methodOf(kind, id),
  }));
}
