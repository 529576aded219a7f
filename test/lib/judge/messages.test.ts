// The texts of docs/api.md, to the letter: whoever changes one here changes what clients compare.

import test from 'ava';
import {
  atLeastCharacters,
  exhausted,
  joiMessages,
  messages,
  notInNetwork,
} from '../../../lib/judge/messages.ts';

test('texts are those of docs/api.md', (t) => {
  t.deepEqual(Object.values(messages), [
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
  ]);
  t.is(atLeastCharacters(1), 'should be at least 1 character(s)');
  t.is(exhausted('10.0.0.0/8'), 'CIDR 10.0.0.0/8 is exhausted');
  t.is(notInNetwork('10.0.0.0/8'), 'is not in the CIDR 10.0.0.0/8');
  t.is(joiMessages['*'], messages.invalid, 'what no rule names cannot be read');
});
