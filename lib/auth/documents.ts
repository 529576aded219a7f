// Fetches documents in which identity providers describe themselves. Their addresses come from
// administrators and may be private (identity providers live there), so the limits are on what a
// bad address can cost: time, bytes, redirects. Text that the other side sends is never quoted.
// docs/api.md#provider-entries.

/** Bounds of one fetch. */
export interface DocumentLimits {
  /** For everything together: connections, redirects, the body. */
  readonly timeoutMs: number;
  /** After decompression. */
  readonly bytesMax: number;
}

/** The bounds that serve. */
export const DOCUMENT_LIMITS: DocumentLimits = { timeoutMs: 5_000, bytesMax: 1_048_576 };

const REDIRECTS_MAX = 3;

/** Why a document is of no use; the message is for people. */
export class DocumentError extends Error {
  override name = 'DocumentError';
}

/** What a fetch asks for, and where it may be led. */
export interface Wanted {
  readonly accept: string;
  /** Says why an address that a redirect leads to is not taken; null where it is. */
  readonly refuse: (to: URL, from: URL) => string | null;
}

/** Fetches a document; throws DocumentError where it cannot be had within the bounds. */
export async function fetchDocument(
  address: string,
  wanted: Wanted,
  limits: DocumentLimits = DOCUMENT_LIMITS,
): Promise<string> {
  const signal = AbortSignal.timeout(limits.timeoutMs);
  try {
    const response = await fetchFollowing(new URL(address), wanted, signal);
    return await readText(response, limits.bytesMax);
  } catch (cause) {
    if (cause instanceof DocumentError) throw cause;
    throw new DocumentError(
      signal.aborted
        ? `it was not there within ${limits.timeoutMs / 1_000} s`
        : `it cannot be fetched (${failureOf(cause)})`,
      { cause },
    );
  }
}

async function fetchFollowing(
  first: URL,
  { accept, refuse }: Wanted,
  signal: AbortSignal,
): Promise<Response> {
  let url = first;
  for (let redirects = 0; ; redirects += 1) {
    const response = await fetch(url.href, { signal, headers: { accept }, redirect: 'manual' });
    const location = response.headers.get('location');
    if (response.status === 200) return response;
    await response.body?.cancel();
    if (![301, 302, 303, 307, 308].includes(response.status) || location === null)
      throw new DocumentError(`its address answered with status ${response.status}`);
    if (redirects === REDIRECTS_MAX)
      throw new DocumentError(`its address redirects more than ${REDIRECTS_MAX} times`);
    if (!URL.canParse(location, url.href))
      throw new DocumentError('its address redirects to nowhere');
    const next = new URL(location, url);
    const why = refuse(next, url);
    if (why !== null) throw new DocumentError(`its address redirects to ${why}`);
    url = next;
  }
}

/** Reads a body as text; throws DocumentError when it is larger, and ends the connection. */
export async function readText(response: Response, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // What is thrown inside the loop also ends the connection.
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).byteLength;
    if (bytes > bytesMax) throw new DocumentError(`it is larger than ${bytesMax} bytes`);
    chunks.push(chunk as Uint8Array);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The code of a failure, ECONNREFUSED say; never a message, which may quote what was received. */
export function failureOf(error: unknown): string {
  const { cause } = error as { cause?: { code?: unknown; name?: unknown } };
  const code = cause?.code ?? cause?.name ?? (error as Error).name;
  return typeof code === 'string' ? code : 'no reason given';
}
