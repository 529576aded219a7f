// Fetches the document in which an OpenID provider describes itself. Its address comes from an
// administrator and may be private (identity providers live there), so what is bounded is what a
// bad one can cost: time, bytes, redirects. What the other side sends is never quoted. api.md,
// section 7.

/** Bounds of one fetch. */
export interface DiscoveryLimits {
  /** For everything together: connections, redirects, the body. */
  readonly timeoutMs: number;
  /** After decompression. */
  readonly bytesMax: number;
}

/** The bounds that serve. */
export const DISCOVERY_LIMITS: DiscoveryLimits = { timeoutMs: 5_000, bytesMax: 1_048_576 };

const REDIRECTS_MAX = 3;

/** Members that sign-in cannot do without. */
const REQUIRED = ['issuer', 'authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const;

/** What a provider says of itself; further members are there as they were sent. */
export type DiscoveryDocument = Readonly<Record<(typeof REQUIRED)[number], string>> &
  Readonly<Record<string, unknown>>;

/** Why a document is of no use; the message is for people. */
export class DiscoveryError extends Error {
  override name = 'DiscoveryError';
}

/** Fetches and judges a document; throws DiscoveryError when sign-in could not use it. */
export async function fetchDiscoveryDocument(
  address: string,
  limits: DiscoveryLimits = DISCOVERY_LIMITS,
): Promise<DiscoveryDocument> {
  const signal = AbortSignal.timeout(limits.timeoutMs);
  let text: string;
  try {
    const response = await fetchFollowing(new URL(address), signal);
    text = await readText(response, limits.bytesMax);
  } catch (cause) {
    if (cause instanceof DiscoveryError) throw cause;
    throw new DiscoveryError(
      signal.aborted
        ? `it was not there within ${limits.timeoutMs / 1_000} s`
        : `it cannot be fetched (${failureOf(cause)})`,
      { cause },
    );
  }
  return judgeDocument(text);
}

async function fetchFollowing(first: URL, signal: AbortSignal): Promise<Response> {
  let url = first;
  for (let redirects = 0; ; redirects += 1) {
    const headers = { accept: 'application/json' };
    const response = await fetch(url.href, { signal, headers, redirect: 'manual' });
    const location = response.headers.get('location');
    if (response.status === 200) return response;
    await response.body?.cancel();
    if (![301, 302, 303, 307, 308].includes(response.status) || location === null)
      throw new DiscoveryError(`its address answered with status ${response.status}`);
    if (redirects === REDIRECTS_MAX)
      throw new DiscoveryError(`its address redirects more than ${REDIRECTS_MAX} times`);
    if (!URL.canParse(location, url.href))
      throw new DiscoveryError('its address redirects to nowhere');
    url = new URL(location, url);
    if (!/^https?:$/.test(url.protocol))
      throw new DiscoveryError('its address redirects to something else than http or https');
  }
}

/** Reads a body as text; throws DiscoveryError when it is larger, and ends the connection. */
export async function readText(response: Response, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // What is thrown inside the loop also ends the connection.
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).byteLength;
    if (bytes > bytesMax) throw new DiscoveryError(`it is larger than ${bytesMax} bytes`);
    chunks.push(chunk as Uint8Array);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function judgeDocument(text: string): DiscoveryDocument {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new DiscoveryError('it is not JSON', { cause });
  }
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw new DiscoveryError('it is not a JSON object');
  for (const member of REQUIRED) {
    const value: unknown = Object.hasOwn(document, member)
      ? (document as Record<string, unknown>)[member]
      : undefined;
    if (value === undefined) throw new DiscoveryError(`its ${member} is missing`);
    if (typeof value !== 'string' || !/^https?:\/\/[^/]/i.test(value) || !URL.canParse(value))
      throw new DiscoveryError(`its ${member} is no address of http or https`);
  }
  judgeIssuer((document as DiscoveryDocument).issuer);
  return document as DiscoveryDocument;
}

/** Entra's `common` and `organizations` serve every tenant: no token has their issuer. */
function judgeIssuer(issuer: string): void {
  if (!/[{}]|%7[bd]/i.test(issuer)) return;
  throw new DiscoveryError(
    'its issuer has a placeholder, because it serves the accounts of every organisation; take the address with the id of your own tenant in place of common or organizations',
  );
}

/** The code of a failure, ECONNREFUSED say; never a message, which may quote what was received. */
export function failureOf(error: unknown): string {
  const { cause } = error as { cause?: { code?: unknown; name?: unknown } };
  const code = cause?.code ?? cause?.name ?? (error as Error).name;
  return typeof code === 'string' ? code : 'no reason given';
}
