// Plain words for what is wrong with a value.

import test from 'ava';
import { joiMessages, messages, notInNetwork } from '../../../../lib/judge/messages.ts';
import { plainWords } from '../../../../lib/web/kit/plain-words.ts';

test('the texts of the API become words of people, values included', (t) => {
  const rows = [
    ['should be at least 12 character(s)', 'Please use at least 12 characters'],
    ['should be 44 character(s)', 'This should have 44 characters'],
    ['must be less than or equal to 1500', 'Please give 1500 or less'],
    ['must be greater than or equal to -1', 'Please give -1 or more'],
    [
      notInNetwork('100.64.0.0/10'),
      'The address is not in the network of the devices, 100.64.0.0/10',
    ],
    [
      'dns! is not a valid FQDN',
      '“dns!” is neither an address nor the name of a host, such as 1.1.1.1 or vpn.example.com',
    ],
    ["can't be blank", 'Please fill this in'],
    ['You cannot disable yourself', 'You cannot disable yourself'],
    ['constructor', 'constructor'],
  ] as const;
  for (const [text, plain] of rows) t.is(plainWords(text), plain);
});

test('what is said once in plain words stays so', (t) => {
  for (const text of Object.values(messages))
    t.is(plainWords(plainWords(text)), plainWords(text), text);
});

test('no rule of a field leaves its programmer’s text to people', (t) => {
  const technical = /character\(s\)|byte\(s\)|item\(s\)|FQDN|equal to|can't be blank/;
  for (const text of Object.values(messages)) t.notRegex(plainWords(text), /\w_\w|\bnull\b/);
  for (const text of Object.values(joiMessages)) {
    const filled = text.replaceAll(/\{#\w+\}/g, '7');
    t.notRegex(plainWords(filled), technical, text);
  }
});
