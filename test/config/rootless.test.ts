// What a gateway without root gets from the program that became it.

import test from 'ava';
import { parseRootless, rootlessVariables } from '../../config/rootless.ts';

for (const udpSockets of [[], [20, 21], [20, -1, 22, -1]])
  test(`the sockets ${udpSockets.join()} arrive as they were sent`, (t) => {
    t.deepEqual(parseRootless(rootlessVariables(udpSockets)), { udpSockets, relaysTcp: true });
  });

for (const text of [undefined, '', '20,', 'twenty'])
  test(`"${text}" names no socket`, (t) => {
    t.deepEqual(parseRootless({ POSTERN_UDP_SOCKETS: text }), { udpSockets: [], relaysTcp: false });
  });
