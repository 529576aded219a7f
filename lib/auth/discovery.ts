// Fetches the document in which an OpenID provider describes itself, and checks whether sign-in can
// use it. docs/api.md#provider-entries.

import { DOCUMENT_LIMITS, DocumentError, type DocumentLimits, fetchDocument } from './documents.ts';

/** Members that sign-in cannot do without. */
const REQUIRED = ['issuer', 'authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const;

/** What a provider says of itself; further members are there as they were sent. */
export type DiscoveryDocument = Readonly<Record<(typeof REQUIRED)[number], string>> &
  Readonly<Record<string, unknown>>;

/** Fetches and checks a document; throws DocumentError when sign-in could not use it. */
export async function fetchDiscoveryDocument(
  address: string,
  limits: DocumentLimits = DOCUMENT_LIMITS,
): Promise<DiscoveryDocument> {
  return checkDocument(await fetchDocument(address, WANTED, limits));
}

const WANTED = {
  accept: 'application/json',
  refuse: ({ protocol }: URL) =>
    /^https?:$/.test(protocol) ? null : 'something else than http or https',
};

function checkDocument(text: string): DiscoveryDocument {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new DocumentError('it is not JSON', { cause });
  }
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw new DocumentError('it is not a JSON object');
  for (const member of REQUIRED) {
    const value: unknown = Object.hasOwn(document, member)
      ? (document as Record<string, unknown>)[member]
      : undefined;
    if (value === undefined) throw new DocumentError(`its ${member} is missing`);
    if (typeof value !== 'string' || !/^https?:\/\/[^/]/i.test(value) || !URL.canParse(value))
      throw new DocumentError(`its ${member} is no address of http or https`);
  }
  checkIssuer((document as DiscoveryDocument).issuer);
  return document as DiscoveryDocument;
}

/** Entra's `common` and `organizations` serve every tenant: no token has their issuer. */
function checkIssuer(issuer: string): void {
  if (!/[{}]|%7[bd]/i.test(issuer)) return;
  throw new DocumentError(
    'its issuer has a placeholder, because it serves the accounts of every organisation; take the address with the id of your own tenant in place of common or organizations',
  );
}
