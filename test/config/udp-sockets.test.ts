// Which UDP sockets a gateway inherits.

import test from 'ava';
import { parseUdpSockets, UDP_SOCKETS_VARIABLE } from '../../config/udp-sockets.ts';

const cases: [text: string | undefined, sockets: number[]][] = [
  [undefined, []],
  ['', []],
  ['20,21', [20, 21]],
  ['20,-1,22,-1', [20, -1, 22, -1]],
  ['20,', []],
  ['twenty', []],
];

for (const [text, sockets] of cases)
  test(`${text}: ${sockets.join()}`, (t) => {
    t.deepEqual(parseUdpSockets({ [UDP_SOCKETS_VARIABLE]: text }), sockets);
  });
