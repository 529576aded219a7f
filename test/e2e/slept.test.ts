// The machine of a gateway sleeps (boottime-shift.cc): only CLOCK_BOOTTIME counts that time, and the
// keys of a device are as old as it says. docs/packets.md#clocks.

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  LAN4,
} from '../support/network/topology.ts';
import { enrol } from './people.ts';

const SOURCE = join(import.meta.dirname, '../support/gateway/boottime-shift.cc');
/** More than REJECT_AFTER_TIME, 180 s, and less than three times as long, when keys are wiped. */
const SLEPT_S = 200;
/** By then both ends have said what they had to: KEEPALIVE_TIMEOUT is 10 s. */
const QUIET_MS = 12_000;
const EXPIRED = 'transport_keypair_expired';

/** How many packets were refused because their keys were too old. */
async function refused(postern: Postern): Promise<number> {
  const line = (await postern.metrics()).split('\n').find((text) => text.includes(EXPIRED));
  return Number(line?.split(' ').at(-1) ?? 0);
}

test.serial('keys age while the machine sleeps, and a handshake makes new ones', async (t) => {
  t.timeout(120_000);
  const folder = mkdtempSync(join(tmpdir(), 'postern-slept-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  // A gateway without root reads there, too.
  chmodSync(folder, 0o755);
  const [library, file] = [join(folder, 'boottime-shift.so'), join(folder, 'seconds')];
  execFileSync('g++', ['-shared', '-fPIC', '-O1', '-o', library, SOURCE, '-ldl']);
  const sleepFor = (seconds: number): void =>
    writeFileSync(file, BigInt64Array.of(BigInt(seconds)), { flag: 'r+' });
  writeFileSync(file, new Uint8Array(8));
  const { network, alice, gateway } = await buildTopology('sl');
  t.teardown(() => network.remove());
  const postern = new Postern(gateway, API_ADDRESS, {
    ...WITHOUT_WARM_UP,
    WIREGUARD_TUN: 'required',
    LD_PRELOAD: library,
    BOOTTIME_SHIFT_FILE: file,
  });
  await postern.start();
  t.teardown(() => postern.stop());
  const { client } = await enrol(postern, alice, 'alice@example.test', `${GATEWAY4}:51820`);
  t.true(await canPing(alice, LAN4));
  await sleep(QUIET_MS);
  const before = await client.latestHandshake();
  t.is(await refused(postern), 0);
  sleepFor(SLEPT_S);
  t.false(await canPing(alice, LAN4, 1), 'the device has slept too little to make new keys');
  await until('what it sent is counted', async () => (await refused(postern)) > 0);
  t.is(await client.latestHandshake(), before);
  await until('it makes new ones', () => canPing(alice, LAN4, 1), 30_000);
  t.true((await client.latestHandshake()) > before);
});
