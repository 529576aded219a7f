// Who takes connections to the gateway's own address, and what becomes of those that nobody takes.

import test from 'ava';
import type { DoorConnection } from '../../../dataplane/contract.ts';
import type { Addon } from '../../../dataplane/native/index.ts';
import { Doors } from '../../../dataplane/gateway/doors.ts';

const arrival = (port: number): DoorConnection => ({
  port,
  descriptor: 90,
  address: '10.8.0.2',
  sourcePort: 4_000,
});

test('a connection goes to who opened its port, and is closed where nobody did', (t) => {
  const closed: number[] = [];
  const sent: (readonly number[])[] = [];
  const addon = { closeFd: (fd: number) => void closed.push(fd) } as unknown as Addon;
  const doors = new Doors({ addon, engine: 'native' }, (ports) => sent.push(ports));
  const taken: number[] = [];
  const close = doors.open(80, ({ port }) => taken.push(port));
  doors.open(443, ({ port }) => taken.push(port));
  for (const port of [80, 443, 8_080]) doors.arrived(arrival(port));
  t.deepEqual([taken, closed], [[80, 443], [90]]);
  close();
  close();
  // It was on its way when the port was closed.
  doors.arrived(arrival(80));
  t.deepEqual(
    [taken, closed],
    [
      [80, 443],
      [90, 90],
    ],
  );
  t.deepEqual(sent, [[80], [80, 443], [443]]);
});

test('with the TypeScript engine no port is open', (t) => {
  const doors = new Doors({ addon: null, engine: 'typescript' }, () => undefined);
  doors.open(80, () => undefined);
  t.deepEqual(doors.ports, []);
});
