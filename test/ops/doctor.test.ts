// The doctor on a host of its own. Each error is made for real, found, and fixed by the very
// commands that the doctor prints. Also what a start does about forwarding on such a host.

import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import type { Finding } from '../../dataplane/index.ts';
import { programMain } from '../support/gateway/bundle.ts';
import { NFT } from '../support/network/capture.ts';
import { type Host, Network } from '../support/network/namespaces.ts';
import { COMPILE_CACHE, WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  LAN4,
} from '../support/network/topology.ts';
import { enrol } from '../e2e/people.ts';
import { atGateway, Visitor } from '../support/web/visitor.ts';
import { temporaryFolder } from '../support/suite/temporary-folder.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** An npm package installs another program with the name nft. */
const SYSTEM_PATH = 'PATH=/usr/sbin:/usr/bin:/sbin:/bin';

/** Else packets leave by sockets where there is no TUN. */
const NEEDS_TUN = { WIREGUARD_TUN: 'required' };

/** Asks the doctor on a host; `wrapper` takes away rights or parts of the filesystem. */
async function doctor(
  host: Host,
  settings: Record<string, string> = {},
  wrapper: readonly string[] = [],
): Promise<{ status: number; findings: Finding[]; of: (check: string) => Finding | undefined }> {
  const environment = {
    PATH: process.env['PATH'],
    ...COMPILE_CACHE,
    DATA_DIR: join(temporaryFolder('postern-doctor-'), 'data'),
    EXTERNAL_URL: 'http://gateway.example.test:13000/',
    ...settings,
  };
  const words = [...wrapper, process.execPath, programMain(), 'doctor', '--json'];
  const run = promisify(execFile)('ip', ['netns', 'exec', host.namespace, ...words], {
    cwd: ROOT,
    env: environment,
  });
  const { stdout, code = 0 } = (await run.catch(
    (error: unknown) => error as { stdout: string; code: number },
  )) as { stdout: string; code?: number };
  const { well, findings } = JSON.parse(stdout) as { well: boolean; findings: Finding[] };
  if ((code === 0) !== well) throw new Error(`it ended with ${code}: ${stdout}`);
  const of = (check: string): Finding | undefined =>
    findings.find((finding) => finding.check === check && finding.level !== 'ok') ??
    findings.find((finding) => finding.check === check);
  return { status: code, findings, of };
}

async function onHost(t: ExecutionContext, body: (host: Host) => Promise<void>): Promise<void> {
  t.timeout(120_000);
  const network = new Network('pd');
  try {
    await body(await network.addHost('gw'));
  } finally {
    await network.remove();
  }
}

const fix = (host: Host, finding: Finding | undefined): Promise<unknown> =>
  host.run('bash', '-ec', `${SYSTEM_PATH}\n${finding?.fix ?? 'false'}`);

test.serial('a host without errors has good findings only', (t) =>
  onHost(t, async (host) => {
    const { status, findings } = await doctor(host);
    t.is(status, 0, JSON.stringify(findings));
    t.false(await host.succeeds('ip', 'link', 'show', 'postern-doctor'), 'nothing stays');
  }),
);

test.serial('rights that are missing and needed are named', (t) =>
  onHost(t, async (host) => {
    const without = ['setpriv', '--bounding-set=-all', '--inh-caps=-all', '--ambient-caps=-all'];
    const { status, of } = await doctor(host, NEEDS_TUN, without);
    t.is(status, 1);
    for (const check of ['tun', 'rights', 'masquerading']) t.is(of(check)?.level, 'failed', check);
    t.regex(of('rights')?.fix ?? '', /--cap-add NET_ADMIN/);
    const auto = await doctor(host, {}, without);
    t.is(auto.status, 0, JSON.stringify(auto.findings));
    t.regex(auto.of('tun')?.message ?? '', /leave by sockets of the gateway: no right to make/);
    t.is(auto.of('rights'), undefined, 'none is needed');
  }),
);

test.serial('a missing TUN device is named', (t) =>
  onHost(t, async (host) => {
    // Hidden from this one process.
    const hide = [
      'unshare',
      '--mount',
      'bash',
      '-ec',
      'mount -t tmpfs none /dev/net && exec "$@"',
      'hide',
    ];
    const { of } = await doctor(host, NEEDS_TUN, hide);
    t.like(of('tun'), { level: 'failed', message: '/dev/net/tun is missing' });
    t.regex(of('tun')?.fix ?? '', /--device \/dev\/net\/tun/);
  }),
);

test.serial('without the program nft only rules of others cannot be read', (t) =>
  onHost(t, async (host) => {
    const hide = [
      'unshare',
      '--mount',
      'bash',
      '-ec',
      'mount --bind /dev/null /usr/sbin/nft && mount -o remount,bind,noexec /usr/sbin/nft && exec "$@"',
      'hide',
    ];
    const { status, of } = await doctor(host, {}, hide);
    t.is(status, 0);
    for (const check of ['masquerading', 'foreign rules']) t.is(of(check)?.level, 'ok', check);
    await host.run(NFT, 'add table ip other');
    t.is((await doctor(host, {}, hide)).of('foreign rules')?.level, 'warning');
  }),
);

test.serial('forwarding that is off is an error if nobody will switch it on', (t) =>
  onHost(t, async (host) => {
    await host.run('sysctl', '-qw', 'net.ipv4.ip_forward=0', 'net.ipv6.conf.all.forwarding=0');
    t.is((await doctor(host)).status, 0, 'the start does it');
    const left = await doctor(host, { GATEWAY_FORWARDING: 'off' });
    t.is(left.status, 1);
    for (const family of ['IPv4', 'IPv6'])
      t.regex(
        left.of(`forwarding ${family}`)?.message ?? '',
        /GATEWAY_FORWARDING=off leaves it so/,
      );
    // As in a container, whose /proc/sys cannot be written.
    const readOnly = [
      'unshare',
      '--mount',
      'bash',
      '-ec',
      'mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec "$@"',
      'ro',
    ];
    const { of, status } = await doctor(host, {}, readOnly);
    t.is(status, 1);
    t.is(of('forwarding IPv6')?.level, 'failed');
    t.regex(
      of('forwarding IPv6')?.fix ?? '',
      /^sysctl -w net\.ipv6\.conf\.default\.accept_ra=2 .*net\.ipv6\.conf\.all\.forwarding=1; for a container: --sysctl net\.ipv6\.conf\.all\.forwarding=1$/,
    );
  }),
);

test.serial('a host that forwards and ignores its router is reported', (t) =>
  onHost(t, async (host) => {
    await host.ip('link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'eth1');
    for (const name of ['eth0', 'eth1']) await host.ip('link', 'set', name, 'up');
    await host.run(
      'sysctl',
      '-qw',
      'net.ipv6.conf.all.forwarding=1',
      'net.ipv6.conf.eth0.accept_ra=1',
    );
    const { of } = await doctor(host);
    t.is(of('router advertisements')?.level, 'warning');
    t.regex(of('router advertisements')?.fix ?? '', /sysctl -w net\.ipv6\.conf\.eth0\.accept_ra=2/);
    await host.run(
      'sysctl',
      '-qw',
      'net.ipv6.conf.eth0.accept_ra=2',
      'net.ipv6.conf.eth1.accept_ra=2',
    );
    t.is((await doctor(host)).of('router advertisements'), undefined);
  }),
);

test.serial('a port that is in use is reported', (t) =>
  onHost(t, async (host) => {
    const child = host.start(process.execPath, [
      '-e',
      `require('dgram').createSocket('udp4').bind(51820, () => console.log('on'))`,
    ]);
    await new Promise((resolveOn) => child.stdout?.once('data', resolveOn));
    const { of } = await doctor(host);
    t.like(of('WireGuard port'), {
      level: 'failed',
      message: 'UDP 51820 is taken by another process',
    });
  }),
);

/** Rules as their owners write them, in their commands. */
const OTHERS = {
  Docker: `
    for t in iptables ip6tables; do
      $t -P FORWARD DROP
      $t -N DOCKER-USER; $t -A DOCKER-USER -j RETURN
      $t -N DOCKER; $t -N DOCKER-ISOLATION-STAGE-1; $t -A DOCKER-ISOLATION-STAGE-1 -j RETURN
      $t -A FORWARD -j DOCKER-USER
      $t -A FORWARD -j DOCKER-ISOLATION-STAGE-1
      $t -A FORWARD -o docker0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
      $t -A FORWARD -o docker0 -j DOCKER
      $t -A FORWARD -i docker0 ! -o docker0 -j ACCEPT
    done`,
  nobody: `
    nft add table inet strict
    nft add chain inet strict forward '{ type filter hook forward priority 0; policy drop; }'
    nft add rule inet strict forward ct state vmap '{ invalid : drop }'
    nft add rule inet strict forward iifname "eth7" accept
    nft add chain inet strict input '{ type filter hook input priority 0; policy drop; }'
    nft add rule inet strict input ct state established accept
    nft add rule inet strict input meta l4proto '{ icmp, ipv6-icmp }' accept
    nft add rule inet strict input tcp dport 13000 accept`,
};

for (const [owner, rules] of Object.entries(OTHERS))
  test.serial(
    `rules of ${owner} that drop are found, and fixed by the printed commands`,
    async (t) => {
      t.timeout(120_000);
      const topology = await buildTopology('pd');
      const { gateway } = topology;
      try {
        await gateway.run('bash', '-ec', `${SYSTEM_PATH}\n${rules}`);
        const postern = new Postern(gateway, API_ADDRESS, WITHOUT_WARM_UP);
        await postern.start();
        const alice = await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
        t.false(await canPing(alice.client.host, LAN4), 'they do drop');
        const settings = { HTTP_HOST: '0.0.0.0', GATEWAY_EGRESS_INTERFACE: 'g1' };
        for (let i = 0; ; i++) {
          const { of, status } = await doctor(gateway, settings);
          const finding = of('foreign rules');
          t.is(of('WireGuard port')?.level, 'ok', 'our own gateway has it');
          if (finding?.level === 'ok') {
            t.is(status, 0);
            t.true(i > 0);
            break;
          }
          t.is(finding?.level, 'failed');
          t.regex(
            finding?.message ?? '',
            owner === 'Docker' ? /Docker/ : /inet strict (forward|input)/,
          );
          t.true(i < 3, 'the fix works');
          await fix(gateway, finding);
        }
        // A client whose initiation was dropped tries again after 5 s.
        await until('they do so no more', () => canPing(alice.client.host, LAN4, 1));
        await postern.stop();
      } finally {
        await topology.network.remove();
      }
    },
  );

test.serial('the dashboard of a running gateway shows what the doctor finds', async (t) => {
  t.timeout(120_000);
  const topology = await buildTopology('pd');
  const { gateway } = topology;
  try {
    const postern = new Postern(gateway, API_ADDRESS, { ...WITHOUT_WARM_UP, HTTP_PORTT: '1' });
    await postern.start();
    await gateway.run('sysctl', '-qw', 'net.ipv4.ip_forward=0');
    await gateway.run('bash', '-ec', `${SYSTEM_PATH}\n${OTHERS.nobody}`);
    const admin = new Visitor(atGateway(postern.api));
    const { DEFAULT_ADMIN_EMAIL = '', DEFAULT_ADMIN_PASSWORD = '' } = postern.environment;
    await admin.signIn(DEFAULT_ADMIN_EMAIL, DEFAULT_ADMIN_PASSWORD);
    const wanted = [
      /forwarding IPv4: net\.ipv4\.ip_forward is off, and the gateway that runs here does not/,
      /sysctl -w net\.ipv4\.ip_forward=1/,
      /foreign rules: the chain inet strict forward .* drops what devices send on/,
      /settings: .*HTTP_PORTT/,
    ];
    await until('the dashboard says all', async () => {
      const { text } = await admin.get('/dashboard');
      return wanted.every((one) => one.test(text));
    });
    const { text } = await admin.get('/dashboard');
    t.notRegex(text, /WireGuard port:|tun:/, 'it has its port and its TUN');
    await postern.stop();
  } finally {
    await topology.network.remove();
  }
});

test.serial(
  'a start that switches forwarding on keeps the route that a router announced',
  async (t) => {
    t.timeout(120_000);
    const topology = await buildTopology('pd');
    const { gateway, lan } = topology;
    try {
      await gateway.run('sysctl', '-qw', 'net.ipv6.conf.all.forwarding=0');
      await gateway.run(
        'sysctl',
        '-qw',
        'net.ipv6.conf.g1.accept_ra=1',
        'net.ipv6.conf.g1.autoconf=1',
      );
      const hasRoute = async (): Promise<boolean> =>
        (await gateway.run('ip', '-6', 'route', 'show', 'default')).stdout.includes('proto ra');
      await advertise(lan);
      t.true(await hasRoute(), 'learnt from the router');
      const postern = new Postern(gateway, API_ADDRESS, WITHOUT_WARM_UP);
      await postern.start();
      const read = async (name: string): Promise<string> =>
        (await gateway.run('sysctl', '-n', name)).stdout.trim();
      t.is(await read('net.ipv6.conf.all.forwarding'), '1');
      t.is(await read('net.ipv6.conf.g1.accept_ra'), '2');
      t.true(await hasRoute(), 'still there');
      await gateway.run('ip', '-6', 'route', 'flush', 'default');
      await advertise(lan);
      t.true(await hasRoute(), 'and learnt again');
      await postern.stop();
    } finally {
      await topology.network.remove();
    }
  },
);

/** A router advertisement from the LAN end of the link, and the time until it is used. */
async function advertise(lan: Host): Promise<void> {
  const program = `
import socket, struct, time
s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
index = socket.if_nametoindex('l0')
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
# Type 134, hop limit 64, no flags, lifetime 1800 s; the kernel fills in the checksum.
for _ in range(3):
    s.sendto(struct.pack('!BBHBBHII', 134, 0, 0, 64, 0, 1800, 0, 0), ('ff02::1', 0, 0, index))
    time.sleep(0.2)
`;
  await lan.run('python3', '-c', program);
}
