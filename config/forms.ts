// The forms that settings have: each validates the text of a variable and converts it. Errors say
// what is wanted and quote no secret.

import ipaddr from 'ipaddr.js';
import Joi from 'joi';

/** The host of a URL; an IPv6 address without its brackets. */
export function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');
}

/** 32 bytes as standard base64: WireGuard keys and the database encryption key. */
export const base64Key = Joi.string()
  .pattern(/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/)
  .messages({ 'string.pattern.base': 'must be 32 bytes in base64 (44 characters)' });

/** Any text but none. */
export const text = Joi.string().min(1);
/** A port of TCP or UDP. */
export const port = Joi.number().integer().min(1).max(65535);
/** True or false, as people write it. */
export const flag = Joi.boolean().truthy('1', 'yes', 'on').falsy('0', 'no', 'off');
/** One of some words. */
export const choice = (...values: string[]): Joi.Schema => Joi.string().valid(...values);
/** An IPv4 address. */
export const ipv4 = Joi.string().ip({ version: 'ipv4', cidr: 'forbidden' });
/** An IPv6 address. */
export const ipv6 = Joi.string().ip({ version: 'ipv6', cidr: 'forbidden' });
/** An IPv4 network with its prefix. */
export const ipv4Network = Joi.string().ip({ version: 'ipv4', cidr: 'required' });
/** An IPv6 network with its prefix. */
export const ipv6Network = Joi.string().ip({ version: 'ipv6', cidr: 'required' });
/** The name of a network interface. */
export const interfaceName = Joi.string()
  .pattern(/^[A-Za-z0-9_=+.-]{1,15}$/)
  .invalid('.', '..', 'all', 'default', 'lo')
  .messages({
    'string.pattern.base': 'must be 1 to 15 characters of A-Z a-z 0-9 _ = + . -',
    'any.invalid': 'has a meaning of its own for the kernel; give another name',
  });

/** An API token. */
export const token = Joi.string()
  .pattern(/^pst_[A-Za-z0-9_-]{43}$/)
  .messages({
    'string.pattern.base':
      'must be pst_ and 43 characters of unpadded base64url; `postern token make-bootstrap` makes one',
  });

/** A token that opens the metrics alone; no API token, which would open everything. */
export const metricsToken = Joi.string()
  .pattern(/^(?!pst_)[A-Za-z0-9_.~+/=-]{16,256}$/)
  .messages({
    'string.pattern.base':
      'must be 16 to 256 characters of A-Z a-z 0-9 _ . ~ + / = - and no API token (pst_...)',
  });

/** The public address; its path, if any, must end in a slash so that paths can be appended. */
export const externalUrl = Joi.string().custom((value: string, helpers) => {
  let url: URL;
  try {
    url = new URL(value);
  } catch {
    return helpers.message({ custom: 'must be an absolute URL' });
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return helpers.message({ custom: 'must begin with http:// or https://' });
  if (url.search !== '' || url.hash !== '' || url.username !== '')
    return helpers.message({ custom: 'must not hold a query, a fragment or a user' });
  if (!url.pathname.endsWith('/')) return helpers.message({ custom: 'must end in /' });
  return url.href;
});

/** An e-mail address. */
export const email = Joi.string()
  .trim()
  .max(255)
  .pattern(/^[^@\s\p{Cc}\p{Bidi_Control}]+@[^@\s\p{Cc}\p{Bidi_Control}]+$/u)
  .messages({ 'string.pattern.base': 'must be an e-mail address' });

/** Networks that one setting may name: each is compared with the address of every request. */
const NETWORKS_MAX = 1_000;

/** A name of a host. */
export const HOST_NAME =
  /^(?=.{1,253}$)[a-z\d_]([a-z\d_-]{0,61}[a-z\d_])?(\.[a-z\d_]([a-z\d_-]{0,61}[a-z\d_])?)*$/i;

/** Addresses, CIDRs and names of hosts, with commas between; digits alone are no name. */
export const hostsAndNetworks = Joi.string().custom((value: string, helpers) => {
  const members = value.split(',').map((one) => one.trim());
  if (members.length > NETWORKS_MAX)
    return helpers.message({ custom: `must name at most ${NETWORKS_MAX} hosts and networks` });
  const isName = (one: string): boolean => HOST_NAME.test(one) && !/^[\d.]+$/.test(one);
  return members.every((one) => isNetwork(one) || isName(one))
    ? value
    : helpers.message({ custom: 'must be addresses, CIDRs or host names with commas between' });
});

function isNetwork(text: string): boolean {
  return (
    ipaddr.isValidCIDR(text) ||
    ipaddr.IPv4.isValidFourPartDecimal(text) ||
    ipaddr.IPv6.isValid(text)
  );
}

/** A database: a server, or a file of SQLite. */
export const databaseUrl = Joi.string()
  .pattern(/^(mysql|mariadb):\/\/.+\/.+|^sqlite:.+/)
  .messages({
    'string.pattern.base': 'must begin with mysql://, mariadb:// or sqlite: and name a database',
  })
  .custom((value: string, helpers) => {
    const error = value.startsWith('sqlite:') ? null : serverUrlError(value);
    return error === null ? value : helpers.message({ custom: error });
  });

/** Why a server cannot be found by this URL, or not as it asks; quotes no secret of it. */
function serverUrlError(value: string): string | null {
  const portError = (given: string): string =>
    `has port ${given}; ports go from 1 to 65535, without one it is 3306`;
  let url: URL;
  try {
    url = new URL(value);
    for (const part of [url.username, url.password, url.pathname]) decodeURIComponent(part);
  } catch {
    const given = /^\w+:\/\/(?:[^@/?#]*@)?[^@/?#]*:(\d+)\//.exec(value)?.[1];
    return given !== undefined && Number(given) > 65535
      ? portError(given)
      : 'cannot be read as a URL; in user and password write # as %23, / as %2F, ? as %3F, @ as %40, % as %25';
  }
  if (url.port === '0') return portError(url.port);
  if (url.hostname === '' || url.pathname === '/') return 'must name a host and a database';
  if (url.search !== '')
    return `takes no parameters; remove what follows the question mark (${[...url.searchParams.keys()].join(', ')})`;
  return url.hash === '' ? null : 'takes no fragment; remove what follows the #';
}

/** What bcrypt looks at: more would be cut silently. lib/auth/passwords.ts says the same. */
const PASSWORD_BYTES_MAX = 72;

/** A password that bcrypt looks at as a whole. */
export const password = Joi.string()
  .min(12)
  .max(64)
  .custom((value: string, helpers) =>
    new TextEncoder().encode(value.normalize('NFC')).length <= PASSWORD_BYTES_MAX
      ? value
      : helpers.message({
          custom: `must be at most ${PASSWORD_BYTES_MAX} bytes in UTF-8; take a shorter one, or letters without accents`,
        }),
  );
