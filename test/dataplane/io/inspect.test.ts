// What the host is found to be, asked for without rights: whatever is not well says how to fix it.
// test/ops/doctor.test.ts makes each error and fixes it.

import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import process from 'node:process';
import { promisify } from 'node:util';
import test from 'ava';
import type { Finding } from '../../../dataplane/io/finding.ts';
import { inspectHost, type Inspected } from '../../../dataplane/io/inspect.ts';

const NOBODY = 65_534;

const inspected: Inspected = {
  interfaceName: 'wg-postern',
  listenPort: 0,
  ipv4: {
    network: Uint8Array.of(100, 64, 0, 0),
    prefixBits: 10,
    address: Uint8Array.of(100, 64, 0, 1),
  },
  ipv6: null,
  masqueradeIpv4: true,
  masqueradeIpv6: false,
  egressInterface: null,
  forwarding: 'auto',
  tun: 'auto',
  isRunning: false,
  runningTun: null,
};

/** What an account without rights finds. */
async function inspectAsNobody(
  runningTun: string | null,
  more: Partial<Inspected> = { tun: 'required' },
): Promise<Finding[]> {
  const module = new URL('../../../dataplane/io/inspect.ts', import.meta.url).href;
  const program = `
    import { inspectHost } from '${module}';
    const asked = ${JSON.stringify({ ...inspected, runningTun, ...more })};
    asked.ipv4.network = Uint8Array.of(100, 64, 0, 0);
    asked.ipv4.address = Uint8Array.of(100, 64, 0, 1);
    // Nobody may be unable to read a checkout in a folder of root, so all is loaded before.
    await inspectHost(asked);
    if (process.getuid() === 0) {
      process.setgroups([]);
      process.setgid(${NOBODY});
      process.setuid(${NOBODY});
    }
    process.stdout.write(JSON.stringify(await inspectHost(asked)));`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '-e',
    program,
  ]);
  return JSON.parse(stdout) as Finding[];
}

test('the rights that the gateway has are not asked of who looks at it', async (t) => {
  const findings = await inspectAsNobody('wg-postern');
  for (const check of ['tun', 'rights', 'masquerading'])
    t.is(findings.find((finding) => finding.check === check)?.level, 'ok', check);
});

test('without rights the missing right is named, and every error has its fix', async (t) => {
  const findings = await inspectAsNobody(null);
  const levelOf = (check: string): string | undefined =>
    findings.find((finding) => finding.check === check)?.level;
  t.is(levelOf('rights'), 'failed');
  t.is(levelOf('tun'), 'failed');
  t.is(levelOf('masquerading'), 'failed');
  t.is(levelOf('WireGuard port'), 'ok');
  for (const { level, check, fix } of findings) t.is(fix === null, level === 'ok', check);
  for (const check of ['masquerading', 'foreign rules']) {
    const fix = findings.find((finding) => finding.check === check)?.fix ?? '';
    t.is(fix, 'run as root or with CAP_NET_ADMIN', check);
  }
});

/** What is found differs from host to host. */
const HOSTS_OWN: ReadonlySet<string> = new Set(['pings', 'networks', 'clock']);

const summary = (findings: readonly Finding[]): unknown[] =>
  findings.map(({ check, level }) => [check, HOSTS_OWN.has(check) ? '' : level]);

/** What is asked of a host where packets leave by sockets. */
const OF_SOCKETS = [
  ['tun', 'ok'],
  ['pings', ''],
  ['networks', ''],
  ['WireGuard port', 'ok'],
  ['clock', ''],
];

test('sockets need no right: without one, auto finds all well', async (t) => {
  const auto = await inspectAsNobody(null, { tun: 'auto' });
  t.deepEqual(summary(auto), OF_SOCKETS);
  t.regex(auto[0]?.message ?? '', /leave by sockets of the gateway: (no right|\/dev\/net\/tun)/);
  const asked = await inspectHost({ ...inspected, tun: 'sockets' });
  t.deepEqual(summary(asked), OF_SOCKETS);
  t.regex(asked[0]?.message ?? '', /: WIREGUARD_TUN=sockets$/);
  const isRunning = { isRunning: true, runsBySockets: 'it is so' };
  const running = await inspectHost({ ...inspected, ...isRunning });
  t.deepEqual(summary(running), OF_SOCKETS);
  t.regex(running[0]?.message ?? '', /: it is so$/);
});

test('what bars sockets is said beside the right that is missing', async (t) => {
  const [tun, rights] = await inspectAsNobody(null, { tun: 'auto', socketsBarred: 'it is old' });
  t.like(tun, { check: 'tun', level: 'failed' });
  t.regex(tun?.message ?? '', /; it is old$/);
  t.regex(tun?.fix ?? '', /; or set WIREGUARD_TUN=sockets$/);
  t.is(rights?.level, 'failed');
  // A gateway that runs without a way out is looked at as ever, whatever would be taken now.
  const running = await inspectAsNobody(null, { tun: 'auto', isRunning: true });
  t.is(running[0]?.level, 'failed');
});

test('a gateway that has its TUN makes no other one to see whether it can', async (t) => {
  const asked: Inspected = { ...inspected, isRunning: true, runningTun: 'wg-postern' };
  const [tun] = await inspectHost(asked);
  t.like(tun, { level: 'ok', message: 'the gateway has the TUN interface wg-postern' });
});

test('without a TUN nothing is asked of the host but the port', async (t) => {
  const taken = createSocket('udp4').bind(0);
  await once(taken, 'listening');
  t.teardown(() => taken.close());
  const listenPort = taken.address().port;
  const asked: Inspected = { ...inspected, tun: 'off', listenPort };
  const findings = await inspectHost(asked);
  t.deepEqual(
    findings.map(({ check }) => check),
    ['tun', 'WireGuard port', 'clock'],
  );
  t.like(findings[1], {
    level: 'failed',
    message: `UDP ${listenPort} is taken by another process`,
  });
  t.regex(findings[1]?.fix ?? '', /WIREGUARD_PORT/);
  const running = await inspectHost({ ...asked, isRunning: true });
  t.is(running[1]?.level, 'ok');
});
