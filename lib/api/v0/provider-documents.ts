// Judges what identity providers say of themselves, before anything is saved: the discovery
// document of an OpenID provider is fetched, SAML metadata is parsed. Only entries that are new or
// changed are looked at, so a provider that is gone never stands in the way of another setting.
// Runs before the transaction, never inside it. api.md, section 7.

import { isDeepStrictEqual } from 'node:util';
import type { OpenidConnectProvider } from '../../../models/index.ts';
import {
  DiscoveryError,
  type DiscoveryLimits,
  fetchDiscoveryDocument,
} from '../../auth/discovery.ts';
import { samlMetadataFault } from '../../auth/saml-metadata.ts';
import { addFault, type FieldFaults, type Faults } from '../judge.ts';
import { discoveryFault, metadataFault } from '../messages.ts';
import type { ConfigurationValues, SamlValues } from './configuration.ts';
import type { EffectiveConfiguration } from './effective-configuration.ts';

/** Documents that are fetched at once, and longest time for all of one request. */
const AT_ONCE_MAX = 16;
const TOGETHER_MS_MAX = 15_000;

type EntryFaults = Record<string, string[]>[];

/** Adds the faults of new and changed entries to those of the fields. */
export async function judgeDocuments(
  values: ConfigurationValues,
  present: Pick<EffectiveConfiguration, 'openid_connect_providers' | 'saml_identity_providers'>,
  faults: Faults,
  limits?: DiscoveryLimits,
): Promise<void> {
  const { openid_connect_providers: openid, saml_identity_providers: saml } = values;
  if (saml !== undefined)
    judgeEntries('saml_identity_providers', saml.length, faults, (index, entryFaults) => {
      const entry = saml[index] as SamlValues;
      if (entryFaults['metadata'] !== undefined || entry.metadata === undefined) return;
      if (isUnchanged(entry, present.saml_identity_providers)) return;
      const fault = samlMetadataFault(entry.metadata);
      if (fault !== null) addFault(entryFaults, 'metadata', metadataFault(fault));
    });
  if (openid === undefined) return;
  const reasons = await fetchAll(openid, present.openid_connect_providers, faults, limits);
  judgeEntries('openid_connect_providers', openid.length, faults, (index, entryFaults) => {
    const reason = reasons.get(openid[index]?.discovery_document_uri ?? '');
    if (reason === undefined || entryFaults['discovery_document_uri'] !== undefined) return;
    if (isUnchanged(openid[index] as object, present.openid_connect_providers)) return;
    addFault(entryFaults, 'discovery_document_uri', discoveryFault(reason));
  });
}

/** Runs `judge` over the faults of each entry, and keeps the list only if there are any. */
function judgeEntries(
  field: string,
  count: number,
  faults: Faults,
  judge: (index: number, entryFaults: Record<string, string[]>) => void,
): void {
  const present: FieldFaults | undefined = faults[field];
  // The list as a whole was refused, and its entries were never judged.
  if (typeof present?.[0] === 'string') return;
  const entries = (present ?? Array.from({ length: count }, () => ({}))) as EntryFaults;
  for (const [index, entryFaults] of entries.entries()) judge(index, entryFaults);
  if (entries.some((entry) => Object.keys(entry).length > 0)) faults[field] = entries;
}

/** Fetches the documents of entries that are new or changed; why each bad address is bad. */
async function fetchAll(
  entries: readonly Partial<OpenidConnectProvider>[],
  present: readonly OpenidConnectProvider[],
  faults: Faults,
  limits?: DiscoveryLimits,
): Promise<Map<string, string>> {
  const entryFaults = (faults['openid_connect_providers'] ?? []) as EntryFaults;
  const addresses = entries
    .filter((entry, index) => {
      const isBad = entryFaults[index]?.['discovery_document_uri'] !== undefined;
      return !isBad && !isUnchanged(entry, present);
    })
    .map(({ discovery_document_uri: address }) => address)
    .filter((address) => address !== undefined);
  const waiting = [...new Set(addresses)];
  const reasons = new Map<string, string>();
  const untilMs = performance.now() + TOGETHER_MS_MAX;
  const fetchInTurn = async (): Promise<void> => {
    for (let address = waiting.shift(); address !== undefined; address = waiting.shift()) {
      const reason = performance.now() < untilMs ? await reasonOf(address, limits) : TOO_MANY;
      if (reason !== null) reasons.set(address, reason);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE_MAX }, fetchInTurn));
  return reasons;
}

const TOO_MANY = 'no time was left to fetch it beside the others';

async function reasonOf(address: string, limits?: DiscoveryLimits): Promise<string | null> {
  try {
    await fetchDiscoveryDocument(address, limits);
    return null;
  } catch (error) {
    if (error instanceof DiscoveryError) return error.message;
    throw error;
  }
}

/** True for an entry that stands already, in every field that was sent or filled in. */
function isUnchanged(entry: object, present: readonly { readonly id: string }[]): boolean {
  const { id } = entry as { id?: string };
  const standing = present.find((one) => one.id === id);
  return (
    standing !== undefined &&
    Object.entries(entry).every(([name, value]) =>
      isDeepStrictEqual(value, (standing as Record<string, unknown>)[name]),
    )
  );
}
