// Entries of the configuration for identity providers, good but for what a test changes.

import type { OpenidConnectProvider, SamlIdentityProvider } from '../../../models/index.ts';
import { CLIENT } from './bad-openid-provider.ts';

/** An OpenID provider. */
export function oidcEntry(changes: Partial<OpenidConnectProvider> = {}): OpenidConnectProvider {
  return {
    id: 'okta',
    label: 'Okta',
    client_id: CLIENT.id,
    client_secret: CLIENT.secret,
    discovery_document_uri: 'http://127.0.0.1:1/.well-known/openid-configuration',
    auto_create_users: true,
    scope: 'openid email profile',
    response_type: 'code',
    redirect_uri: null,
    ...changes,
  };
}

/** A SAML provider. */
export function samlEntry(changes: Partial<SamlIdentityProvider> = {}): SamlIdentityProvider {
  return {
    id: 'saml-idp',
    label: 'SAML',
    auto_create_users: true,
    metadata: '',
    base_url: 'http://127.0.0.1:13000/auth/saml',
    sign_requests: true,
    sign_metadata: true,
    signed_assertion_in_resp: true,
    signed_envelopes_in_resp: true,
    ...changes,
  };
}
