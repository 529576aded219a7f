// An identity provider for tests: a local HTTP server that answers as a test wants, and SAML
// metadata with a real certificate (self-signed, its key thrown away).

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';

/** A provider under test. */
export interface TestProvider {
  /** Begins every address of it; no slash at the end. */
  origin: string;
  /** Paths that were asked for, in their order. */
  asked: string[];
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** Starts a provider; without `answer` it serves a good discovery document at every path. */
export async function openProvider(
  t: ExecutionContext,
  answer: Answer = (request, response) => {
    response.end(JSON.stringify(discoveryDocument(`http://${request.headers.host}`)));
  },
): Promise<TestProvider> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, asked };
}

/** What a provider says of itself. */
export function discoveryDocument(origin: string): Record<string, unknown> {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    jwks_uri: `${origin}/keys`,
    response_types_supported: ['code'],
  };
}

/** A certificate, base64 of DER. */
export const CERTIFICATE =
  'MIIBgzCCASmgAwIBAgIUZsxXeFFqxoHVrDP9MOhO9qCHju8wCgYIKoZIzj0EAwIwFjEUMBIGA1UEAwwLaWRwLmV4' +
  'YW1wbGUwIBcNMjYxMTIxMTYyNzE1WhgPMjEyNjEwMjgxNjI3MTVaMBYxFDASBgNVBAMMC2lkcC5leGFtcGxlMFkw' +
  'EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE2NenletMG1MCMbjKT6TLkh4WRo7bqv/9FiJKKtYDs91IP/p2oX1jqPp0' +
  'AJJDky6cKyo6QvGbQ72irxIt5O3w16NTMFEwHQYDVR0OBBYEFNQx+wBGVG6qkvK7DYNE3myNRYeOMB8GA1UdIwQY' +
  'MBaAFNQx+wBGVG6qkvK7DYNE3myNRYeOMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIhAIiimG7w' +
  'ATOirDymZbUCBYxE67WMkFu+gUCocsbhFErjAiBGPGq7ae/2RA6LMKacqvjFu5c0/8rf2xZrGbB1+yLIgA==';

/** Parts of SAML metadata that a test replaces. */
export interface MetadataParts {
  root?: string;
  use?: string;
  certificate?: string;
  services?: string;
  protocol?: string;
  entityId?: string;
}

const METADATA = 'urn:oasis:names:tc:SAML:2.0:metadata';
const BINDINGS = 'urn:oasis:names:tc:SAML:2.0:bindings';

/** One SSO address. */
export function signOnService(binding = 'HTTP-Redirect', location = 'https://idp.example/sso') {
  return `<SingleSignOnService Binding="${BINDINGS}:${binding}" Location="${location}"/>`;
}

/** Metadata of an identity provider. */
export function samlMetadata(parts: MetadataParts = {}): string {
  const {
    root = 'IDPSSODescriptor',
    use = ' use="signing"',
    certificate = `<d:X509Certificate>${CERTIFICATE}</d:X509Certificate>`,
    services = signOnService(),
    protocol = 'urn:oasis:names:tc:SAML:2.0:protocol',
    entityId = 'https://idp.example/metadata',
  } = parts;
  return `<?xml version="1.0"?>
<EntityDescriptor xmlns="${METADATA}" xmlns:d="http://www.w3.org/2000/09/xmldsig#"
    entityID="${entityId}">
  <${root} protocolSupportEnumeration="${protocol}">
    <KeyDescriptor${use}><d:KeyInfo><d:X509Data>${certificate}</d:X509Data></d:KeyInfo></KeyDescriptor>
    ${services}
  </${root}>
</EntityDescriptor>`;
}

/** Metadata of several identity providers. */
export function federation(...entityIds: string[]): string {
  const members = entityIds.map((entityId) => samlMetadata({ entityId }).replace(/<\?.*\?>/, ''));
  return `<EntitiesDescriptor xmlns="${METADATA}">${members.join('')}</EntitiesDescriptor>`;
}
