// The texts of docs/api.md, to the letter: whoever changes one here changes what clients compare.

import test from 'ava';
import {
  errorOfRule,
  exhausted,
  type FieldErrorCode,
  messages,
  notInNetwork,
  sentenceOf,
  sentences,
} from '../../../../lib/kit/validation/messages.ts';

test('texts are those of docs/api.md', (t) => {
  t.deepEqual(Object.values(messages).map(sentenceOf), [
    "can't be blank",
    'is invalid',
    'has already been taken',
    'looks like the address of another user',
    'does not exist',
    'is reserved',
    'is invalid email address',
    'does not match confirmation',
    'You cannot change your own role',
    'the last administrator cannot be demoted',
    'You cannot disable yourself',
    'the last administrator cannot be disabled',
    'the last administrator cannot be deleted',
    'no other administrator can sign in',
    'must be a base64-encoded string',
    'is not a valid key',
    'must not be present',
    'setting port is not allowed',
    'port is not a number between 0 and 65535',
    'should not contain duplicates',
    'Maximum device limit reached. Remove an existing device before creating a new one.',
    'bad format',
    'port is not within valid range',
    'lower value cannot be higher than upper value',
    'destination overlaps with an existing rule',
    'must include openid scope',
    'must include email scope',
    'does not contain a scheme or a host',
    'only http, https schemes are supported',
    'is not valid JSON',
    'is not valid UTF-8',
    'is not a time such as 2026-11-25T10:00:00Z',
    'must be after starts_at',
    'should be a list of admin, read, metrics or capture',
    'has a character that cannot be seen; type it without',
    'is a UUID, which means the group of that id; choose another name',
    'must be 600, 3600 or 86400',
    'must be null where user_id is set; a rule is of a user, of a group or of everyone',
    'should be an object with names of groups there and, for each, the name of a group here, no UUID; of 1 to 255 characters, and at most 1000',
    'is missing; groups_map, groups_create and admin_group need it',
    'needs a provider that is marked as trusted; save the entry, mark it, then name the group',
    'must be null where port_type or port_range is set; only tcp and udp have ports',
    'must be before `to`, and not in the future',
    'must be after 1970',
    'is of an address family that the device does not have',
    'is of another address family than the sender',
    'is the address of no device, and the sender is no device either',
    'needs the settings SMTP_URL and MAIL_FROM',
    'is disabled, so a link of this user would not work',
    'is not linked through this identity provider',
    'is an administrator, who is linked anew only by a verified e-mail or through a trusted entry',
    'is not /v0/rules, /v0/devices, /v0/users or /v0/groups, one of them with /{id}, or /v0/groups/{id}/members',
    'must be POST for the members of a group: it adds and removes them',
    'must not name a record: POST makes a new one',
    'must name the record: /{id} is missing',
    'must begin with https:// (http:// is for loopback addresses)',
    'should be an object with the lists add, remove or both, such as {"add":["ann@example.com"]}',
    'should be a list of ids or e-mails of users, such as ["ann@example.com"]',
  ]);
  t.is(sentenceOf(exhausted('10.0.0.0/8')), 'CIDR 10.0.0.0/8 is exhausted');
  t.is(sentenceOf(notInNetwork('10.0.0.0/8')), 'is not in the CIDR 10.0.0.0/8');
});

test('texts with values are those of docs/api.md, and those of no API are said alike', (t) => {
  const values = { limit: 7, words: 'a, b', host: 'x!', network: 'N', other: 'O', what: 'W' };
  const more = { address: 'A', variable: 'V', reason: 'R', most: 9, least: 1, name: 'ann' };
  const people = { email: 'E', provider: 'P', header: 'H', entity: 'I', entities: 'I, J' };
  const devices = { addresses: 'A, B', page: 'G' };
  const tests = { test: 'T', when: ' at noon', expected: 'drop', decider: 'D', count: 3 };
  const codes = (Object.keys(sentences) as FieldErrorCode[]).filter(
    (code) => !Object.hasOwn(messages, code),
  );
  t.deepEqual(
    codes.map((code) =>
      sentenceOf({ code, values: { ...values, ...more, ...people, ...devices, ...tests } }),
    ),
    [
      'should be at least 7 character(s)',
      'should be at most 7 character(s)',
      'should be 7 character(s)',
      'should be at most 7 byte(s)',
      'should have at most 7 item(s)',
      'must be greater than or equal to 7',
      'must be less than or equal to 7',
      'should be one of a, b',
      'x! is not a valid FQDN',
      'is not in the CIDR N',
      'CIDR N is exhausted',
      'cannot be changed; it is overridden by V environment variable',
      'is invalid. Reason: R',
      'is invalid. Details: R',
      'N is everything; a device is no default route',
      'N overlaps with O, W',
      'N holds A, where the gateway reaches W',
      'must be at least 1, because shorter steps of that time are not kept',
      'must be later: there would be more than 9 points',
      'must be at least 1, which the headers of the packet take',
      'there are 9 groups already, the most that there may be; remove some that are not needed',
      'there are 9 policy tests already, the most that there may be; remove some that are not needed',
      'token limit of 9 reached',
      'should be a whole number from 1 to 9',
      'ann is no user; give the id or the e-mail of one',
      'E is also in add',
      'E is in 9 groups already, the most that a user may be in; remove the user from another group first',
      'E is a member because the identity provider "P" says so; change it there',
      'is used by the identity provider "P", which the environment fixes; keep the name, or remove the variable V and enter the provider in the console first',
      'needs a place in groups_map of the identity provider "P", which has 9 names already; remove one there first',
      'policy test "T" would fail at noon: it expects drop, but D',
      '3 more policy test(s) would fail',
      'must name the identity provider that the metadata describe: I',
      'must name one of the 3 identity providers that the metadata describe: I, J',
      'there are 9 devices already, the most that a gateway can serve; remove devices that are not needed',
      'no administrator could sign in any more',
      'somebody else changed the providers meanwhile; read them again',
      'is not this gateway’s',
      'is not this browser’s: send it, or the header H, with what a page’s <meta name="csrf-token"> holds',
      '“x!” is not an address: an IPv4 address has four numbers from 0 to 255, such as 1.1.1.1',
      '“G” is the address of a page: give its host alone, x!',
      'no device is called “ann”',
      'no device has the address A',
      'several devices have this name; give an address: A, B',
      'there is no group “ann”; correct the name, or make the group first',
      'E would be in 3 groups, and 9 are the most; name fewer, or remove this user from another group first',
      'E is disabled, so a token of this user would not work',
      'E looks like the address of another user',
      'an administrator switched the device off, or set the time at which it ended; only administrators remove it or change its key',
      'too many mails wait, so the link before stays; send another one later',
    ],
  );
});

test('a rule finds an error with the values of its sentence; an unknown one cannot be read', (t) => {
  const context = { limit: 44, label: 'public_key', value: 'x' };
  t.deepEqual(errorOfRule('string.exactly', context), {
    code: 'exactlyCharacters',
    values: { limit: 44 },
  });
  t.is(sentenceOf(errorOfRule('string.empty', {})), 'should be at least 1 character(s)');
  t.deepEqual(errorOfRule('key.bad', context), { code: 'badKey' });
  t.deepEqual(errorOfRule('string.base', context), messages.invalid);
  t.is(sentenceOf({ ...messages.invalid, line: 3 }), 'line 3: is invalid');
});
