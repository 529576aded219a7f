// Placeholders stand for one text each, of their kind.

import test from 'ava';
import { Bindings } from './placeholders.ts';

const ID = '0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee';
const OTHER = '0199aaaa-bbbb-7ccc-8ddd-ffffffffffff';

test('a name stands for the text that it met first', (t) => {
  const bindings = new Bindings();
  t.is(bindings.match('/v0/users/{{user:uuid}}', `/v0/users/${ID}`), null);
  t.is(bindings.fill('{{user}}/x'), `${ID}/x`);
  t.is(bindings.match('{{user}}', ID), null);
  t.regex(bindings.match('{{user}}', OTHER) ?? '', /^is ".*f", not "\{\{user\}\}"$/);
  t.regex(bindings.match('{{user:uuid}}', OTHER) ?? '', /^is /);
});

test('a text is of the kind of its placeholder, and whole', (t) => {
  const match = (recorded: string, received: string) => new Bindings().match(recorded, received);
  t.is(match('{{a:time}}', '2026-01-02T03:04:05.678000Z'), null);
  t.not(match('{{a:time}}', '2026-01-02T03:04:05.678Z'), null);
  t.is(match('{{:number}}', '17'), null);
  t.not(match('{{:number}}', '17x'), null);
  t.not(match('{{:number}}', ''), null);
  t.is(match('{{a:key}}', Buffer.alloc(32, 250).toString('base64')), null);
  t.not(match('{{a:key}}', Buffer.alloc(31).toString('base64')), null);
  t.not(match('.*{{:number}}', 'x1'), null, 'the rest of a recording is no pattern');
});

test('a name that comes twice in a text stands for one text', (t) => {
  const twice = '{{one:uuid}} and {{one}}';
  t.is(new Bindings().match(twice, `${ID} and ${ID}`), null);
  t.not(new Bindings().match(twice, `${ID} and ${OTHER}`), null);
});

test('two names stand for two ids', (t) => {
  const bindings = new Bindings();
  t.is(bindings.match('{{one:uuid}}', ID), null);
  t.regex(bindings.match('{{two:uuid}}', ID) ?? '', /it is the same as \{\{one\}\}$/);
  t.is(bindings.match('{{two:uuid}}', OTHER), null);
});

test('nothing is sent for a name that stands for nothing', (t) => {
  t.throws(() => new Bindings().fill('{{user}}'), { message: /nothing is bound/ });
  t.throws(() => new Bindings().match('{{user}}', 'x'), { message: /has no kind/ });
  t.throws(() => new Bindings().match('{{user:thing}}', 'x'), { message: /has no kind/ });
});
