// Every error that a validation may find, by its code, and the sentence that the API makes of each.
// The sentences are those of docs/api.md, to the letter: clients compare them. Pages and commands
// make sentences of their own of the same codes. `JOI_CODES` ties them to the rules in fields.ts.

/** What the API says of errors without a value in them, by code. */
const plainSentences = {
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
  fromNotBeforeTo: 'must be before `to`, and not in the future',
  fromTooEarly: 'must be after 1970',
  otherFamilyThanDevice: 'is of an address family that the device does not have',
  otherFamilyThanSender: 'is of another address family than the sender',
  addressOfNoDevice: 'is the address of no device, and the sender is no device either',
  needsMail: 'needs the settings SMTP_URL and MAIL_FROM',
  linkOfDisabled: 'is disabled, so a link of this user would not work',
  notLinked: 'is not linked through this identity provider',
  administratorNotFreed:
    'is an administrator, who is linked anew only by a verified e-mail or through a trusted entry',
  notTriable:
    'is not /v0/rules, /v0/devices, /v0/users or /v0/groups, one of them with /{id}, or /v0/groups/{id}/members',
  onlyPost: 'must be POST for the members of a group: it adds and removes them',
  idTooMuch: 'must not name a record: POST makes a new one',
  idMissing: 'must name the record: /{id} is missing',
  notHttps: 'must begin with https:// (http:// is for loopback addresses)',
  membersShape:
    'should be an object with the lists add, remove or both, such as {"add":["ann@example.com"]}',
  badMembers: 'should be a list of ids or e-mails of users, such as ["ann@example.com"]',
} as const;

/** What the API says of errors with values in them: `{name}` stands for a value. */
const sentencesWithValues = {
  atLeastCharacters: 'should be at least {limit} character(s)',
  atMostCharacters: 'should be at most {limit} character(s)',
  exactlyCharacters: 'should be {limit} character(s)',
  atMostBytes: 'should be at most {limit} byte(s)',
  atMostItems: 'should have at most {limit} item(s)',
  atLeast: 'must be greater than or equal to {limit}',
  atMost: 'must be less than or equal to {limit}',
  oneOf: 'should be one of {words}',
  noHostName: '{host} is not a valid FQDN',
  notInNetwork: 'is not in the CIDR {network}',
  exhausted: 'CIDR {network} is exhausted',
  overridden: 'cannot be changed; it is overridden by {variable} environment variable',
  discovery: 'is invalid. Reason: {reason}',
  metadata: 'is invalid. Details: {reason}',
  routeIsAll: '{network} is everything; a device is no default route',
  routeMeets: '{network} overlaps with {other}, {what}',
  routeHolds: '{network} holds {address}, where the gateway reaches {what}',
  stepTooShort: 'must be at least {least}, because shorter steps of that time are not kept',
  tooManyPoints: 'must be later: there would be more than {most} points',
  sizeTooSmall: 'must be at least {least}, which the headers of the packet take',
  tooManyGroups:
    'there are {most} groups already, the most that there may be; remove some that are not needed',
  tooManyPolicyTests:
    'there are {most} policy tests already, the most that there may be; remove some that are not needed',
  tooManyTokens: 'token limit of {most} reached',
  tokenDays: 'should be a whole number from 1 to {most}',
  noSuchUser: '{name} is no user; give the id or the e-mail of one',
  alsoAdded: '{email} is also in add',
  inTooManyGroups:
    '{email} is in {most} groups already, the most that a user may be in; remove the user from another group first',
  memberOfProvider:
    '{email} is a member because the identity provider "{provider}" says so; change it there',
  nameUsedByFixed:
    'is used by the identity provider "{provider}", which the environment fixes; keep the name, or remove the variable {variable} and enter the provider in the console first',
  groupsMapFull:
    'needs a place in groups_map of the identity provider "{provider}", which has {most} names already; remove one there first',
  testFails: 'policy test "{test}" would fail{when}: it expects {expected}, but {decider}',
  moreTestsFail: '{count} more policy test(s) would fail',
  wrongEntity: 'must name the identity provider that the metadata describe: {entity}',
  wrongEntityOfMany:
    'must name one of the {count} identity providers that the metadata describe: {entities}',
  noPlace:
    'there are {most} devices already, the most that a gateway can serve; remove devices that are not needed',
} as const;

/** Errors that only pages and commands find, as the command line says them. */
export const sentencesOutsideApi = {
  lastWayIn: 'no administrator could sign in any more',
  providersChanged: 'somebody else changed the providers meanwhile; read them again',
  otherOrigin: 'is not this gateway’s',
  noFormToken:
    'is not this browser’s: send it, or the header {header}, with what a page’s <meta name="csrf-token"> holds',
  hostOfNumbers:
    '“{host}” is not an address: an IPv4 address has four numbers from 0 to 255, such as 1.1.1.1',
  hostOfPage: '“{page}” is the address of a page: give its host alone, {host}',
  noDeviceCalled: 'no device is called “{name}”',
  noDeviceAt: 'no device has the address {address}',
  severalDevices: 'several devices have this name; give an address: {addresses}',
  noSuchGroup: 'there is no group “{name}”; correct the name, or make the group first',
  wouldBeInTooMany:
    '{email} would be in {count} groups, and {most} are the most; name fewer, or remove this user from another group first',
  tokenOfDisabled: '{email} is disabled, so a token of this user would not work',
  looksLikeAnother: '{email} looks like the address of another user',
  heldDevice:
    'an administrator switched the device off, or set the time at which it ended; only administrators remove it or change its key',
  tooManyMails: 'too many mails wait, so the link before stays; send another one later',
} as const;

/** What the API says, by code. */
export const sentences = {
  ...plainSentences,
  ...sentencesWithValues,
  ...sentencesOutsideApi,
} as const;

/** What is wrong with a value. */
export type FieldErrorCode = keyof typeof sentences;

/** An error of a field: its code, and the values that sentences of it need. */
export interface FieldError {
  readonly code: FieldErrorCode;
  readonly values?: Readonly<Record<string, string | number>>;
  /** The line of a list that it is about. */
  readonly line?: number;
}

/** Errors without a value in them. */
export const messages = Object.fromEntries(
  Object.keys(plainSentences).map((code) => [code, { code }]),
) as { readonly [Code in keyof typeof plainSentences]: FieldError };

/** True for an error of a field, and not for those of a record in a list. */
export function isFieldError(value: unknown): value is FieldError {
  return typeof value === 'object' && value !== null && typeof Object(value)['code'] === 'string';
}

/** The code of an error; null for those of a record in a list. */
export function codeOf(error: unknown): FieldErrorCode | null {
  return isFieldError(error) ? error.code : null;
}

/** Whether two errors say the same. */
export function isSame(one: FieldError, other: FieldError): boolean {
  if (one.code !== other.code || one.line !== other.line) return false;
  return Object.entries(one.values ?? {}).every(([name, value]) => other.values?.[name] === value);
}

/** Puts the values and the line of an error into a sentence. */
export function filled(sentence: string, { values = {}, line }: FieldError): string {
  const said = sentence.replaceAll(/\{(\w+)\}/g, (place, name: string) =>
    String(values[name] ?? place),
  );
  return line === undefined ? said : `line ${line}: ${said}`;
}

/** What the API says of an error. */
export function sentenceOf(error: FieldError): string {
  return filled(sentences[error.code], error);
}

/** So many words are named; longer lists are where programs find them. */
const NAMED_MAX = 8;

/** A text is none of these words. */
export const oneOf = (words: readonly string[]): FieldError =>
  oneOfWords(
    words.length <= NAMED_MAX
      ? words.join(', ')
      : `the words that /v0/openapi.json lists, such as ${words[0]}`,
  );

/** A text is none of some words; `words` names them in a sentence. */
export const oneOfWords = (words: string): FieldError => ({ code: 'oneOf', values: { words } });

/** A text has more code points than `limit`. */
export const atMostCharacters = (limit: number): FieldError => ({
  code: 'atMostCharacters',
  values: { limit },
});

/** A number is greater than `limit`. */
export const atMost = (limit: number): FieldError => ({ code: 'atMost', values: { limit } });

/** A list has more members than `limit`. */
export const atMostItems = (limit: number): FieldError => ({
  code: 'atMostItems',
  values: { limit },
});

/** An address lies outside the network of the devices. */
export const notInNetwork = (network: string): FieldError => ({
  code: 'notInNetwork',
  values: { network },
});

/** A setting that the environment fixes was sent. */
export const overridden = (field: string): FieldError => ({
  code: 'overridden',
  values: { variable: field.toUpperCase() },
});

/** A discovery document is of no use. */
export const discoveryError = (reason: string): FieldError => ({
  code: 'discovery',
  values: { reason },
});

/** SAML metadata are of no use. */
export const metadataError = (reason: string): FieldError => ({
  code: 'metadata',
  values: { reason },
});

/** A network behind a device would be everything. */
export const routeIsAll = (network: string): FieldError => ({
  code: 'routeIsAll',
  values: { network },
});

/** A network behind a device overlaps another network; `what` says whose that is. */
export const routeMeets = (network: string, other: string, what: string): FieldError => ({
  code: 'routeMeets',
  values: { network, other, what },
});

/** A network holds an address that the gateway needs to reach. */
export const routeHolds = (network: string, address: string, what: string): FieldError => ({
  code: 'routeHolds',
  values: { network, address, what },
});

/** No address of the network is free. */
export const exhausted = (network: string): FieldError => ({
  code: 'exhausted',
  values: { network },
});

/** All places of the data plane are taken. */
export const noPlace = (most: number): FieldError => ({ code: 'noPlace', values: { most } });

/** Codes by those of Joi's rules and ours. What is not here cannot be read as its type. */
const JOI_CODES: Readonly<Record<string, FieldErrorCode>> = {
  'any.required': 'blank',
  'string.empty': 'atLeastCharacters',
  'string.atLeast': 'atLeastCharacters',
  'string.atMost': 'atMostCharacters',
  'string.exactly': 'exactlyCharacters',
  'string.atMostBytes': 'atMostBytes',
  'number.min': 'atLeast',
  'number.max': 'atMost',
  'host.fqdn': 'noHostName',
  'text.email': 'email',
  'key.base64': 'base64',
  'key.bad': 'badKey',
  'record.absent': 'absent',
  'provider.reserved': 'reserved',
  'list.duplicates': 'duplicates',
  'scopes.bad': 'badScopes',
  'text.unseen': 'unseen',
  'name.uuid': 'uuidName',
  'host.portInDns': 'portInDns',
  'host.badPort': 'badPort',
  'ports.format': 'badFormat',
  'ports.range': 'portOutOfRange',
  'ports.reversed': 'portsReversed',
  'scope.openid': 'noOpenidScope',
  'scope.email': 'noEmailScope',
  'url.host': 'noHost',
  'url.scheme': 'badScheme',
  'url.https': 'notHttps',
  'time.bad': 'badTime',
  'step.bad': 'badStep',
  'groups.bad': 'badGroupNames',
};

/** The error that a rule found; `context` is what Joi knows of it. */
export function errorOfRule(rule: string, context: Readonly<Record<string, unknown>>): FieldError {
  const code = JOI_CODES[rule] ?? 'invalid';
  const known: Readonly<Record<string, unknown>> = rule === 'string.empty' ? { limit: 1 } : context;
  const names = [...sentences[code].matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  if (names.length === 0) return { code };
  return {
    code,
    values: Object.fromEntries(names.map((name) => [name, known[name] as string | number])),
  };
}
