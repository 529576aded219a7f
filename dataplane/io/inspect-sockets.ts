// Inspects the host for a gateway whose packets leave by sockets: they need no right, and little
// else.

import { networkInterfaces } from 'node:os';
import process from 'node:process';
import { type Finding, good } from './finding.ts';
import { readSysctl } from './system.ts';

/** What is known of the groups that may send pings: a range, as the kernel writes it. */
const PING_GROUPS = 'ipv4/ping_group_range';

/** Whether the interface is there that sockets are bound to, and whether devices can ping. */
export function inspectSockets(egressInterface: string | null): Finding[] {
  const isAbsent = egressInterface !== null && networkInterfaces()[egressInterface] === undefined;
  return isAbsent ? [noInterface(egressInterface), pings()] : [pings()];
}

function noInterface(name: string): Finding {
  return {
    check: 'sockets',
    level: 'failed',
    message: `there is no interface ${name} with an address, so no connection of a device leaves`,
    fix: 'set GATEWAY_EGRESS_INTERFACE to one that there is (ip address), or leave it out',
  };
}

function pings(): Finding {
  const check = 'pings';
  const range = readSysctl(PING_GROUPS) ?? '';
  const groups = [process.getegid?.() ?? 0, ...(process.getgroups?.() ?? [])];
  if (groups.some((group) => isInRange(group, range)))
    return good(check, 'this account may send pings for devices');
  return {
    check,
    level: 'warning',
    message: 'this account may send no pings, so pings of devices stay without an answer',
    fix: "sysctl -w net.ipv4.ping_group_range='0 2147483647'; in a container: --sysctl with the same",
  };
}

/** Whether a group is in a range such as `0 2147483647`; `1 0` means nobody. */
export function isInRange(group: number, range: string): boolean {
  const [, first, last] = /^(\d+)\s+(\d+)\s*$/.exec(range) ?? [];
  return first !== undefined && group >= Number(first) && group <= Number(last);
}
