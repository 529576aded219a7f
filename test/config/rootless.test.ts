// What a gateway without root gets from the program that became it.

import test from 'ava';
import { parseRootless, rootlessVariables } from '../../config/rootless.ts';

for (const udpSockets of [[], [20, 21], [20, -1, 22, -1]])
  test(`the sockets ${udpSockets.join()} arrive as they were sent`, (t) => {
    const variables = { ...rootlessVariables(udpSockets), POSTERN_HOST_PROCESS: '42' };
    t.deepEqual(parseRootless(variables), {
      udpSockets,
      relaysTcp: true,
      hostProcess: 42,
      pastaFile: null,
    });
  });

for (const text of [undefined, '', '20,', 'twenty'])
  test(`"${text}" names no socket`, (t) => {
    const variables = { POSTERN_UDP_SOCKETS: text, POSTERN_HOST_PROCESS: text };
    t.deepEqual(parseRootless(variables), {
      udpSockets: [],
      relaysTcp: false,
      hostProcess: null,
      pastaFile: null,
    });
  });
