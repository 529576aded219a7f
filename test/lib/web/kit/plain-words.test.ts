// Plain words for what is wrong with a value.

import test from 'ava';
import {
  atMost,
  atMostItems,
  type FieldErrorCode,
  messages,
  notInNetwork,
  sentences,
} from '../../../../lib/kit/validation/messages.ts';
import { plainWords } from '../../../../lib/web/kit/plain-words.ts';

test('the texts of the API become words of people, values included', (t) => {
  const rows = [
    [{ code: 'atLeastCharacters', values: { limit: 12 } }, 'Please use at least 12 characters'],
    [{ code: 'exactlyCharacters', values: { limit: 44 } }, 'This should have 44 characters'],
    [atMost(1500), 'Please give 1500 or less'],
    [{ code: 'atLeast', values: { limit: -1 } }, 'Please give -1 or more'],
    [atMostItems(100), 'Please give at most 100 entries'],
    [
      notInNetwork('100.64.0.0/10'),
      'The address is not in the network of the devices, 100.64.0.0/10',
    ],
    [
      { code: 'noHostName', values: { host: 'dns!' } },
      '“dns!” is neither an address nor the name of a host, such as 1.1.1.1 or vpn.example.com',
    ],
    [messages.blank, 'Please fill this in'],
    [messages.ownSwitch, 'You cannot disable yourself'],
    ['a sentence of every door', 'a sentence of every door'],
  ] as const;
  for (const [text, plain] of rows) t.is(plainWords(text), plain);
});

test('what is said once in plain words stays so', (t) => {
  for (const error of Object.values(messages))
    t.is(plainWords(plainWords(error)), plainWords(error), error.code);
});

test('no rule of a field leaves its programmer’s text to people', (t) => {
  const technical = /character\(s\)|byte\(s\)|item\(s\)|FQDN|equal to|can't be blank/;
  for (const error of Object.values(messages))
    t.notRegex(plainWords(error), /[a-z]_[a-z]|\bnull\b/);
  for (const code of Object.keys(sentences) as FieldErrorCode[]) {
    const names = [...sentences[code].matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, '7']);
    const plain = plainWords({ code, values: Object.fromEntries(names) });
    t.notRegex(plain, technical, code);
    t.notRegex(plain, /[{}]|undefined/, code);
  }
});
