// What sockets in place of a TUN need of the host.

import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import process from 'node:process';
import test from 'ava';
import { inspectSockets, isInRange } from '../../../dataplane/io/inspect-sockets.ts';

test('an interface that is not there is named, and one that is there is not', (t) => {
  const [absent, pings] = inspectSockets('no-such-one');
  t.like(absent, { check: 'sockets', level: 'failed' });
  t.regex(absent?.message ?? '', /there is no interface no-such-one/);
  t.is(pings?.check, 'pings');
  for (const name of [null, ...Object.keys(networkInterfaces()).slice(0, 1)])
    t.deepEqual(
      inspectSockets(name).map(({ check }) => check),
      ['pings'],
    );
});

test('whether this account may ping is what the kernel says', (t) => {
  const range = readFileSync('/proc/sys/net/ipv4/ping_group_range', 'utf8');
  const groups = [process.getegid?.() ?? 0, ...(process.getgroups?.() ?? [])];
  const may = groups.some((group) => isInRange(group, range));
  const [pings] = inspectSockets(null);
  t.is(pings?.level, may ? 'ok' : 'warning');
  t.is(pings?.fix === null, may);
});

test('a range of groups is read as the kernel writes it', (t) => {
  t.false(isInRange(0, '1\t0'));
  t.false(isInRange(1, '1\t0'));
  t.true(isInRange(0, '0\t2147483647'));
  t.true(isInRange(1_000, '1000\t1000\n'));
  t.false(isInRange(1_001, '1000\t1000\n'));
  t.false(isInRange(0, ''), 'a kernel that has no such setting');
});
