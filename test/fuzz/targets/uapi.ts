// Text at the socket of `wg show`: any answer is one of the protocol's, and it is one.

import { strict as assert } from 'node:assert';
import { answerTo } from '../../../dataplane/io/uapi.ts';

const device = { privateKey: new Uint8Array(32), listenPort: 1, peers: [] };

/** Takes any text for an operation. */
export function uapi(input: Uint8Array): void {
  const answer = answerTo(Buffer.from(input).toString('utf8'), () => device);
  assert.match(answer, /errno=\d+\n\n$/);
  assert.equal(answer.split('\n\n').length, 2);
}
