// The worker of a message: the one that gave the receiver index, or the first one.

import test from 'ava';
import { MAX_WORKERS } from '../../../dataplane/constants.ts';
import {
  COOKIE_REPLY,
  HANDSHAKE_INITIATION,
  HANDSHAKE_RESPONSE,
  TRANSPORT_DATA,
} from '../../../dataplane/wire/messages.ts';
import { RECEPTIONIST, workerOfMessage } from '../../../dataplane/wireguard/steering.ts';
import { viewOf } from '../../support/dataplane/packets.ts';

/** Where each type of message has its receiver index (5.4.2, 5.4.6, 5.4.7). */
const RECEIVERS = [
  ['a handshake response', HANDSHAKE_RESPONSE, 8],
  ['a cookie reply', COOKIE_REPLY, 4],
  ['transport data', TRANSPORT_DATA, 4],
] as const;

/** A message at offset 3, with a receiver index. */
function message(at: number, index: number): DataView {
  const view = viewOf(new Uint8Array(100));
  view.setInt32(3 + at, index, true);
  return view;
}

for (const [what, type, at] of RECEIVERS)
  test(`${what} belongs to the worker that gave its receiver index`, (t) => {
    for (let worker = 0; worker < MAX_WORKERS; worker++)
      for (const rest of [0, 0x1234_5678, -1]) {
        const view = message(at, (rest & ~(MAX_WORKERS - 1)) | worker);
        t.is(workerOfMessage(view, 3, type, MAX_WORKERS), worker);
        t.is(workerOfMessage(view, 3, type, 3), worker < 3 ? worker : RECEPTIONIST);
        t.is(workerOfMessage(view, 3, type, 1), RECEPTIONIST);
      }
  });

test('an initiation belongs to the receptionist, whatever its bytes are', (t) => {
  for (const index of [0, 1, 7, -1])
    t.is(workerOfMessage(message(4, index), 3, HANDSHAKE_INITIATION, MAX_WORKERS), RECEPTIONIST);
});
