// What a supervisor gives to the process that it starts.

import test from 'ava';
import { parseSupervisor } from '../../config/supervisor.ts';

const NOBODY = { socket: null, watchdogMs: null };

test('without a supervisor there is no socket and no watchdog', (t) => {
  t.deepEqual(parseSupervisor({}, 7), NOBODY);
  t.deepEqual(parseSupervisor({ NOTIFY_SOCKET: '' }, 7), NOBODY);
  t.deepEqual(parseSupervisor({ WATCHDOG_USEC: '30000000' }, 7), NOBODY);
  t.deepEqual(parseSupervisor({ NOTIFY_SOCKET: 'vsock:2:1234' }, 7), NOBODY);
});

test('a socket is a path or an abstract name', (t) => {
  for (const socket of ['/run/systemd/notify', '@abstract'])
    t.deepEqual(parseSupervisor({ NOTIFY_SOCKET: socket }, 7), { socket, watchdogMs: null });
});

test('a watchdog counts if it watches this process', (t) => {
  const given = { NOTIFY_SOCKET: '/s', WATCHDOG_USEC: '30000000' };
  t.is(parseSupervisor(given, 7).watchdogMs, 30_000);
  t.is(parseSupervisor({ ...given, WATCHDOG_PID: '7' }, 7).watchdogMs, 30_000);
  t.is(parseSupervisor({ ...given, WATCHDOG_PID: '8' }, 7).watchdogMs, null);
  for (const bad of ['', '0', '-1', 'soon'])
    t.is(parseSupervisor({ ...given, WATCHDOG_USEC: bad }, 7).watchdogMs, null);
});
