// Which identity providers are trusted with e-mail addresses. It is our own addition to the API,
// apart from the configuration, whose entries older clients know.

import { type Authority, isTrusted, markTrusted } from '../../../models/index.ts';
import { type EntryAuthority, authoritiesOf } from '../../auth/identity/authority.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { choice, flag, mark, resource, text } from '../../kit/validation/fields.ts';
import { type Validated, validatorOf } from '../../kit/validation/validate.ts';
import type { Caller } from '../../kit/process/caller.ts';
import type { RecordContext } from '../../kit/records/collection.ts';
import type { Shown } from '../../kit/records/shown.ts';
import { refuseErrors } from '../../kit/records/writes.ts';

/** The mark of an entry, as it is answered. */
export const trustedProviderFields = resource({
  kind: mark(choice('Which list of the configuration it is in.', 'oidc', 'saml'), {
    readOnly: true,
  }),
  id: mark(text('The id of the entry.'), { readOnly: true }),
  label: mark(text('Text of the sign-in button.'), { readOnly: true }),
  trusted: flag(
    'Whether an e-mail address of it alone links an account to an administrator or to a user with a password.',
  ),
});

/** What is sent of a mark. */
export interface TrustedProviderValues {
  readonly trusted?: boolean;
}

/** An entry of the configuration, as a path names it. */
export interface NamedEntry {
  readonly kind: string;
  readonly id: string;
}

/** Validates a mark. */
export const validateTrustedProvider = validatorOf<TrustedProviderValues>(trustedProviderFields);

/** All entries with their marks. */
export async function listTrustedProviders(context: RecordContext): Promise<Shown[]> {
  await context.recall.refresh();
  const entries = await authoritiesOf(
    context.services.database,
    await context.recall.configuration(),
  );
  return Promise.all(entries.map((entry) => show(context, entry)));
}

/** Sets or removes the mark of an entry. */
export async function setTrust(
  context: RecordContext,
  caller: Caller,
  named: NamedEntry,
  { values, errors }: Validated<TrustedProviderValues>,
): Promise<Shown> {
  const { database } = context.services;
  const entry = await context.writes.run(caller, {
    // Nobody may change the address of the entry between reading and marking.
    scopes: { configuration: true },
    check: async () => {
      refuseErrors(errors);
      await context.recall.refresh();
      return findEntry(context, named);
    },
    write: async (transaction, found) => {
      const { trusted } = values;
      if (trusted !== undefined) await markTrusted(database, found.authority, trusted, transaction);
      return found;
    },
  });
  return show(context, entry);
}

/** An entry that leads to a provider; if its metadata cannot be read, there is none to trust. */
async function findEntry(
  context: RecordContext,
  { kind, id }: NamedEntry,
): Promise<EntryAuthority & { authority: Authority }> {
  const entries = await authoritiesOf(
    context.services.database,
    await context.recall.configuration(),
  );
  const entry = entries.find((one) => one.kind === kind && one.id === id);
  if (entry === undefined || entry.authority === null) throw new ApiError('not_found');
  return { ...entry, authority: entry.authority };
}

async function show(
  { services: { database } }: RecordContext,
  { kind, id, label, authority }: EntryAuthority,
): Promise<Shown> {
  return { kind, id, label, trusted: authority !== null && (await isTrusted(database, authority)) };
}
