// What the host must do, asked for without rights: nothing may change, nothing may throw, and what
// is missing is said with its mend. As root it is tried as nobody, in a process of its own.

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { enableForwarding } from '../../../dataplane/io/system.ts';

const NOBODY = 65_534;

/** Runs a piece of script that prints JSON, without rights; null where that cannot be done. */
async function withoutRights(t: ExecutionContext, script: string): Promise<unknown> {
  const module = new URL('../../../dataplane/io/system.ts', import.meta.url).href;
  const isRoot = process.getuid?.() === 0;
  const program = `import * as system from '${module}'; process.stdout.write(JSON.stringify(${script}));`;
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '-e', program],
      isRoot ? { uid: NOBODY, gid: NOBODY } : {},
    );
    return JSON.parse(stdout) as unknown;
  } catch (error) {
    t.log('not as nobody:', String(error).split('\n')[0]);
    return null;
  }
}

const masquerade = `{
  interfaceName: 'wg-postern.test',
  networks: [{ network: new Uint8Array([10, 0, 0, 0]), prefixBits: 8, address: new Uint8Array(4) }],
  egressInterface: null,
}`;

test('nothing asked for, nothing done, nothing missing', (t) => {
  t.deepEqual(enableForwarding({ ipv4: false, ipv6: false }), []);
});

test('forwarding that cannot be switched on names the command that does it', async (t) => {
  const faults = await withoutRights(t, 'system.enableForwarding({ ipv4: true, ipv6: true })');
  for (const fault of (faults ?? []) as string[]) t.regex(fault, /Run: sysctl -w net\.ipv[46]\./);
  t.pass();
});

test('forwarding that is on already is no fault', async (t) => {
  const isOn = readFileSync('/proc/sys/net/ipv4/ip_forward', 'utf8').trim() === '1';
  const faults = await withoutRights(t, 'system.enableForwarding({ ipv4: true, ipv6: false })');
  if (faults !== null) t.is((faults as string[]).length, isOn ? 0 : 1);
  else t.pass();
});

test('masquerading that cannot be had says what that means and how to mend it', async (t) => {
  const fault = (await withoutRights(t, `await system.loadMasquerade(${masquerade})`)) as
    string | null;
  const wanted =
    /^masquerading is off, so .+: .+\. Install nftables and run as root .+WIREGUARD_IPV4_MASQUERADE/;
  t.true(fault === null || wanted.test(fault), fault ?? '');
});

test('a table that cannot be removed is a fault, not an exception', async (t) => {
  const fault = await withoutRights(t, `await system.removeMasquerade('wg-postern.test')`);
  t.true(fault === null || typeof fault === 'string');
});
