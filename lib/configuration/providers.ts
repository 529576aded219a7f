// Identity providers and the logo, as the configuration holds them: their fields, and what may
// stand in each. What a provider's documents say is judged elsewhere.
// docs/api.md#the-configuration.

import type Joi from 'joi';
import { EMAIL_CLAIMS } from '../auth/oidc/claims.ts';
import { isMetadataAddress } from '../auth/saml/fetch-metadata.ts';
import { isCanonicalBase64 } from '../devices/keys.ts';
import {
  choice,
  flag,
  isReadableId,
  joi,
  mark,
  resource,
  text,
  trimmed,
  url,
  urlFault,
} from '../judge/fields.ts';
import { isObject } from '../judge/judge.ts';

const PROVIDER_ID = /^[A-Za-z0-9._-]{1,64}$/;
/** Words that sign-in addresses need for themselves. */
const RESERVED_IDS: ReadonlySet<unknown> = new Set(['identity', 'saml', 'magic_link']);
const CLAIM_CHARACTERS_MAX = 255;
const LOGO_BYTES_MAX = 1_048_576;
const IMAGE_TYPE = /^image\/[a-z0-9][a-z0-9.+-]{0,126}$/i;

/** The fields of an OpenID provider. */
export const openidConnectFields = resource({
  id: providerId(),
  label: trimmed('Text of the sign-in button.').required(),
  client_id: trimmed('The name by which the provider knows us.').required(),
  client_secret: text('Stored encrypted, answered in the clear.').required(),
  discovery_document_uri: url('Where the provider describes itself.').required(),
  auto_create_users: autoCreateUsers(),
  scope: trimmed('Names with spaces between.')
    .custom(holdsScope('openid'), 'holds openid')
    .custom(holdsScope('email'), 'holds email')
    .default('openid email profile'),
  response_type: choice('Only `code`.', 'code').default('code'),
  redirect_uri: url('Null: `{EXTERNAL_URL}auth/oidc/{id}/callback/`.').allow(null).default(null),
  email_claim: emailClaim(),
  required_claim: requiredPair('claim'),
});

/** The fields of a SAML provider; `base_url` is filled in where it is left out. */
export const samlFields = resource({
  id: providerId(),
  label: trimmed('Text of the sign-in button.').required(),
  auto_create_users: autoCreateUsers(),
  metadata: mark(
    text(
      'XML of the provider, kept byte for byte. May be left out where there is a `metadata_url`: then it is what was fetched when the entry was saved.',
    ).required(),
    { unless: 'metadata_url' },
  ),
  metadata_url: metadataUrl(),
  base_url: url('Prefix of our addresses; default `{EXTERNAL_URL}auth/saml`.'),
  sign_requests: flag('Whether our requests are signed.').default(true),
  sign_metadata: flag('Whether our metadata is signed.').default(true),
  signed_assertion_in_resp: flag('Whether assertions must be signed.').default(true),
  signed_envelopes_in_resp: flag('Whether responses must be signed.').default(true),
  email_attribute: emailAttribute(),
  required_attribute: requiredPair('attribute'),
});

/** Nothing, or an address, or data with its type; members that are null do not count. */
export function logo(description: string): Joi.ObjectSchema {
  const member = { type: ['string', 'null'] };
  const schema = joi
    .object()
    .custom((value: object, helpers) => readLogo(value) ?? helpers.error('logo.bad'), 'logo')
    .description(description);
  return mark(schema, { json: { properties: { url: member, data: member, type: member } } });
}

/** Reads a logo into the members that it is kept with; null when it is none. */
function readLogo(value: object): object | null {
  if (!isObject(value)) return null;
  const member = (name: string): unknown => {
    const given: unknown = Object.hasOwn(value, name)
      ? (value as Record<string, unknown>)[name]
      : null;
    return given === '' ? null : given;
  };
  const [address, data, type] = [member('url'), member('data'), member('type')];
  if (member('file') !== null) return null;
  if (data === null && type === null) {
    if (address === null) return {};
    return isLogoUrl(address) ? { url: address.trim(), data, type } : null;
  }
  return address === null && isImage(data, type) ? { url: address, data, type } : null;
}

function isLogoUrl(value: unknown): value is string {
  return typeof value === 'string' && isReadableId(value) && urlFault(value.trim()) === null;
}

/** True for base64 of an image that can hold no script: SVG can. */
function isImage(data: unknown, type: unknown): boolean {
  if (typeof data !== 'string' || typeof type !== 'string') return false;
  if (!IMAGE_TYPE.test(type) || /^image\/svg/i.test(type) || !isCanonicalBase64(data)) return false;
  return Buffer.byteLength(data, 'base64') <= LOGO_BYTES_MAX;
}

function providerId(): Joi.Schema {
  const schema = trimmed('Chosen; part of the sign-in address.')
    .custom((id: string, helpers) => {
      if (!PROVIDER_ID.test(id) || id === '.' || id === '..') return helpers.error('provider.id');
      return RESERVED_IDS.has(id) ? helpers.error('provider.reserved') : id;
    }, 'A-Z a-z 0-9 . _ -')
    .required();
  return mark(schema, { json: { pattern: PROVIDER_ID.source } });
}

function metadataUrl(): Joi.Schema {
  const schema = url(
    'Where the metadata are fetched, once a day; https, or http of a loopback address. What was fetched last serves in place of `metadata`.',
  ).custom(
    (value: string, helpers) =>
      // What is no address is told of already.
      urlFault(value) !== null || isMetadataAddress(new URL(value))
        ? value
        : helpers.error('url.https'),
    'https',
  );
  return mark(schema, { keptUnsent: true });
}

function emailClaim(): Joi.Schema {
  const schema = choice(
    'The claim that is read as the e-mail address; `email` where there is none. `email_verified` counts for `email` alone.',
    ...EMAIL_CLAIMS,
  );
  return mark(schema, { keptUnsent: true });
}

function emailAttribute(): Joi.Schema {
  const schema = joi
    .string()
    .trim()
    .min(1)
    .max(CLAIM_CHARACTERS_MAX)
    .description(
      'The name of the attribute that is read as the e-mail address, and nothing else; without it, a NameID that is one, else usual attributes.',
    );
  return mark(schema, { keptUnsent: true });
}

function requiredPair(what: 'claim' | 'attribute'): Joi.Schema {
  const part = (): Joi.Schema => joi.string().trim().min(1).max(CLAIM_CHARACTERS_MAX).required();
  const schema = joi
    .object({ name: part(), value: part() })
    .description(
      `Admits only who has this ${what} with this value, or with a list that holds it; everybody where there is none.`,
    );
  return mark(schema, { keptUnsent: true });
}

function autoCreateUsers(): Joi.Schema {
  return flag('Whether the first sign-in of an unknown e-mail makes a user.').required();
}

function holdsScope(name: 'openid' | 'email'): Joi.CustomValidator {
  return (scope: string, helpers) =>
    scope.split(/\s+/).includes(name) ? scope : helpers.error(`scope.${name}`);
}
