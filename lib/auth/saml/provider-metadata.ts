// What is known of a SAML provider, by its entry: its metadata, parsed once in the verifier's
// thread and remembered.

import type { SamlIdentityProvider } from '../../../models/index.ts';
import { ApiError } from '../../api/errors.ts';
import { ProviderRefusal } from '../identity/refusal.ts';
import { type SamlMetadata, SamlMetadataError } from '../saml-metadata.ts';
import { verifier } from './verifier.ts';

/** Texts that are remembered; the one that was used least recently makes room. */
const REMEMBERED_MAX = 16;

const remembered = new Map<string, Promise<SamlMetadata>>();

/** Reads an entry's metadata; it was judged when it was saved, but rules may have changed. */
export async function metadataOf({
  metadata,
}: Pick<SamlIdentityProvider, 'metadata'>): Promise<SamlMetadata> {
  try {
    return await parsed(metadata);
  } catch (cause) {
    if (!(cause instanceof SamlMetadataError)) throw cause;
    throw new ProviderRefusal('provider_misconfigured', cause.message, { cause });
  }
}

/** Says what is wrong with metadata; null when nothing is. */
export async function metadataFaultOf(text: string): Promise<string | null> {
  try {
    await parsed(text);
    return null;
  } catch (error) {
    if (error instanceof SamlMetadataError) return error.message;
    if (!(error instanceof ProviderRefusal)) throw error;
    if (error.reason === 'too_busy') throw new ApiError('service_unavailable', { cause: error });
    return error.detail;
  }
}

function parsed(text: string): Promise<SamlMetadata> {
  const parsing = remembered.get(text) ?? verifier.verify('metadata', text);
  remembered.delete(text);
  remembered.set(text, parsing);
  // What failed is tried again: the thread may have been busy.
  parsing.catch(() => remembered.delete(text));
  const [oldest] = remembered.keys();
  if (remembered.size > REMEMBERED_MAX && oldest !== undefined) remembered.delete(oldest);
  return parsing;
}
