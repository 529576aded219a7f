// Where the socket for commands is.

import test from 'ava';
import { localSocketPath } from '../../../../lib/kit/process/local-socket-path.ts';

test('the socket is in the folder of data, relative or not', (t) => {
  t.is(localSocketPath({ dataDir: '/var/lib/postern' }), '/var/lib/postern/gateway.sock');
  t.is(localSocketPath({ dataDir: 'data' }), 'data/gateway.sock');
});
