// Which protocols can be asked about: those with names, and others by number.

import test from 'ava';
import { askedProtocol, numberedProtocol } from '../../../../lib/observe/explain/protocol.ts';

for (const [word, meant] of [
  ['tcp', 'tcp'],
  ['udp', 'udp'],
  ['icmp', 'icmp'],
  ['0', 0],
  ['47', 47],
  ['255', 255],
] as const)
  test(`${word} is a protocol`, (t) => {
    t.is(askedProtocol('The protocol.').validate(word).error, undefined);
    t.is(numberedProtocol(word), meant);
  });

// A protocol has one name.
for (const word of ['1', '6', '17', '58', '256', '047', '4.7', '-1', 'gre', 'TCP', '', '4e1'])
  test(`${word} is none`, (t) => {
    t.is(
      askedProtocol('The protocol.').validate(word).error?.details[0]?.type,
      word === '' ? 'string.empty' : 'any.only',
    );
  });
