// What the host must do, asked for without rights: nothing may change, nothing may throw, and what
// is missing is said with its fix. As root it is tried as nobody, in a process of its own.

import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import test from 'ava';
import {
  acceptOwnSource,
  enableForwarding,
  readAddressesOf,
  readFilesMax,
  readFilesOpen,
  readLocalAddresses,
} from '../../../dataplane/io/system.ts';
import { withoutRights } from '../../support/network/rights.ts';

test('the limit of open files is that of this process', (t) => {
  const said = execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' });
  t.is(readFilesMax(), said.trim() === 'unlimited' ? null : Number(said));
});

test('open files of this process are counted', (t) => {
  const before = readFilesOpen();
  t.true(before > 3);
  const files = [openSync('/dev/null', 'r'), openSync('/dev/null', 'r')];
  t.is(readFilesOpen(), before + 2);
  for (const file of files) closeSync(file);
});

test('nothing asked for, nothing done, nothing missing', (t) => {
  t.deepEqual(enableForwarding({ ipv4: false, ipv6: false }), []);
});

test('forwarding that cannot be switched on names the command that does it', async (t) => {
  const faults = await withoutRights(
    t,
    'system',
    'module.enableForwarding({ ipv4: true, ipv6: true })',
  );
  const said = (faults ?? []) as string[];
  for (const fault of said) t.regex(fault, /Run: sysctl -w net\.ipv[46]\./);
  // Whoever follows one line must not find the next one at the next start.
  if (said.some((fault) => fault.includes('accept_ra')))
    t.true(said.some((fault) => fault.includes('net.ipv6.conf.all.forwarding=1')));
  t.pass();
});

test('forwarding that is on already is no fault', async (t) => {
  const isOn = readFileSync('/proc/sys/net/ipv4/ip_forward', 'utf8').trim() === '1';
  const faults = await withoutRights(
    t,
    'system',
    'module.enableForwarding({ ipv4: true, ipv6: false })',
  );
  if (faults !== null) t.is((faults as string[]).length, isOn ? 0 : 1);
  else t.pass();
});

test('the addresses of an interface are its own, and none where there is no such interface', (t) => {
  const all = readLocalAddresses().map(String);
  const own = readAddressesOf('lo').map(String);
  t.true(own.includes('127,0,0,1'), own.join(' '));
  t.deepEqual(
    own.filter((one) => !all.includes(one)),
    [],
  );
  t.deepEqual(readAddressesOf('not-there'), []);
});

test('an interface that is not there takes no packets from the own address of the host', (t) => {
  const isForAll = readFileSync('/proc/sys/net/ipv4/conf/all/accept_local', 'utf8').trim() === '1';
  t.is(acceptOwnSource('not-there'), isForAll);
});
