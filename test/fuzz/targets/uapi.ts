// Text at the socket of `wg show`, in pieces of any size: each operation has one answer, whatever the
// pieces were, each answer is in the form that `wg` reads, and who sends too much is cut off.

import { strict as assert } from 'node:assert';
import { StringDecoder } from 'node:string_decoder';
import { Requests, type UapiDevice } from '../../../dataplane/io/uapi.ts';
import type { PeerTotals } from '../../../dataplane/totals.ts';
import { counting } from '../../support/dataplane/packets.ts';
import { peer } from '../../support/dataplane/simulation.ts';
import { ChoiceReader } from '../reader.ts';

const TEXT_BYTES_MAX = 4_096;
const OVERLONG_BYTES = 70_000;
/** What one who asks may say, in UTF-16, before an empty line. */
const TEXT_LENGTH_MAX = 65_536;

const keys = {
  interface: ['private_key', 'listen_port'],
  peer: [
    'public_key',
    'preshared_key',
    'protocol_version',
    'endpoint',
    'last_handshake_time_sec',
    'last_handshake_time_nsec',
    'tx_bytes',
    'rx_bytes',
    'persistent_keepalive_interval',
    'allowed_ip',
  ],
};
const lineOf = new RegExp(`^(${[...keys.interface, ...keys.peer].join('|')})=[^\\s=]+$`);

const endpoints = [
  null,
  { address: '198.51.100.7', port: 1 },
  { address: '2001:db8::1', port: 65_535 },
  { address: 'fe80::1%2', port: 51_820 },
];
const times = [null, 0, 999, 1_700_000_000_250, 8.64e15];

/**
 * The first byte says how many peers there are, a byte of each what is known of it; then the size of
 * the pieces, and whether the text is much longer than it is; the text is all the rest.
 */
export function uapi(input: Uint8Array): string {
  const reader = new ChoiceReader(input);
  const peers = Array.from({ length: reader.byte() % 4 }, (_, i) => peerOf(i, reader.byte()));
  const device = { privateKey: counting(32, 9), listenPort: 51_820, peers };
  const pieceBytes = 1 + reader.byte();
  const isOverlong = reader.byte() >= 240;
  const text = reader.slice(TEXT_BYTES_MAX);
  const said = isOverlong ? Buffer.alloc(OVERLONG_BYTES, text.length > 0 ? text : 'x') : text;
  const heard = Buffer.from(said).toString('utf8');
  const answers = answersTo(device, said, pieceBytes);
  const whole = answersTo(device, said, Number.POSITIVE_INFINITY);
  if (answers === null || whole === null) {
    assert(heard.length > TEXT_LENGTH_MAX, 'who says little is heard');
    return 'cut off';
  }
  assert.deepEqual(answers, whole, 'pieces do not matter');
  const operations = heard.split('\n\n');
  // Two line feeds end an operation; of three the last one begins the next.
  assert.equal(answers.length, operations.length - 1);
  if (answers.length === 0) assert(heard.length <= TEXT_LENGTH_MAX, 'who never ends is cut off');
  return [...new Set(answers.map((answer) => check(answer, device)))].sort().join(' ');
}

/** All answers; null when the other side was cut off. */
function answersTo(device: UapiDevice, said: Uint8Array, pieceBytes: number): string[] | null {
  const requests = new Requests(() => device);
  const decoder = new StringDecoder('utf8');
  const answers: string[] = [];
  for (let at = 0; at < said.length; at += pieceBytes) {
    const piece = decoder.write(Buffer.from(said.subarray(at, at + pieceBytes)));
    if (!requests.take(piece)) return null;
    for (let answer = requests.answer(); answer !== null; answer = requests.answer())
      answers.push(answer);
  }
  return answers;
}

/** Holds an answer against the protocol; returns its error number. */
function check(answer: string, device: UapiDevice): string {
  assert(answer.endsWith('\n\n'));
  const lines = answer.slice(0, -2).split('\n');
  const error = lines.pop();
  assert.match(`${error}`, /^errno=(0|-1|-71)$/);
  for (const line of lines) assert.match(line, lineOf);
  const count = (key: string): number => lines.filter((line) => line.startsWith(`${key}=`)).length;
  const isReport = error === 'errno=0';
  for (const key of keys.interface) assert.equal(count(key), isReport ? 1 : 0, key);
  const peers = isReport ? [...device.peers].length : 0;
  for (const key of ['public_key', 'tx_bytes', 'rx_bytes', 'last_handshake_time_sec'])
    assert.equal(count(key), peers, key);
  return `${error}`;
}

function peerOf(i: number, choice: number): PeerTotals {
  return {
    config: peer({
      key: Buffer.from(counting(32, i)).toString('base64'),
      ipv4: (choice & 1) === 0 ? null : `10.0.0.${2 + i}`,
      ipv6: (choice & 2) === 0 ? null : `fd00::${2 + i}`,
    }),
    endpoint: endpoints[(choice >> 2) % endpoints.length]!,
    latestHandshakeMs: times[(choice >> 4) % times.length]!,
    rxBytes: choice,
    txBytes: Number.MAX_SAFE_INTEGER,
  };
}
