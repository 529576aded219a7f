// Connections as they are answered, and as a file for spreadsheets.

import test from 'ava';
import { connectionsCsv, showConnection } from '../../../../lib/observe/history/connections.ts';

const connection = {
  id: 'a',
  deviceId: 'b',
  gatewayId: 'c',
  connectedAt: Date.UTC(2026, 10, 25),
  disconnectedAt: null,
  remoteIp: null,
  remotePort: null,
  reason: null,
};

test('what lasts has no end, and what is over has one', (t) => {
  const lasting = showConnection(connection);
  t.deepEqual(lasting, {
    connected_at: '2026-11-25T00:00:00.000000Z',
    disconnected_at: null,
    reason: null,
    gateway_id: 'c',
    remote_ip: null,
    remote_port: null,
  });
  const over = showConnection({
    ...connection,
    disconnectedAt: Date.UTC(2026, 10, 25, 0, 0, 1),
    remoteIp: '::1',
    remotePort: 9,
    reason: 'elsewhere',
  });
  t.like(over, { disconnected_at: '2026-11-25T00:00:01.000000Z', reason: 'elsewhere' });
  t.is(
    connectionsCsv([lasting, over]),
    'connected_at,disconnected_at,reason,gateway_id,remote_ip,remote_port\r\n' +
      '2026-11-25T00:00:00.000000Z,,,c,,\r\n' +
      '2026-11-25T00:00:00.000000Z,2026-11-25T00:00:01.000000Z,elsewhere,c,::1,9\r\n',
  );
});

test('what a spreadsheet would take for a formula is text', (t) => {
  const csv = connectionsCsv([{ ...showConnection(connection), remote_ip: '=1+1' }]);
  t.true(csv.includes("'=1+1"));
});
