// What a new entry begins with, by the provider that it is for: addresses and words that are the
// same for all its customers. A preset opens nothing: it neither trusts addresses nor lets unknown
// people in, and leaves every check of a signature as it is. What is in braces, the person
// replaces; in a host it has a space, which makes the text no address, so that no secret is sent to
// a host of that name.

import { type ProviderForm, typedEntry } from './provider-form.ts';
import type { Typed } from '../kit/form.ts';

/** A provider that many people have. */
export interface ProviderPreset {
  /** Its word in the address of the form. */
  readonly name: string;
  readonly title: string;
  readonly kind: ProviderForm['kind'];
  /** Texts of fields of the form. */
  readonly values: Readonly<Record<string, string>>;
}

const DISCOVERY = '.well-known/openid-configuration';
/** These give a refresh token for it, by which a closed account is noticed within ten minutes. */
const WITH_REFRESH = { scope: 'openid email profile offline_access' } as const;

const google = { name: 'google', title: 'Google' };
const entra = { name: 'entra', title: 'Microsoft Entra ID', label: 'Microsoft' };
const okta = { name: 'okta', title: 'Okta' };
const keycloak = { name: 'keycloak', title: 'Keycloak' };

/** Them, in the order in which they are offered. */
export const providerPresets: readonly ProviderPreset[] = [
  preset('oidc', google, { discovery_document_uri: `https://accounts.google.com/${DISCOVERY}` }),
  preset('oidc', entra, {
    ...WITH_REFRESH,
    discovery_document_uri: `https://login.microsoftonline.com/{tenant id}/v2.0/${DISCOVERY}`,
  }),
  preset('oidc', okta, {
    ...WITH_REFRESH,
    discovery_document_uri: `https://{your domain}.okta.com/${DISCOVERY}`,
  }),
  preset('oidc', keycloak, {
    ...WITH_REFRESH,
    discovery_document_uri: `https://{your host}/realms/{realm}/${DISCOVERY}`,
  }),
  ...['Authelia', 'Zitadel'].map((title) =>
    preset(
      'oidc',
      { name: title.toLowerCase(), title },
      { ...WITH_REFRESH, discovery_document_uri: `https://{your host}/${DISCOVERY}` },
    ),
  ),
  // Google publishes no metadata: the person pastes the file that it hands out.
  preset('saml', google, {}),
  preset('saml', entra, {
    metadata_url:
      'https://login.microsoftonline.com/{tenant id}/federationmetadata/2007-06/federationmetadata.xml?appid={application id}',
    // Its NameID is the user name.
    email_attribute: 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress',
  }),
  preset('saml', okta, {
    metadata_url: 'https://{your domain}.okta.com/app/{id there}/sso/saml/metadata',
  }),
  preset('saml', keycloak, {
    metadata_url: 'https://{your host}/realms/{realm}/protocol/saml/descriptor',
  }),
];

function preset(
  kind: ProviderForm['kind'],
  provider: { readonly name: string; readonly title: string; readonly label?: string },
  further: Readonly<Record<string, string>>,
): ProviderPreset {
  const { name, title, label = title } = provider;
  return { name, title, kind, values: { label, id: name, ...further } };
}

/** The presets of one kind. */
export function presetsOf(kind: ProviderForm['kind']): ProviderPreset[] {
  return providerPresets.filter((one) => one.kind === kind);
}

/** The texts with which the form of a new entry begins; of an unknown preset, those of any. */
export function freshEntry(form: ProviderForm, name: string, taken: readonly string[]): Typed {
  const chosen = presetsOf(form.kind).find((one) => one.name === name);
  const values = { ...form.fresh, ...chosen?.values };
  return typedEntry(form, { ...values, id: freeId(String(values['id']), taken) });
}

/** The id, with the first number that makes it another one than those that are there. */
function freeId(id: string, taken: readonly string[]): string {
  const numbered = (n: number): string => (n === 1 ? id : `${id}-${n}`);
  let n = 1;
  while (taken.includes(numbered(n))) n += 1;
  return numbered(n);
}
