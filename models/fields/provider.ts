// The fields of identity providers, as the configuration lists them. No table keeps them: they are
// members of JSON. docs/api.md#the-configuration.

import { type EntryOf, fieldsOf } from './field.ts';

const id = {
  api: {
    kind: 'provider id',
    description: 'Chosen; part of the sign-in address.',
    required: true,
  },
} as const;

const label = {
  api: { kind: 'trimmed', description: 'Text of the sign-in button.', required: true },
} as const;

const autoCreateUsers = {
  api: {
    kind: 'flag',
    description: 'Whether the first sign-in of an unknown e-mail makes a user.',
    required: true,
  },
} as const;

/** Admits only who has something; `what` is the provider's word for it. */
function requiredPair<What extends string>(what: What, more = '') {
  return {
    api: {
      kind: 'pair',
      description: `Admits only who has this ${what} with this value, or with a list that holds it; everybody where there is none.${more}`,
      keptUnsent: true,
    },
  } as const;
}

/** What a provider's names of groups mean here. */
const groups = {
  groups_map: {
    api: {
      kind: 'group names',
      description:
        'The name of a group at the provider, and that of the group here. Without it a name means the group of that name which this entry made, and no other.',
      keptUnsent: true,
    },
  },
  groups_unmapped: {
    api: {
      kind: 'flag',
      description:
        'Whether a name that is not in `groups_map` means what it means without a map: the group of that name which this entry made. Renaming such a group sets it.',
      keptUnsent: true,
    },
  },
  groups_create: {
    api: {
      kind: 'flag',
      description: 'Whether groups that are not there are made, when the first member comes.',
      keptUnsent: true,
    },
  },
  admin_group: {
    api: {
      kind: 'short text',
      description:
        'The name of a group at the provider whose members are administrators here; only for a provider that is marked as trusted.',
      keptUnsent: true,
    },
  },
} as const;

/** The fields of an OpenID provider. */
export const openidProviderFields = fieldsOf({
  id,
  label,
  client_id: {
    api: {
      kind: 'trimmed',
      description: 'The name by which the provider knows us.',
      required: true,
    },
  },
  client_secret: {
    api: { kind: 'text', description: 'Stored encrypted, answered in the clear.', required: true },
  },
  discovery_document_uri: {
    api: { kind: 'url', description: 'Where the provider describes itself.', required: true },
  },
  auto_create_users: autoCreateUsers,
  scope: {
    api: {
      kind: 'scopes',
      description: 'Names with spaces between.',
      default: 'openid email profile',
    },
  },
  response_type: {
    api: {
      kind: 'choice of Firezone',
      description: 'Only `code`.',
      words: ['code'],
      default: 'code',
    },
  },
  redirect_uri: {
    api: {
      kind: 'url',
      description: 'Null: `{EXTERNAL_URL}auth/oidc/{id}/callback/`.',
      nullable: true,
      default: null,
    },
  },
  token_endpoint_auth_method: {
    api: {
      kind: 'choice',
      description:
        'How our client shows its secret to the token endpoint: in a header, or in the body. Without it the way that the provider takes is found out.',
      words: ['client_secret_basic', 'client_secret_post'],
      keptUnsent: true,
    },
  },
  email_claim: {
    api: {
      kind: 'choice',
      description:
        'The claim that is read as the e-mail address; `email` where there is none. `email_verified` counts for `email` alone.',
      words: ['email', 'preferred_username', 'upn'],
      keptUnsent: true,
    },
  },
  required_claim: requiredPair('claim', ' Dots in `name` lead into objects, as in `groups_claim`.'),
  groups_claim: {
    api: {
      kind: 'short text',
      description:
        'The claim that names the groups of a person, such as `groups`; dots lead into objects, as in `realm_access.roles`. The keys of an object that has only objects in it are names too. Without it the provider says nothing of groups.',
      keptUnsent: true,
    },
  },
  ...groups,
});

/** The fields of a SAML provider; `base_url` is filled in where it is left out. */
export const samlProviderFields = fieldsOf({
  id,
  label,
  auto_create_users: autoCreateUsers,
  // May be empty where there is an address and the environment fixes the entry.
  metadata: {
    api: {
      kind: 'text',
      description:
        'XML of the provider, kept byte for byte. May be left out where there is a `metadata_url`: then it is what was fetched when the entry was saved.',
      required: true,
      unless: 'metadata_url',
    },
  },
  metadata_url: {
    api: {
      kind: 'metadata address',
      description:
        'Where the metadata are fetched, once a day; https, or http of a loopback address. What was fetched last serves in place of `metadata`.',
      keptUnsent: true,
    },
  },
  entity_id: {
    api: {
      kind: 'entity id',
      description:
        'The entityID of the provider, where the metadata describe several; also of what is fetched from `metadata_url`. Without it the metadata must describe one.',
      keptUnsent: true,
    },
  },
  base_url: {
    api: {
      kind: 'url',
      description: 'Prefix of our addresses; default `{EXTERNAL_URL}auth/saml`.',
      filledIn: true,
    },
  },
  sign_requests: {
    api: { kind: 'flag', description: 'Whether our requests are signed.', default: true },
  },
  sign_metadata: {
    api: { kind: 'flag', description: 'Whether our metadata is signed.', default: true },
  },
  signed_assertion_in_resp: {
    api: { kind: 'flag', description: 'Whether assertions must be signed.', default: true },
  },
  signed_envelopes_in_resp: {
    api: { kind: 'flag', description: 'Whether responses must be signed.', default: true },
  },
  email_attribute: {
    api: {
      kind: 'short text',
      description:
        'The name of the attribute that is read as the e-mail address, and nothing else; without it, a NameID that is one, else usual attributes.',
      keptUnsent: true,
    },
  },
  required_attribute: requiredPair('attribute'),
  groups_attribute: {
    api: {
      kind: 'short text',
      description:
        'The attribute that names the groups of a person. Without it the provider says nothing of groups.',
      keptUnsent: true,
    },
  },
  ...groups,
});

/** An OpenID provider, as administrators send it. */
export type OpenidConnectProvider = EntryOf<typeof openidProviderFields>;

/** A SAML provider, as administrators send it. */
export type SamlIdentityProvider = EntryOf<typeof samlProviderFields>;
