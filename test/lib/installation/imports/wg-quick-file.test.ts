// Reading wg-quick files as people and their programs write them.

import test from 'ava';
import { parseWgQuick } from '../../../../lib/installation/imports/wg-quick-file.ts';

test('sections, settings and their lines are read, whatever their case', (t) => {
  const { sections, errors } = parseWgQuick(
    '[interface]\r\nprivatekey = AAA=\r\n\r\n[PEER]\nPublicKey=BBB=\nAllowedIPs = 10.0.0.2/32, fd00::2/128\n',
  );
  t.deepEqual(errors, []);
  t.deepEqual(sections, [
    {
      kind: 'interface',
      line: 1,
      title: null,
      settings: [{ key: 'privatekey', name: 'privatekey', value: 'AAA=', line: 2 }],
    },
    {
      kind: 'peer',
      line: 4,
      title: null,
      settings: [
        { key: 'publickey', name: 'PublicKey', value: 'BBB=', line: 5 },
        { key: 'allowedips', name: 'AllowedIPs', value: '10.0.0.2/32, fd00::2/128', line: 6 },
      ],
    },
  ]);
});

const names: [what: string, text: string, names: (string | null)[]][] = [
  [
    'wg-easy',
    '# Server\n[Interface]\n\n\n# Client: phone (0a1b2c3d-1111-2222-3333-444455556666)\n[Peer]\nPublicKey = a\n',
    ['phone'],
  ],
  ['wireguard-install', '[Interface]\n\n### Client laptop\n[Peer]\nPublicKey = a\n', ['laptop']],
  [
    'nyr',
    '[Interface]\n# BEGIN_PEER one\n[Peer]\nPublicKey = a\n# END_PEER one\n# BEGIN_PEER two\n[Peer]\nPublicKey = b\n# END_PEER two\n',
    ['one', 'two'],
  ],
  ['within', '[Interface]\n[Peer]\n# Name = Ann’s phone\nPublicKey = a\n', ['Ann’s phone']],
  ['friendly', '[Interface]\n[Peer]\n# friendly_name = desk\nPublicKey = a\n', ['desk']],
  ['beside', '[Interface]\n[Peer] # tablet\nPublicKey = a\n', ['tablet']],
  ['the nearest', '[Interface]\n# All phones\n# Bob\n[Peer]\nPublicKey = a\n', ['Bob']],
  ['none', '[Interface]\n[Peer]\n# Endpoint = 1.2.3.4:5\n# -----\nPublicKey = a\n', [null]],
  [
    'each its own',
    '[Interface]\nListenPort = 1 # the port\n[Peer]\nPublicKey = a\n\n# second\n[Peer]\nPublicKey = b\n',
    [null, 'second'],
  ],
];
for (const [what, text, wanted] of names)
  test(`names of peers: ${what}`, (t) => {
    const { sections } = parseWgQuick(text);
    const peers = sections.filter(({ kind }) => kind === 'peer');
    t.deepEqual(
      peers.map(({ title }) => title),
      wanted,
    );
  });

test('what is neither section nor setting is an error with its line', (t) => {
  const { errors } = parseWgQuick('PrivateKey = a\n[Interface]\nhello\n[Peers]\n');
  t.deepEqual(
    errors,
    [1, 3, 4].map((line) => `line ${line} is neither a section nor a setting in a section`),
  );
});
