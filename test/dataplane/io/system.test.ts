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
import { inOwnNetwork, withoutRights } from '../../support/network/rights.ts';

const NOBODY = 65_534;

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
  const errors = await withoutRights(
    t,
    'system',
    'module.enableForwarding({ ipv4: true, ipv6: true })',
  );
  const said = (errors ?? []) as string[];
  for (const error of said) t.regex(error, /Run: sysctl -w net\.ipv[46]\./);
  t.true(said.length <= 2, 'a line for each family, however many interfaces there are');
  t.pass();
});

test('one command does all that IPv6 needs, for interfaces with a dot in their name too', async (t) => {
  const said = await inOwnNetwork(
    t,
    `await (async () => {
      const v6 = 'net.ipv6.conf';
      await command('ip', 'link', 'add', 'eth0.100', 'type', 'veth', 'peer', 'name', 'v1');
      await command('sysctl', '-w', v6 + '.eth0/100.accept_ra=1');
      // A new network takes this from the host.
      await command('sysctl', '-w', 'net.ipv4.ip_forward=0');
      const fix = system.forwardingFix('ipv6');
      process.seteuid(${NOBODY});
      const refused = system.enableForwarding({ ipv4: true, ipv6: true });
      process.seteuid(0);
      const [, order] = fix.match(/^sysctl (.*?); for a container/);
      await command('sysctl', ...order.split(' '));
      const values = ['eth0/100.accept_ra', 'v1.accept_ra', 'default.accept_ra', 'all.forwarding'];
      const read = [];
      for (const value of values) read.push((await command('sysctl', '-n', v6 + '.' + value)).stdout.trim());
      return { fix, refused, read, then: system.enableForwarding({ ipv4: false, ipv6: true }) };
    })()`,
  );
  if (said === null) {
    t.pass();
    return;
  }
  const { fix, refused, read, then } = said as Record<'fix', string> &
    Record<'refused' | 'read' | 'then', string[]>;
  t.true(fix.includes(' net.ipv6.conf.eth0/100.accept_ra=2 '), fix);
  t.is(refused.length, 2, refused.join('\n'));
  t.true(refused[1]?.endsWith(`Run: ${fix}`), refused[1]);
  t.deepEqual(read, ['2', '2', '2', '1']);
  t.deepEqual(then, []);
});

test('forwarding that is on already is no error', async (t) => {
  const isOn = readFileSync('/proc/sys/net/ipv4/ip_forward', 'utf8').trim() === '1';
  const errors = await withoutRights(
    t,
    'system',
    'module.enableForwarding({ ipv4: true, ipv6: false })',
  );
  if (errors !== null) t.is((errors as string[]).length, isOn ? 0 : 1);
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
