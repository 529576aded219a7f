// A SAML provider made of the package samlp, on a port of this machine: it reads our request, checks
// its signature, and answers with a page whose form posts to us.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import samlp from 'samlp';
import type { KeyAndCertificate } from '../../../lib/auth/saml/certificate.ts';
import { idpKey, idpMetadata } from './bad-saml-provider.ts';
import { signOnService } from './identity-provider.ts';

/** A provider that runs. */
export interface RealSamlProvider {
  origin: string;
  metadata: string;
  /** Who is signed in there. */
  person: { email: string };
  /** What the next answers are made with, beside what is always so. */
  options: Record<string, unknown>;
  /** Errors that the provider found in requests. */
  errors: string[];
}

/** What express puts on requests and answers, as far as samlp uses it. */
interface Expressed {
  query: Record<string, string>;
  originalUrl: string | undefined;
  body: Record<string, string>;
}

/** Starts one that posts to `consume`; it ends with the test. `key` is ours, for requests. */
export async function openSamlProvider(
  t: ExecutionContext,
  consume: string,
  key: KeyAndCertificate,
): Promise<RealSamlProvider> {
  const server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const idp: RealSamlProvider = {
    origin,
    // Another site than ours to a browser: another host.
    metadata: idpMetadata(
      signOnService('HTTP-Redirect', `${origin.replace('127.0.0.1', 'localhost')}/sso`),
      {
        entityId: `${origin}/metadata`,
      },
    ),
    person: { email: 'person@example.com' },
    options: {},
    errors: [],
  };
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const { searchParams } = new URL(request.url ?? '/', origin);
    Object.assign(request, {
      query: Object.fromEntries(searchParams),
      originalUrl: request.url,
      body: {},
      user: {
        id: idp.person.email,
        displayName: idp.person.email,
        emails: [{ value: idp.person.email }],
        name: { givenName: 'A', familyName: 'Person' },
      },
    } satisfies Expressed & { user: object });
    Object.assign(response, {
      set: (name: string, value: string) => response.setHeader(name, value),
      send: (first: unknown, second?: unknown) => {
        if (typeof first === 'number') response.statusCode = first;
        response.end(String(typeof first === 'number' ? (second ?? '') : first));
      },
    });
    const handle = samlp.auth({
      issuer: `${origin}/metadata`,
      cert: idpKey.certificate,
      key: idpKey.privateKey,
      // That of requests: samlp checks them when it knows a certificate.
      signingCert: key.certificate,
      getPostURL: (_audience: unknown, _request: unknown, _http: unknown, done: PostUrl) =>
        done(null, consume),
      recipient: consume,
      destination: consume,
      signResponse: true,
      signAssertion: true,
      lifetimeInSeconds: 300,
      ...idp.options,
    });
    handle(request, response, (error: unknown) => {
      idp.errors.push(error instanceof Error ? error.message : String(error));
      response.writeHead(400).end('refused');
    });
  };
  return idp;
}

type PostUrl = (error: unknown, url: string) => void;
