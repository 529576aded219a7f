// The address of a SAML provider's metadata, on this machine: it serves what a test wants at the
// moment, and says how often it was asked.

import type { ServerResponse } from 'node:http';
import type { ExecutionContext } from 'ava';
import type { KeyAndCertificate } from '../../../lib/auth/saml/certificate.ts';
import { openProvider } from './identity-provider.ts';

/** What is served: a document, or whatever is done to the answer. */
export type Served = string | ((response: ServerResponse) => void);

/** An address that serves. */
export interface MetadataAddress {
  readonly url: string;
  serve(what: Served): void;
  /** How often it was asked. */
  count(): number;
}

/** Opens one; it ends with the test. */
export async function openMetadataAddress(
  t: ExecutionContext,
  first: Served,
): Promise<MetadataAddress> {
  let served = first;
  const { origin, asked } = await openProvider(t, (_request, response) => {
    if (typeof served === 'string') response.end(served);
    else served(response);
  });
  return {
    url: `${origin}/metadata`,
    serve: (what) => {
      served = what;
    },
    count: () => asked.length,
  };
}

/** An answer with a status and nothing else. */
export const status = (code: number) => (response: ServerResponse) =>
  void response.writeHead(code).end();

/** A certificate as metadata hold it: base64 of DER. */
export function derOf({ certificate }: Pick<KeyAndCertificate, 'certificate'>): string {
  return certificate.replaceAll(/-----[^-]+-----|\s/g, '');
}
