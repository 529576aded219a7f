// The forms of identity providers, one for each kind: what is asked, what an entry of the
// configuration is made of what was typed, and which messages are about it. A client secret is
// never sent to a browser; left empty, it stays as it is.

import type {
  Database,
  OpenidConnectProvider,
  SamlIdentityProvider,
} from '../../../models/index.ts';
import type { Faults } from '../../judge/judge.ts';
import { ProviderRefusal } from '../../auth/identity/refusal.ts';
import type { Finding } from '../../auth/identity/finding.ts';
import { tryOidcProvider, trySamlProvider } from '../../auth/identity/try-provider.ts';
import { metadataOf } from '../../auth/saml/provider-metadata.ts';
import { inputOf, type Section, type Typed, typedFrom } from '../kit/form.ts';
import type { Web } from '../kit/web.ts';

/** The lists of the configuration. */
export type ProviderList = 'openid_connect_providers' | 'saml_identity_providers';

/** An entry of either list. */
export type ProviderEntry = OpenidConnectProvider | SamlIdentityProvider;

/** One kind of providers. */
export interface ProviderForm {
  readonly kind: 'oidc' | 'saml';
  readonly title: string;
  readonly list: ProviderList;
  readonly sections: readonly Section[];
  /** Where signing in through one begins. */
  readonly signInPath: string;
  readonly fresh: Readonly<Record<string, unknown>>;
}

/** Name of the box of the mark that is no part of the configuration. */
export const TRUSTED = 'is_trusted';

const common: Section['fields'] = [
  {
    name: 'label',
    label: 'Label',
    help: 'Stands on the sign-in button: “Sign in with …”.',
    isRequired: true,
  },
  {
    name: 'id',
    label: 'Id',
    help: 'Letters, digits, dot, dash and underscore; part of the sign-in address. It stays.',
    isRequired: true,
  },
];

const whoComesIn: Section = {
  legend: 'Who comes in',
  fields: [
    {
      name: 'auto_create_users',
      label: 'Make a user at the first sign-in of an unknown e-mail',
      kind: 'box',
      help: 'Everybody with an account there gets in, as a user without rights to administer.',
    },
    {
      name: TRUSTED,
      label: 'Trust its word on e-mail addresses',
      kind: 'box',
      help: 'It may then be linked to administrators and to users with a password by their e-mail alone. Only for a provider where nobody can give themselves somebody else’s address.',
    },
  ],
};

/** Asked of OpenID providers alone. */
const requiredClaim: Section['fields'][number] = {
  name: 'required_claim',
  label: 'Only people with this claim',
  placeholder: 'hd=example.com',
  help: 'Name, =, value: hd=example.com for one organisation at Google, groups=vpn for a group. It is looked for in the ID token, then in userinfo, at each sign-in; and every ten minutes where the provider gives a refresh token. Empty: everybody whom the provider lets in.',
};

const emailClaim: Section['fields'][number] = {
  name: 'email_claim',
  label: 'The e-mail address is in the claim',
  kind: 'choice',
  choices: [
    ['', 'email'],
    ['preferred_username', 'preferred_username'],
    ['upn', 'upn'],
  ],
  help: 'Entra tells no email of accounts without a mailbox: preferred_username is the user name there; ADFS has upn. Neither is verified, and who administers the directory can change it: at the first sign-in somebody could be linked to a user of ours who has that address. Users with rights or a password stay safe unless you trust the provider below.',
};

/** Asked of SAML providers alone. */
const requiredAttribute: Section['fields'][number] = {
  name: 'required_attribute',
  label: 'Only people with this attribute',
  placeholder: 'groups=vpn',
  help: 'Name, =, value. One of its values must be this one, at each sign-in. Empty: everybody whom the provider lets in.',
};

const emailAttribute: Section['fields'][number] = {
  name: 'email_attribute',
  label: 'The e-mail address is in the attribute',
  placeholder: 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress',
  help: 'For Entra the one of the example, since its NameID is the user name. Empty: a NameID that is an address, else usual attributes.',
};

/** The kinds, by the word that stands in addresses. */
export const providerForms: Readonly<Record<'oidc' | 'saml', ProviderForm>> = {
  oidc: {
    kind: 'oidc',
    title: 'OpenID Connect',
    list: 'openid_connect_providers',
    signInPath: '/auth/oidc/',
    fresh: { scope: 'openid email profile' },
    sections: [
      { fields: common },
      {
        legend: 'At the provider',
        fields: [
          {
            name: 'discovery_document_uri',
            label: 'Discovery document',
            placeholder: 'https://login.example.com/.well-known/openid-configuration',
            isRequired: true,
          },
          { name: 'client_id', label: 'Client id', isRequired: true },
          {
            name: 'client_secret',
            label: 'Client secret',
            kind: 'secret',
            autocomplete: 'new-password',
            help: 'Kept encrypted and not shown here. Empty: it stays as it is.',
          },
          {
            name: 'scope',
            label: 'Scope',
            help: 'Names with spaces between. Many providers give a refresh token only with offline_access (Entra, Okta, Keycloak; Google needs none). Without one, closed accounts are not noticed.',
          },
          emailClaim,
          {
            name: 'redirect_uri',
            label: 'Redirect address',
            help: 'Empty: the one under EXTERNAL_URL.',
          },
        ],
      },
      { ...whoComesIn, fields: [requiredClaim, ...whoComesIn.fields] },
    ],
  },
  saml: {
    kind: 'saml',
    title: 'SAML 2.0',
    list: 'saml_identity_providers',
    signInPath: '/auth/saml/auth/signin/',
    fresh: {
      sign_requests: true,
      sign_metadata: true,
      signed_assertion_in_resp: true,
      signed_envelopes_in_resp: true,
    },
    sections: [
      { fields: common },
      {
        legend: 'At the provider',
        fields: [
          {
            name: 'metadata_url',
            label: 'Metadata address',
            placeholder: 'https://idp.example.com/metadata',
            help: 'Where the provider publishes its metadata, https only. They are fetched when you save and then once a day, so that a new certificate of the provider serves by itself. Empty: only the metadata below serve.',
          },
          {
            name: 'metadata',
            label: 'Metadata',
            kind: 'area',
            rows: 8,
            help: 'The XML that the provider gives out. With an address it may stay empty; what is pasted here then serves until the next fetch.',
          },
          {
            name: 'base_url',
            label: 'Base address',
            help: 'Prefix of our addresses. Empty: the one under EXTERNAL_URL.',
          },
          emailAttribute,
        ],
      },
      {
        legend: 'Signatures',
        fields: [
          { name: 'sign_requests', label: 'We sign our requests', kind: 'box' },
          { name: 'sign_metadata', label: 'We sign our metadata', kind: 'box' },
          { name: 'signed_assertion_in_resp', label: 'Assertions must be signed', kind: 'box' },
          {
            name: 'signed_envelopes_in_resp',
            label: 'Responses must be signed',
            kind: 'box',
            help: 'Untick the one that your provider does not sign: Entra and Google sign one part alone. “Test sign-in”, once the entry is saved, shows what it signs and sets both. With neither, one signature over the assertion is needed all the same.',
          },
        ],
      },
      { ...whoComesIn, fields: [requiredAttribute, ...whoComesIn.fields] },
    ],
  },
};

/** Fields that are a name and a value, typed as one text. */
const PAIRS = ['required_claim', 'required_attribute'] as const;

/** What stands in the fields of a form about an entry. */
export function typedEntry({ sections }: ProviderForm, entry: object): Typed {
  const texts = PAIRS.map((name) => {
    const pair = (entry as Readonly<Record<string, { name: string; value: string }>>)[name];
    return [name, pair === undefined ? '' : `${pair.name}=${pair.value}`];
  });
  // What the entry was saved with serves no more where there is an address.
  const metadata = 'metadata_url' in entry ? { metadata: '' } : {};
  return typedFrom({ ...entry, ...metadata, ...Object.fromEntries(texts) }, sections);
}

/** A claim or an attribute as it is typed, `name=value`; "" for none. */
function pairIn(text: string): object | string {
  if (text.trim() === '') return '';
  const [name = '', ...value] = text.split('=');
  return { name, ...(value.length === 0 ? {} : { value: value.join('=') }) };
}

/** The entry that was typed, for the rules of the API; `present` is the one that it replaces. */
export function entryOf(
  { sections }: ProviderForm,
  typed: Typed,
  present: ProviderEntry | null,
): Record<string, unknown> {
  const { [TRUSTED]: _mark, ...input } = inputOf(typed, sections);
  for (const name of PAIRS) if (name in input) input[name] = pairIn(typed[name] ?? '');
  if (present === null) return input;
  const isKept = 'client_secret' in present && input['client_secret'] === '';
  return {
    ...input,
    id: present.id,
    ...(isKept ? { client_secret: present.client_secret } : {}),
    ...keptMetadata(input, present),
  };
}

/** Metadata are not shown where there is an address; they stay, unless it is another address. */
function keptMetadata(input: Readonly<Record<string, unknown>>, present: ProviderEntry): object {
  if (!('metadata_url' in present) || String(input['metadata']).trim() !== '') return {};
  const address = String(input['metadata_url']).trim();
  return ['', present.metadata_url].includes(address) ? { metadata: present.metadata } : {};
}

/** Of the messages about a list, those about the entry at a place; the rest are about the form. */
export function entryFaults(faults: Faults, list: ProviderList, place: number): Faults {
  const { [list]: ofList, ...others } = faults;
  const one = ofList?.[place];
  if (typeof one === 'object') return { ...others, ...one };
  const texts = (ofList ?? []).filter((text) => typeof text === 'string');
  return texts.length === 0 ? others : { ...others, base: texts };
}

/** Tries an entry as it would be kept, without signing anybody in. */
export async function tryEntry(
  { kind }: ProviderForm,
  entry: ProviderEntry,
  { services }: Web,
): Promise<Finding[]> {
  return kind === 'oidc'
    ? tryOidcProvider(
        entry as OpenidConnectProvider,
        services.config.externalUrl,
        services.discoveryLimits,
      )
    : trySamlProvider(entry as SamlIdentityProvider, new Date(), services.discoveryLimits);
}

/**
 * Whose word a mark of trust believes: the entry alone could be pointed elsewhere. Null where the
 * entry leads to nobody.
 */
export async function authorityOf(
  database: Database,
  entry: ProviderEntry,
): Promise<string | null> {
  if ('discovery_document_uri' in entry) return entry.discovery_document_uri;
  try {
    return (await metadataOf(database, entry)).entityId;
  } catch (error) {
    if (error instanceof ProviderRefusal) return null;
    throw error;
  }
}
