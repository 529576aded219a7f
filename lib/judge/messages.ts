// Every text that a validation may answer, in one place. The texts are those of docs/api.md, to
// the letter: clients compare them. `joiMessages` ties them to the codes of the rules in fields.ts.

/** Texts without a value in them. */
export const messages = {
  blank: "can't be blank",
  invalid: 'is invalid',
  taken: 'has already been taken',
  looksTaken: 'looks like the address of another user',
  absent: 'does not exist',
  reserved: 'is reserved',
  email: 'is invalid email address',
  noMatch: 'does not match confirmation',
  ownRole: 'You cannot change your own role',
  lastAdministratorStays: 'the last administrator cannot be demoted',
  ownSwitch: 'You cannot disable yourself',
  lastAdministratorServes: 'the last administrator cannot be disabled',
  lastAdministratorRemains: 'the last administrator cannot be deleted',
  noOtherSignsIn: 'no other administrator can sign in',
  base64: 'must be a base64-encoded string',
  badKey: 'is not a valid key',
  notPresent: 'must not be present',
  portInDns: 'setting port is not allowed',
  badPort: 'port is not a number between 0 and 65535',
  duplicates: 'should not contain duplicates',
  deviceLimit: 'Maximum device limit reached. Remove an existing device before creating a new one.',
  badFormat: 'bad format',
  portOutOfRange: 'port is not within valid range',
  portsReversed: 'lower value cannot be higher than upper value',
  overlap: 'destination overlaps with an existing rule',
  noOpenidScope: 'must include openid scope',
  noEmailScope: 'must include email scope',
  noHost: 'does not contain a scheme or a host',
  badScheme: 'only http, https schemes are supported',
  badJson: 'is not valid JSON',
  badUtf8: 'is not valid UTF-8',
  badTime: 'is not a time such as 2026-11-25T10:00:00Z',
  endsBeforeStart: 'must be after starts_at',
  badScopes: 'should be a list of admin, read, metrics or capture',
  unseen: 'has a character that cannot be seen; type it without',
  uuidName: 'is a UUID, which means the group of that id; choose another name',
  badStep: 'must be 600, 3600 or 86400',
  ofUserAlready:
    'must be null where user_id is set; a rule is of a user, of a group or of everyone',
  badGroupNames:
    'should be an object with names of groups there and, for each, the name of a group here, no UUID; of 1 to 255 characters, and at most 1000',
  groupsUnnamed: 'is missing; groups_map, groups_create and admin_group need it',
  notTrusted:
    'needs a provider that is marked as trusted; save the entry, mark it, then name the group',
  besidePorts: 'must be null where port_type or port_range is set; only tcp and udp have ports',
} as const;

/** An address of metadata that anybody on the way could change. */
export const NOT_HTTPS = 'must begin with https:// (http:// is for loopback addresses)';

/** How the message begins of a word that is none of some. */
export const ONE_OF = 'should be one of ';
/** So many words are named; longer lists are where programs find them. */
const NAMED_MAX = 8;

/** A text is none of these words. */
export const oneOf = (words: readonly string[]): string =>
  words.length <= NAMED_MAX
    ? `${ONE_OF}${words.join(', ')}`
    : `${ONE_OF}the words that /v0/openapi.json lists, such as ${words[0]}`;

/** A text has fewer code points than `limit`. */
export const atLeastCharacters = (limit: number): string =>
  `should be at least ${limit} character(s)`;

/** A number is greater than `limit`. */
export const atMost = (limit: number | string): string => `must be less than or equal to ${limit}`;

/** A list has more members than `limit`. */
export const atMostItems = (limit: number): string => `should have at most ${limit} item(s)`;

/** An address lies outside the network of the devices. */
export const notInNetwork = (network: string): string => `is not in the CIDR ${network}`;

/** A setting that the environment fixes was sent. */
export const overridden = (field: string): string =>
  `cannot be changed; it is overridden by ${field.toUpperCase()} environment variable`;

/** A discovery document is of no use. */
export const discoveryFault = (reason: string): string => `is invalid. Reason: ${reason}`;

/** SAML metadata are of no use. */
export const metadataFault = (details: string): string => `is invalid. Details: ${details}`;

/** A network behind a device would be everything. */
export const routeIsAll = (network: string): string =>
  `${network} is everything; a device is no default route`;

/** A network behind a device overlaps another network; `what` says whose that is. */
export const routeMeets = (network: string, other: string, what: string): string =>
  `${network} overlaps with ${other}, ${what}`;

/** A network holds an address that the gateway needs to reach. */
export const routeHolds = (network: string, address: string, what: string): string =>
  `${network} holds ${address}, where the gateway reaches ${what}`;

/** No address of the network is free. */
export const exhausted = (network: string): string => `CIDR ${network} is exhausted`;

/** All places of the data plane are taken. */
export const noPlace = (most: number): string =>
  `there are ${most} devices already, the most that a gateway can serve; remove devices that are not needed`;

/** Texts by the codes of Joi's rules and ours. What is not here cannot be read as its type. */
export const joiMessages: Record<string, string> = {
  'any.required': messages.blank,
  'string.empty': atLeastCharacters(1),
  'string.atLeast': 'should be at least {#limit} character(s)',
  'string.atMost': 'should be at most {#limit} character(s)',
  'string.exactly': 'should be {#limit} character(s)',
  'string.atMostBytes': 'should be at most {#limit} byte(s)',
  'number.min': 'must be greater than or equal to {#limit}',
  'number.max': atMost('{#limit}'),
  'host.fqdn': '{#host} is not a valid FQDN',
  'text.email': messages.email,
  'key.base64': messages.base64,
  'key.bad': messages.badKey,
  'record.absent': messages.absent,
  'provider.reserved': messages.reserved,
  'list.duplicates': messages.duplicates,
  'scopes.bad': messages.badScopes,
  'text.unseen': messages.unseen,
  'name.uuid': messages.uuidName,
  'host.portInDns': messages.portInDns,
  'host.badPort': messages.badPort,
  'ports.format': messages.badFormat,
  'ports.range': messages.portOutOfRange,
  'ports.reversed': messages.portsReversed,
  'scope.openid': messages.noOpenidScope,
  'scope.email': messages.noEmailScope,
  'url.host': messages.noHost,
  'url.scheme': messages.badScheme,
  'url.https': NOT_HTTPS,
  'time.bad': messages.badTime,
  'step.bad': messages.badStep,
  'groups.bad': messages.badGroupNames,
  '*': messages.invalid,
};
