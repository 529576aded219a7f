// The metadata that are fetched from addresses of SAML providers: their state, fetching them at
// once, and dropping former certificates. It is our own addition to the API.

import type { SamlIdentityProvider } from '../../../models/index.ts';
import {
  type MetadataState,
  metadataState,
  metadataStates,
} from '../../auth/saml/metadata-state.ts';
import { dropFormerCertificates, refreshOnDemand } from '../../auth/saml/refresh.ts';
import { ApiError } from '../../kit/http/errors.ts';
import {
  choice,
  entryList,
  flag,
  mark,
  resource,
  text,
  timestamp,
  url,
} from '../../kit/validation/fields.ts';
import { type Validated, validatorOf } from '../../kit/validation/validate.ts';
import type { Caller } from '../../kit/process/caller.ts';
import type { Shared } from '../../kit/process/shared.ts';
import type { RecordContext } from '../../kit/records/collection.ts';
import { type Shown, showTime } from '../../kit/records/shown.ts';
import { refuseErrors } from '../../kit/records/writes.ts';
import type { ConfigurationContext } from './configuration.ts';

const shownText = (description: string) => mark(text(description), { readOnly: true });

const certificateFields = resource({
  sha256: shownText('SHA-256 of the certificate, hex.'),
  valid_until: timestamp('The end that the certificate names; it is accepted after it too.'),
  state: mark(
    choice(
      '`awaited`: new, and no answer was signed by it yet; `former`: the document no longer has it.',
      'in_use',
      'awaited',
      'former',
    ),
    { readOnly: true },
  ),
});

/** The metadata of an entry, as they are answered, and what a request may ask for. */
export const samlMetadataFields = resource({
  id: shownText('The id of the entry.'),
  label: shownText('Text of the sign-in button.'),
  metadata_url: mark(url('Where the metadata are fetched.'), { readOnly: true }),
  entity_id: shownText('Whose metadata are in force; null if none can be used.').allow(null),
  fetched_at: timestamp('When metadata were fetched that can be used.').allow(null),
  refresh_at: timestamp('When they are fetched again.').allow(null),
  problem: shownText('Why the last fetch failed; null if it did not.').allow(null),
  certificates: mark(
    entryList('The certificates by which the provider may sign.', certificateFields),
    {
      readOnly: true,
    },
  ),
  refresh: flag('True fetches the metadata at once; false in lists.'),
  drop_former: flag('True drops the certificates that the document no longer has; false in lists.'),
});

/** What is asked for. */
export interface SamlMetadataValues {
  readonly refresh?: boolean;
  readonly drop_former?: boolean;
}

/** Validates it. */
export const validateSamlMetadata = validatorOf<SamlMetadataValues>(samlMetadataFields);

/** What fetching metadata needs of the server. */
export interface SamlMetadataContext extends ConfigurationContext {
  readonly services: ConfigurationContext['services'] & Pick<Shared, 'log' | 'counters'>;
}

/** All entries whose metadata are fetched from an address. */
export async function listSamlMetadata(context: RecordContext): Promise<Shown[]> {
  const entries = await entriesOf(context);
  return (await metadataStates(context.services.database, entries)).map(show);
}

/** Fetches metadata at once, or drops former certificates. */
export async function updateSamlMetadata(
  context: SamlMetadataContext,
  caller: Caller,
  id: string,
  { values, errors }: Validated<SamlMetadataValues>,
): Promise<Shown> {
  const { database, log, counters, discoveryLimits: limits } = context.services;
  refuseErrors(errors);
  const entry = await findEntry(context, id);
  if (values.refresh === true) await refreshOnDemand({ database, log, counters, limits }, entry);
  await context.writes.run(caller, {
    check: async () => findEntry(context, id),
    write: async (transaction, found) => {
      if (values.drop_former === true) await dropFormerCertificates(database, found, transaction);
    },
  });
  const state = await metadataState(database, entry);
  if (state === null) throw new ApiError('not_found');
  const { refresh = false, drop_former = false } = values;
  return { ...show(state), refresh, drop_former };
}

async function findEntry(context: RecordContext, id: string): Promise<SamlIdentityProvider> {
  const found = (await entriesOf(context)).find((one) => one.id === id);
  if (found?.metadata_url === undefined) throw new ApiError('not_found');
  return found;
}

async function entriesOf({ recall }: RecordContext): Promise<readonly SamlIdentityProvider[]> {
  await recall.refresh();
  return (await recall.configuration()).saml_identity_providers;
}

function show(state: MetadataState): Shown {
  const { id, label, url: metadata_url, entityId, fetchedAt, refreshAt, problem } = state;
  return {
    id,
    label,
    metadata_url,
    entity_id: entityId,
    fetched_at: fetchedAt === null ? null : showTime(fetchedAt),
    refresh_at: refreshAt === null ? null : showTime(refreshAt),
    problem,
    certificates: state.certificates.map(({ sha256, validUntil, state: use }) => ({
      sha256,
      valid_until: showTime(validUntil),
      state: use,
    })),
    refresh: false,
    drop_former: false,
  };
}
