// Identity providers and the logo, as the configuration holds them: their fields, and the values
// that each may have. The documents of a provider are checked elsewhere.
// docs/api.md#the-configuration.

import type Joi from 'joi';
import {
  type ApiField,
  groupNameOf,
  GROUPS_MAPPED_MAX,
  isGroupName,
  type OpenidConnectProvider,
  openidProviderFields,
  type SamlIdentityProvider,
  samlProviderFields,
} from '../../../models/index.ts';
import { isMetadataAddress } from '../../auth/saml/fetch-metadata.ts';
import { isCanonicalBase64 } from '../../kit/validation/keys.ts';
import { isReadableId, joi, mark, trimmed, url, urlError } from '../../kit/validation/fields.ts';
import { isObject } from '../../kit/validation/validate.ts';
import { schemaOf } from '../../kit/validation/resource.ts';

const PROVIDER_ID = /^[A-Za-z0-9._-]{1,64}$/;
/** Words that sign-in addresses need for themselves. */
const RESERVED_IDS: ReadonlySet<unknown> = new Set(['identity', 'saml', 'magic_link']);
const CLAIM_CHARACTERS_MAX = 255;
/** SAML 2.0 Core, section 8.3.6. */
const ENTITY_ID_CHARACTERS_MAX = 1_024;
const LOGO_BYTES_MAX = 1_048_576;
const IMAGE_TYPE = /^image\/[a-z0-9][a-z0-9.+-]{0,126}$/i;

/** What validates and describes an OpenID provider. */
export const openidProviderSchema = schemaOf(openidProviderFields, {
  'provider id': providerId,
  scopes: ({ description }) =>
    trimmed(description)
      .custom(holdsScope('openid'), 'holds openid')
      .custom(holdsScope('email'), 'holds email'),
  'short text': shortText,
  pair: requiredPair,
  'group names': groupNames,
});

/** What validates and describes a SAML provider. */
export const samlProviderSchema = schemaOf(samlProviderFields, {
  'provider id': providerId,
  'metadata address': metadataUrl,
  'entity id': ({ description }) =>
    joi.string().atMost(ENTITY_ID_CHARACTERS_MAX).min(1).trim().description(description),
  'short text': shortText,
  pair: requiredPair,
  'group names': groupNames,
});

/** A SAML provider before `base_url` is filled in. */
export type SamlValues = Omit<SamlIdentityProvider, 'base_url'> & { base_url?: string };

/** The identity providers that were sent; a list that was not sent stays as it is. */
export interface ProviderValues {
  openid_connect_providers?: OpenidConnectProvider[];
  saml_identity_providers?: SamlValues[];
}

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

/** The host goes into the policy of every page, where other signs would be words of the policy. */
function isLogoUrl(value: unknown): value is string {
  if (typeof value !== 'string' || !isReadableId(value) || urlError(value.trim()) !== null)
    return false;
  return /^[\w.:[\]-]+$/.test(new URL(value.trim()).host);
}

/** True for base64 of an image that can hold no script: SVG can. */
function isImage(data: unknown, type: unknown): boolean {
  if (typeof data !== 'string' || typeof type !== 'string') return false;
  if (!IMAGE_TYPE.test(type) || /^image\/svg/i.test(type) || !isCanonicalBase64(data)) return false;
  return Buffer.byteLength(data, 'base64') <= LOGO_BYTES_MAX;
}

function providerId({ description }: ApiField): Joi.Schema {
  const schema = trimmed(description).custom((id: string, helpers) => {
    if (!PROVIDER_ID.test(id) || id === '.' || id === '..') return helpers.error('provider.id');
    return RESERVED_IDS.has(id) ? helpers.error('provider.reserved') : id;
  }, 'A-Z a-z 0-9 . _ -');
  return mark(schema, { json: { pattern: PROVIDER_ID.source } });
}

function metadataUrl({ description }: ApiField): Joi.Schema {
  return url(description).custom(
    (value: string, helpers) =>
      // What is no address has its message already.
      urlError(value) !== null || isMetadataAddress(new URL(value))
        ? value
        : helpers.error('url.https'),
    'https',
  );
}

function short(): Joi.StringSchema {
  return joi.string().atMost(CLAIM_CHARACTERS_MAX).min(1).trim();
}

function shortText({ description }: ApiField): Joi.Schema {
  return short().description(description);
}

function requiredPair({ description }: ApiField): Joi.Schema {
  const pair = { name: short().required(), value: short().required() };
  return joi.object(pair).description(description);
}

function groupNames({ description }: ApiField): Joi.Schema {
  const schema = joi
    .object()
    .custom(
      (value: object, helpers) => readGroupNames(value) ?? helpers.error('groups.bad'),
      'names of groups',
    )
    .description(description);
  const json = { additionalProperties: { type: 'string' }, maxProperties: GROUPS_MAPPED_MAX };
  return mark(schema, { json });
}

/** Reads names there with names here; null where one of them is no name. */
function readGroupNames(value: object): Record<string, string> | null {
  const pairs = Object.entries(value).map(([there, here]: [string, unknown]) => [
    there,
    typeof here === 'string' ? groupNameOf(here) : '',
  ]);
  const isRead = ([there = '', here = '']: string[]): boolean =>
    there !== '' &&
    there.length <= CLAIM_CHARACTERS_MAX &&
    isReadableId(there) &&
    isGroupName(here);
  if (pairs.length > GROUPS_MAPPED_MAX || !pairs.every(isRead)) return null;
  return Object.fromEntries(pairs) as Record<string, string>;
}

function holdsScope(name: 'openid' | 'email'): Joi.CustomValidator {
  return (scope: string, helpers) =>
    scope.split(/\s+/).includes(name) ? scope : helpers.error(`scope.${name}`);
}
