// Checks documents of identity providers before an entry is saved: the discovery document of an
// OpenID provider is fetched; SAML metadata is parsed, and fetched if the entry has an address.
// Only new or changed entries are checked, so that other settings can be saved while a provider is
// down. It runs before the transaction, never inside it. docs/api.md#provider-entries.

import { isDeepStrictEqual } from 'node:util';
import type {
  Database,
  OpenidConnectProvider,
  SamlIdentityProvider,
} from '../../../models/index.ts';
import { fetchDiscoveryDocument } from '../../auth/discovery.ts';
import { DocumentError, type DocumentLimits } from '../../auth/documents.ts';
import { addError, type FieldErrors, type Errors } from '../../kit/validation/validate.ts';
import {
  discoveryError,
  type FieldError,
  isFieldError,
  messages,
} from '../../kit/validation/messages.ts';
import type { EffectiveConfiguration } from '../../kit/records/effective-configuration.ts';
import {
  entityOf,
  type MetadataError,
  type MetadataContext,
  validateMetadata,
} from './provider-metadata.ts';
import { untrustedPlaces } from './provider-trust.ts';
import type { ProviderValues, SamlValues } from './providers.ts';

/** How many documents are fetched at once, and the longest time for all documents of a request. */
const AT_ONCE_MAX = 16;
const TOGETHER_MS_MAX = 15_000;

type EntryErrors = Record<string, FieldError[]>[];

/**
 * Adds the errors of new and changed entries to those of the fields, and fills in metadata that
 * were left out.
 */
export async function validateDocuments(
  database: Database,
  values: ProviderValues,
  present: Pick<EffectiveConfiguration, 'openid_connect_providers' | 'saml_identity_providers'>,
  errors: Errors,
  limits?: DocumentLimits,
): Promise<void> {
  const { openid_connect_providers: openid = [], saml_identity_providers: saml = [] } = values;
  const context = { present: present.saml_identity_providers, database, limits };
  const details = await parseAll(saml, context, errors);
  validateEntries('saml_identity_providers', saml.length, errors, (index, entryErrors) => {
    const detail = details.get(index);
    if (detail === undefined) return;
    addError(entryErrors, detail.field, detail.error);
  });
  validateNaming('openid_connect_providers', 'groups_claim', openid, present, errors);
  validateNaming('saml_identity_providers', 'groups_attribute', saml, present, errors);
  await validateTrust(database, 'openid_connect_providers', openid, present, errors);
  await validateTrust(database, 'saml_identity_providers', saml, present, errors);
  const reasons = await fetchAll(openid, present.openid_connect_providers, errors, limits);
  validateEntries('openid_connect_providers', openid.length, errors, (index, entryErrors) => {
    const reason = reasons.get(index);
    if (reason !== undefined)
      addError(entryErrors, 'discovery_document_uri', discoveryError(reason));
  });
}

/** Adds the errors of entries that say what groups mean, and not where they are named. */
function validateNaming(
  list: keyof typeof documentFields,
  field: 'groups_claim' | 'groups_attribute',
  entries: readonly (OpenidConnectProvider | SamlValues)[],
  present: Pick<EffectiveConfiguration, keyof typeof documentFields>,
  errors: Errors,
): void {
  validateEntries(list, entries.length, errors, (index, entryErrors) => {
    const entry = entries[index];
    // What is not sent stays as it is.
    const before = present[list].find(({ id }) => id === entry?.id);
    const whole: Partial<Record<string, unknown>> = { ...before, ...entry };
    const isSet = (name: string): boolean => (whole[name] ?? null) !== null;
    const needsNames =
      whole['groups_create'] === true || isSet('groups_map') || isSet('admin_group');
    if (needsNames && !isSet(field)) addError(entryErrors, field, messages.groupsUnnamed);
  });
}

/** Adds the errors of entries that name a group of administrators and are not trusted. */
async function validateTrust(
  database: Database,
  list: keyof typeof documentFields,
  entries: readonly (OpenidConnectProvider | SamlValues)[],
  present: Pick<EffectiveConfiguration, keyof typeof documentFields>,
  errors: Errors,
): Promise<void> {
  const checked = entriesToCheck(list, entries, present[list], errors);
  const named = checked.map(([place, entry]): [number, typeof entry] => {
    const before = present[list].find(({ id }) => id === entry.id);
    return [place, 'metadata' in entry ? withEntity(entry, before as SamlIdentityProvider) : entry];
  });
  const untrusted = await untrustedPlaces(database, named);
  validateEntries(list, entries.length, errors, (index, entryErrors) => {
    if (untrusted.has(index)) addError(entryErrors, 'admin_group', messages.notTrusted);
  });
}

/** The entry with the provider that it will name: who it leads to depends on it. */
function withEntity(entry: SamlValues, before: SamlIdentityProvider | undefined): SamlValues {
  const { entity_id: _sent, ...rest } = entry;
  const wanted = entityOf(entry, before);
  return wanted === undefined ? rest : { ...rest, entity_id: wanted };
}

/** Runs `check` over the errors of each entry, and keeps the list only if there are any. */
function validateEntries(
  field: string,
  count: number,
  errors: Errors,
  check: (index: number, entryErrors: Record<string, FieldError[]>) => void,
): void {
  if (isWholeRefused(errors[field])) return;
  const entries = (errors[field] ?? Array.from({ length: count }, () => ({}))) as EntryErrors;
  for (const [index, entryErrors] of entries.entries()) check(index, entryErrors);
  if (entries.some((entry) => Object.keys(entry).length > 0)) errors[field] = entries;
}

/** True if the list as a whole was refused: then its entries are not checked. */
function isWholeRefused(fieldErrors: FieldErrors | undefined): boolean {
  return isFieldError(fieldErrors?.[0]);
}

/** The entries that are new or changed and whose fields can be read, by their place. */
function entriesToCheck<Entry extends object>(
  list: keyof typeof documentFields,
  entries: readonly Entry[],
  present: readonly { readonly id: string }[],
  errors: Errors,
): [index: number, entry: Entry][] {
  const listErrors = errors[list];
  if (isWholeRefused(listErrors)) return [];
  const fields = documentFields[list];
  return [...entries.entries()].filter(([index, entry]) => {
    const entryErrors = (listErrors as EntryErrors | undefined)?.[index] ?? {};
    const isRead = fields.every((field) => entryErrors[field] === undefined);
    return isRead && !isUnchanged(entry, present);
  });
}

/** The fields of an entry that are about a document. */
const documentFields = {
  openid_connect_providers: ['discovery_document_uri'],
  saml_identity_providers: ['metadata', 'metadata_url', 'entity_id'],
} as const;

/** Checks the metadata of new or changed entries; returns their errors by place. */
async function parseAll(
  entries: readonly SamlValues[],
  { present, ...context }: MetadataContext & { present: readonly SamlIdentityProvider[] },
  errors: Errors,
): Promise<Map<number, MetadataError>> {
  const details = new Map<number, MetadataError>();
  const untilMs = performance.now() + TOGETHER_MS_MAX;
  for (const [index, entry] of entriesToCheck(
    'saml_identity_providers',
    entries,
    present,
    errors,
  )) {
    const saved = present.find(({ id }) => id === entry.id);
    const error = await validateMetadata(entry, saved, { ...context, untilMs });
    if (error !== null) details.set(index, error);
  }
  return details;
}

/** Fetches the documents of new or changed entries; returns their errors by place. */
async function fetchAll(
  entries: readonly OpenidConnectProvider[],
  present: readonly OpenidConnectProvider[],
  errors: Errors,
  limits?: DocumentLimits,
): Promise<Map<number, string>> {
  const checked = entriesToCheck('openid_connect_providers', entries, present, errors);
  const waiting = [...new Set(checked.map(([, entry]) => entry.discovery_document_uri))];
  const reasons = new Map<string, string | null>();
  const untilMs = performance.now() + TOGETHER_MS_MAX;
  const fetchInTurn = async (): Promise<void> => {
    for (let address = waiting.shift(); address !== undefined; address = waiting.shift())
      reasons.set(
        address,
        performance.now() < untilMs ? await reasonOf(address, limits) : TOO_MANY,
      );
  };
  await Promise.all(Array.from({ length: AT_ONCE_MAX }, fetchInTurn));
  const byIndex = new Map<number, string>();
  for (const [index, { discovery_document_uri: address }] of checked) {
    const reason = reasons.get(address) ?? null;
    if (reason !== null) byIndex.set(index, reason);
  }
  return byIndex;
}

const TOO_MANY = 'no time was left to fetch it beside the others';

async function reasonOf(address: string, limits?: DocumentLimits): Promise<string | null> {
  try {
    await fetchDiscoveryDocument(address, limits);
    return null;
  } catch (error) {
    if (error instanceof DocumentError) return error.message;
    throw error;
  }
}

/** True if an entry is saved already with the same value in every field that was sent. */
function isUnchanged(entry: object, present: readonly { readonly id: string }[]): boolean {
  const { id } = entry as { id?: string };
  const saved = present.find((one) => one.id === id);
  return (
    saved !== undefined &&
    Object.entries(entry).every(([name, value]) =>
      isDeepStrictEqual(value, (saved as Record<string, unknown>)[name]),
    )
  );
}
