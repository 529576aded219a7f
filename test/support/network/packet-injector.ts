// Puts packets of any shape into a host's network, as a program with rights there could: run on the
// host as `packet-injector.ts`, it makes a TUN of its own, prints {"ready"}, and writes each line of its
// input (a packet in base64) to it. When the input ends, it prints how many it wrote: {"written"}. The
// host forwards what it is given, its own address as the source included.

import { execFileSync } from 'node:child_process';
import { writeSync } from 'node:fs';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { loadAddon } from '../../../dataplane/native/index.ts';

const TUN = 'injector0';

const { addon } = loadAddon();
if (addon === null) throw new Error('the addon is not built: npm run build:native');
const { fd } = addon.openTun(TUN, false);
addon.setLink(TUN, 1_500);
execFileSync('sysctl', [
  '-qw',
  'net.ipv4.ip_forward=1',
  'net.ipv6.conf.all.forwarding=1',
  `net.ipv4.conf.${TUN}.rp_filter=0`,
  'net.ipv4.conf.all.rp_filter=0',
  `net.ipv4.conf.${TUN}.accept_local=1`,
]);
process.stdout.write('{"ready":true}\n');
let written = 0;
for await (const line of createInterface({ input: process.stdin }))
  written += writeSync(fd, Buffer.from(line, 'base64')) > 0 ? 1 : 0;
process.stdout.write(`{"written":${written}}\n`);
