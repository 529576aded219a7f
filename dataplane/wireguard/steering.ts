// Which worker of a gateway a message belongs to. A receiver index names the worker that gave it; a
// message without a receiver is an initiation, and the initiations of all peers go to one worker.
// The kernel does the same by the program in native/steering.cc, so that most datagrams come where
// they belong.

import { MAX_WORKERS } from '../constants.ts';
import {
  COOKIE_REPLY,
  cookieReply,
  HANDSHAKE_RESPONSE,
  response,
  TRANSPORT_DATA,
  transport,
} from '../wire/messages.ts';

/** The worker that takes the initiations of all peers, limits them and hands them over. */
export const RECEPTIONIST = 0;

/** The low bits of a receiver index: the worker that gave it. */
export const WORKER_MASK = MAX_WORKERS - 1;

/** The worker of a message of a type and at an offset, in a gateway of `size` workers. */
export function workerOfMessage(
  view: DataView,
  offset: number,
  type: number,
  size: number,
): number {
  let at: number;
  if (type === TRANSPORT_DATA) at = transport.receiver;
  else if (type === HANDSHAKE_RESPONSE) at = response.receiver;
  else if (type === COOKIE_REPLY) at = cookieReply.receiver;
  else return RECEPTIONIST;
  const worker = view.getInt32(offset + at, true) & WORKER_MASK;
  return worker < size ? worker : RECEPTIONIST;
}
