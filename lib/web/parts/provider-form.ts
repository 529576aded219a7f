// The forms of identity providers, one for each kind: their fields, how what was typed becomes an
// entry of the configuration, and which messages belong to that entry. A client secret is never
// sent to a browser; a field that is left empty does not change it.

import type { OpenidConnectProvider, SamlIdentityProvider } from '../../../models/index.ts';
import { type FormErrors, isFormError } from '../kit/plain-words.ts';
import type { Finding } from '../../auth/identity/finding.ts';
import { tryOidcProvider, trySamlProvider } from '../../auth/identity/try-provider.ts';
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
  /** The path where signing in through a provider of this kind begins; its id follows. */
  readonly signInPath: string;
  readonly fresh: Readonly<Record<string, unknown>>;
}

/** The box “trusted”, which is not a field of the configuration. */
export const TRUSTED = 'is_trusted';

/** Behind what the fields fold that most entries leave as they are; the page says what is usual. */
const ADVANCED: NonNullable<Section['folds']> = { label: 'Advanced', usual: {} };

const labelField: Section['fields'][number] = {
  name: 'label',
  label: 'Label',
  help: 'The sign-in button shows it: “Sign in with …”.',
  isRequired: true,
};

const idField: Section['fields'][number] = {
  name: 'id',
  label: 'Id',
  help: 'Letters, digits, dot, dash and underscore; part of the addresses to paste, which follow it when you test or add the provider. It cannot be changed later.',
  isRequired: true,
};

const whoComesIn: Section = {
  legend: 'Who comes in',
  folds: ADVANCED,
  fields: [
    {
      name: 'auto_create_users',
      label: 'Make a user at the first sign-in of an unknown e-mail',
      kind: 'box',
      help: 'Everybody with an account at the provider can sign in, as a user who is not an administrator.',
    },
    {
      name: TRUSTED,
      label: 'Trust the e-mail addresses that it sends',
      kind: 'box',
      help: 'It may then be linked to administrators and to users with a password by their e-mail alone. Only for a provider where nobody can give themselves somebody else’s address.',
    },
  ],
};

const groupsClaim: Section['fields'][number] = {
  name: 'groups_claim',
  label: 'Groups are in the claim',
  placeholder: 'groups',
  help: 'A list of names, or an object whose keys are the names (Zitadel), in the ID token or in userinfo; dots lead into it: realm_access.roles. Read at each sign-in, and every ten minutes where the provider gives a refresh token. Empty: the provider says nothing of groups.',
};

const groupsAttribute: Section['fields'][number] = {
  name: 'groups_attribute',
  label: 'Groups are in the attribute',
  placeholder: 'groups',
  help: 'All its values are names; read at each sign-in. Empty: the provider says nothing of groups.',
};

/** What is made of the names of groups; `where` names them. */
function groupsSection(where: Section['fields'][number]): Section {
  return {
    legend: 'Groups',
    folds: ADVANCED,
    fields: [
      where,
      {
        name: 'groups_map',
        label: 'Names there, and here',
        kind: 'area',
        rows: 4,
        placeholder: 'vpn-engineers => Engineering',
        help: 'One a line: the name at the provider, =>, the name of a group here. Empty: a name means the group of that name which this entry made, and no other.',
      },
      {
        name: 'groups_unmapped',
        label: 'Names that are not in this list mean groups that this entry made',
        kind: 'box',
        help: 'Each means the group of the same name, as if there were no list. It is ticked when you rename such a group.',
      },
      {
        name: 'groups_create',
        label: 'Make groups that are not there',
        kind: 'box',
        help: 'When the first member comes. A user is in 16 groups at most; the others are left out.',
      },
      {
        name: 'admin_group',
        label: 'The group of administrators',
        help: 'Its name at the provider: who is in it is an administrator here, and no longer when they leave it. Trust the provider below first, and save.',
      },
    ],
  };
}

/** A field of OpenID providers only. */
const requiredClaim: Section['fields'][number] = {
  name: 'required_claim',
  label: 'Only people with this claim',
  placeholder: 'hd=example.com',
  help: 'Name, =, value: hd=example.com for one organisation at Google, groups=vpn for a group, realm_access.roles=vpn where dots lead into the claim. It is looked for in the ID token, then in userinfo, at each sign-in; and every ten minutes where the provider gives a refresh token. Empty: everybody whom the provider admits.',
};

const authMethod: Section['fields'][number] = {
  name: 'token_endpoint_auth_method',
  label: 'The client shows its secret',
  kind: 'choice',
  choices: [
    ['', 'by the way that the provider takes'],
    ['client_secret_basic', 'in a header (client_secret_basic)'],
    ['client_secret_post', 'in the body (client_secret_post)'],
  ],
  help: 'Discovery says which ways the provider knows, not for which of them this client is registered. Without a choice, the gateway tries the other way once if the first is refused.',
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
  help: 'Entra sends no email for accounts without a mailbox; there preferred_username is the user name. ADFS has upn. Neither is verified, and an administrator of the directory can change it: at the first sign-in somebody could be linked to a user of this gateway who has that address. Administrators and users with a password stay safe unless you trust the provider below.',
};

/** A field of SAML providers only. */
const requiredAttribute: Section['fields'][number] = {
  name: 'required_attribute',
  label: 'Only people with this attribute',
  placeholder: 'groups=vpn',
  help: 'Name, =, value. At each sign-in, one value of the attribute must be this one. Empty: everybody whom the provider admits.',
};

const emailAttribute: Section['fields'][number] = {
  name: 'email_attribute',
  label: 'The e-mail address is in the attribute',
  placeholder: 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress',
  help: 'For Entra use the attribute of the example, because its NameID is the user name. Empty: the NameID if it is an e-mail address, else the usual attributes.',
};

/** The kinds, by their word in paths. */
export const providerForms: Readonly<Record<'oidc' | 'saml', ProviderForm>> = {
  oidc: {
    kind: 'oidc',
    title: 'OpenID Connect',
    list: 'openid_connect_providers',
    signInPath: '/auth/oidc/',
    fresh: { id: 'sso', scope: 'openid email profile' },
    sections: [
      {
        fields: [
          labelField,
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
            help: 'Kept encrypted and not shown here.',
          },
        ],
      },
      {
        legend: 'At the provider',
        folds: ADVANCED,
        fields: [
          idField,
          authMethod,
          {
            name: 'scope',
            label: 'Scope',
            help: 'Names with spaces between. Many providers give a refresh token only with offline_access (Entra, Okta, Keycloak; Google needs none). Without one, the gateway does not notice that an account was closed.',
          },
          emailClaim,
          {
            name: 'redirect_uri',
            label: 'Redirect address',
            help: 'Empty: the one under EXTERNAL_URL.',
          },
        ],
      },
      groupsSection(groupsClaim),
      { ...whoComesIn, fields: [requiredClaim, ...whoComesIn.fields] },
    ],
  },
  saml: {
    kind: 'saml',
    title: 'SAML 2.0',
    list: 'saml_identity_providers',
    signInPath: '/auth/saml/auth/signin/',
    fresh: {
      id: 'saml',
      sign_requests: true,
      sign_metadata: true,
      signed_assertion_in_resp: true,
      signed_envelopes_in_resp: true,
    },
    sections: [
      {
        fields: [
          labelField,
          {
            name: 'metadata_url',
            label: 'Metadata address',
            placeholder: 'https://idp.example.com/metadata',
            help: 'Where the provider publishes its metadata, https only. They are fetched when you save and then once a day, so that a new certificate of the provider works by itself. Empty: only the metadata below are used.',
          },
          {
            name: 'metadata',
            label: 'Metadata',
            kind: 'area',
            rows: 8,
            help: 'The XML that the provider gives out. With an address it may stay empty; what is pasted here is then used until the next fetch.',
          },
          emailAttribute,
        ],
      },
      {
        legend: 'At the provider',
        folds: ADVANCED,
        fields: [
          idField,
          {
            name: 'entity_id',
            label: 'Entity id of the provider',
            placeholder: 'https://idp.example.com/metadata',
            help: 'Only where the metadata describe several identity providers: the entityID of yours. Empty: the metadata describe one.',
          },
          {
            name: 'base_url',
            label: 'Base address',
            help: 'Prefix of our addresses. Empty: the one under EXTERNAL_URL.',
          },
        ],
      },
      {
        legend: 'Signatures',
        folds: ADVANCED,
        fields: [
          { name: 'sign_requests', label: 'We sign our requests', kind: 'box' },
          { name: 'sign_metadata', label: 'We sign our metadata', kind: 'box' },
          { name: 'signed_assertion_in_resp', label: 'Assertions must be signed', kind: 'box' },
          {
            name: 'signed_envelopes_in_resp',
            label: 'Responses must be signed',
            kind: 'box',
            help: 'Untick the one that your provider does not sign: Entra and Google sign one part alone. “Test sign-in”, once the entry is saved, shows what it signs and sets both. If both are unticked, the assertion must still be covered by one signature.',
          },
        ],
      },
      groupsSection(groupsAttribute),
      { ...whoComesIn, fields: [requiredAttribute, ...whoComesIn.fields] },
    ],
  },
};

/** Fields that are a name and a value, typed as one text. */
const PAIRS = ['required_claim', 'required_attribute'] as const;

/**
 * The questions, of which those that are folded away show themselves where an entry is not as
 * `usual`. Of an entry that exists, a secret is kept where nothing is typed.
 */
export function shownSections(
  { sections }: ProviderForm,
  { usual, isNew }: { readonly usual: Typed; readonly isNew: boolean },
): readonly Section[] {
  return sections.map((section) => ({
    ...section,
    ...(section.folds === undefined ? {} : { folds: { ...section.folds, usual } }),
    fields: section.fields.map((field) =>
      field.kind === 'secret' && !isNew
        ? { ...field, help: `${field.help ?? ''} Empty: it stays as it is.`.trim() }
        : field,
    ),
  }));
}

/** The texts in the fields of a form about an entry. */
export function typedEntry({ sections }: ProviderForm, entry: object): Typed {
  const texts = PAIRS.map((name) => {
    const pair = (entry as Readonly<Record<string, { name: string; value: string }>>)[name];
    return [name, pair === undefined ? '' : `${pair.name}=${pair.value}`];
  });
  // Where there is an address, the metadata that the entry was saved with are no longer used.
  const metadata = 'metadata_url' in entry ? { metadata: '' } : {};
  const groups_map = 'groups_map' in entry ? mapText(entry.groups_map as object) : '';
  const shown = { ...entry, ...metadata, groups_map, ...Object.fromEntries(texts) };
  return typedFrom(shown, sections);
}

/** A claim or an attribute as it is typed, `name=value`; "" for none. */
function pairIn(text: string): object | string {
  if (text.trim() === '') return '';
  const [name = '', ...value] = text.split('=');
  return { name, ...(value.length === 0 ? {} : { value: value.join('=') }) };
}

const LEADS_TO = '=>';

function mapText(map: object): string {
  const lines = Object.entries(map).map(([there, here]) => `${there} ${LEADS_TO} ${here}`);
  return lines.join('\n');
}

/** Names of groups as they are typed, a line each; "" for none. A name may hold the sign itself. */
function mapIn(text: string): object | string {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  if (lines.length === 0) return '';
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.lastIndexOf(LEADS_TO);
      if (at < 0) return [line.trim(), ''];
      return [line.slice(0, at).trim(), line.slice(at + LEADS_TO.length).trim()];
    }),
  );
}

/** The entry that was typed, for the rules of the API; it replaces `present`, if that exists. */
export function entryOf(
  { sections }: ProviderForm,
  typed: Typed,
  present: ProviderEntry | null,
): Record<string, unknown> {
  const { [TRUSTED]: _mark, ...input } = inputOf(typed, sections);
  for (const name of PAIRS) if (name in input) input[name] = pairIn(typed[name] ?? '');
  input['groups_map'] = mapIn(typed['groups_map'] ?? '');
  // What is not ticked is no field, so that the entry stays as older clients know it.
  for (const name of ['groups_unmapped', 'groups_create'])
    if (input[name] !== true) input[name] = '';
  if (present === null) return input;
  const isKept = 'client_secret' in present && input['client_secret'] === '';
  return {
    ...input,
    id: present.id,
    ...(isKept ? { client_secret: present.client_secret } : {}),
    ...keptMetadata(input, present),
  };
}

/** The form shows no metadata of an entry with an address; they are kept if the address is too. */
function keptMetadata(input: Readonly<Record<string, unknown>>, present: ProviderEntry): object {
  if (!('metadata_url' in present) || String(input['metadata']).trim() !== '') return {};
  const address = String(input['metadata_url']).trim();
  return ['', present.metadata_url].includes(address) ? { metadata: present.metadata } : {};
}

/** The messages about the entry at a place of a list, and those about the form as a whole. */
export function entryErrors(errors: FormErrors, list: ProviderList, place: number): FormErrors {
  const { [list]: ofList, ...others } = errors;
  const one = ofList?.[place];
  if (one !== undefined && !isFormError(one)) return { ...others, ...one };
  const texts = (ofList ?? []).filter(isFormError);
  return texts.length === 0 ? others : { ...others, base: texts };
}

/** Tries an entry before it is kept, without signing anybody in. */
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
