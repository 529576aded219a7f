// Inspects the host for a gateway that will start or that runs: whether a TUN can be made, rights
// are sufficient, the kernel masquerades, forwarding is on, the rules of other programs pass
// packets, the port is free and the clock is synchronized. It changes nothing on the host; a TUN is
// made for a moment, under another name. Every finding that is not ok says how to fix it.

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { closeSync, constants, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NetworkConfig } from '../contract.ts';
import { loadAddon } from '../native/index.ts';
import { formatAddress } from '../wire/address.ts';
import { type Finding, good } from './finding.ts';
import { findObstacles, type Obstacle, type TunnelPath } from './foreign-rules.ts';
import { inspectNetworks } from './inspect-networks.ts';
import { inspectSockets } from './inspect-sockets.ts';
import { tryMasquerade } from './masquerade.ts';
import { fixOfRefusal } from './netfilter/message.ts';
import { isOwnTable, readTables } from './netfilter/table.ts';
import { fixOfNft, runNft } from './nft.ts';
import { acceptRa, forwardingFix, namesHearingRouters, readSysctl, SYSCTL } from './system.ts';

/** The settings of the gateway on this host. */
export interface Inspected {
  readonly interfaceName: string;
  readonly listenPort: number;
  readonly ipv4: NetworkConfig | null;
  readonly ipv6: NetworkConfig | null;
  readonly masqueradeIpv4: boolean;
  readonly masqueradeIpv6: boolean;
  readonly egressInterface: string | null;
  readonly forwarding: 'auto' | 'off';
  readonly tun: 'auto' | 'required' | 'off' | 'sockets';
  /** Why `auto` takes no sockets where there is no TUN; null or left out: it takes them. */
  readonly socketsBarred?: string | null;
  /** True while this gateway runs, so that it has the port. */
  readonly isRunning: boolean;
  /** The TUN of the gateway that runs; null: a TUN is made for a moment. */
  readonly runningTun: string | null;
  /** Why packets of devices leave the gateway that runs by its sockets; null: they do not. */
  readonly runsBySockets?: string | null;
}

/** The name of the TUN that is made for a moment. */
const TRIAL_NAME = 'postern-doctor';
/** Bit of CAP_NET_ADMIN in the masks of /proc/self/status. */
const NET_ADMIN_BIT = 12n;
/** Flag of a route in /proc/net/route that leads to a router. */
const ROUTE_GATEWAY = 0x2;

/** Makes all checks. */
export async function inspectHost(inspected: Inspected): Promise<Finding[]> {
  const withoutTun = inspected.tun === 'off';
  if (withoutTun)
    return [
      good('tun', 'WIREGUARD_TUN=off: nothing is asked of the host'),
      await port(inspected),
      clock(),
    ];
  const tried = tryTun(inspected);
  const why = whySockets(inspected, tried);
  if (why !== null)
    return [
      good('tun', `packets of devices leave by sockets of the gateway: ${why}`),
      ...inspectSockets(inspected.egressInterface),
      ...inspectNetworks(inspected),
      await port(inspected),
      clock(),
    ];
  return [
    tun(inspected, tried),
    rights(inspected),
    ...inspectNetworks(inspected),
    masquerading(inspected),
    ...forwarding(inspected),
    ...(await otherRules(inspected)),
    await port(inspected),
    clock(),
  ];
}

// ---- TUN and rights --------------------------------------------------------------------------

/** What came of making a TUN, and the code of the error. */
interface Tried {
  readonly finding: Finding;
  readonly code: string;
}

function tryTun({ runningTun, tun: wanted, runsBySockets = null }: Inspected): Tried {
  const tried = (finding: Finding): Tried => ({ finding, code: '' });
  if (wanted === 'sockets' || runsBySockets !== null) return tried(good('tun', 'none is wanted'));
  if (runningTun !== null)
    return tried(good('tun', `the gateway has the TUN interface ${runningTun}`));
  const failed = (message: string, fix: string, code = ''): Tried => ({
    finding: { check: 'tun', level: 'failed', message, fix },
    code,
  });
  const { addon } = loadAddon();
  if (addon === null)
    return failed(
      'the addon was not built, and without it there is no TUN',
      'apt-get install g++ && npm run build:native',
    );
  try {
    addon.closeFd(addon.openTun(TRIAL_NAME, false).fd);
    return tried(good('tun', 'a TUN interface can be made'));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENODEV')
      return failed(
        '/dev/net/tun is missing',
        'modprobe tun; in a container: --device /dev/net/tun (compose: devices: [/dev/net/tun])',
        code,
      );
    if (code === 'EACCES')
      return failed('/dev/net/tun may not be opened by this user', 'chmod 0666 /dev/net/tun', code);
    if (code === 'EPERM')
      return failed('no right to make a TUN interface', 'run as root or with CAP_NET_ADMIN', code);
    return failed(`no TUN interface can be made: ${message}`, 'modprobe tun');
  }
}

/** The finding about the TUN; where sockets could replace it and may not, it says why. */
function tun({ tun: wanted, socketsBarred = null }: Inspected, { finding, code }: Tried): Finding {
  if (wanted !== 'auto' || socketsBarred === null || !isRefused(code)) return finding;
  const { message, fix } = finding;
  return {
    ...finding,
    message: `${message}; ${socketsBarred}`,
    fix: `${fix}; or set WIREGUARD_TUN=sockets`,
  };
}

/** Whether the host gives no TUN to this process; one that is in use is another error. */
function isRefused(code: string): boolean {
  return ['ENOENT', 'EACCES', 'EPERM'].includes(code);
}

/** Why packets leave by sockets, or would if the gateway started now; null: they do not. */
function whySockets(inspected: Inspected, { finding, code }: Tried): string | null {
  const { tun: wanted, isRunning, runsBySockets = null, socketsBarred = null } = inspected;
  if (isRunning) return runsBySockets;
  if (wanted === 'sockets') return 'WIREGUARD_TUN=sockets';
  const isTaken = wanted === 'auto' && socketsBarred === null && isRefused(code);
  return isTaken ? finding.message : null;
}

/** Whether this process may change the network. */
function hasNetAdmin(): boolean {
  const status = readFileSync('/proc/self/status', 'utf8');
  const mask = BigInt(`0x${/^CapEff:\s*(\w+)/m.exec(status)?.[1] ?? '0'}`);
  return ((mask >> NET_ADMIN_BIT) & 1n) === 1n;
}

function rights({ runningTun }: Inspected): Finding {
  if (hasNetAdmin()) return good('rights', 'CAP_NET_ADMIN is held');
  // The gateway may run under another account, or in a namespace of its own.
  if (runningTun !== null) return good('rights', 'the gateway that runs has CAP_NET_ADMIN');
  return {
    check: 'rights',
    level: 'failed',
    message: 'CAP_NET_ADMIN is missing: no TUN, no masquerading, no forwarding',
    fix: 'run as root, or in a unit with AmbientCapabilities=CAP_NET_ADMIN; in a container: --cap-add NET_ADMIN',
  };
}

// ---- masquerading and forwarding -----------------------------------------------------------

function masquerading(inspected: Inspected): Finding {
  const check = 'masquerading';
  const { interfaceName, egressInterface } = inspected;
  const networks = [
    inspected.masqueradeIpv4 ? inspected.ipv4 : null,
    inspected.masqueradeIpv6 ? inspected.ipv6 : null,
  ].filter((network) => network !== null);
  if (networks.length === 0) return good(check, 'nothing is to be masqueraded');
  if (inspected.runningTun !== null && !hasNetAdmin())
    return good(check, 'this account cannot try it; the gateway says whether it masquerades');
  const refusal = tryMasquerade({ interfaceName, networks, egressInterface });
  if (refusal === null) return good(check, 'the kernel can masquerade devices');
  const message = `devices cannot be masqueraded: ${refusal.message}`;
  return { check, level: 'failed', message, fix: fixOfRefusal(refusal) };
}

function forwarding(inspected: Inspected): Finding[] {
  const findings: Finding[] = [];
  const { ipv4, ipv6 } = inspected;
  if (ipv4 !== null)
    findings.push(switched(inspected, 'ipv4', 'ipv4/ip_forward', 'net.ipv4.ip_forward'));
  if (ipv6 === null) return findings;
  const name = 'net.ipv6.conf.all.forwarding';
  if (!existsSync(join(SYSCTL, 'ipv6'))) {
    findings.push({
      check: 'forwarding IPv6',
      level: 'warning',
      message: 'this kernel has no IPv6',
      fix: 'set WIREGUARD_IPV6_ENABLED=false',
    });
    return findings;
  }
  findings.push(switched(inspected, 'ipv6', 'ipv6/conf/all/forwarding', name));
  if (readSysctl('ipv6/conf/all/forwarding') === '1') findings.push(...lostRouters(inspected));
  return findings;
}

function switched(
  inspected: Inspected,
  family: 'ipv4' | 'ipv6',
  file: string,
  name: string,
): Finding {
  const check = `forwarding ${family === 'ipv4' ? 'IPv4' : 'IPv6'}`;
  if (readSysctl(file) === '1') return good(check, `${name} is on`);
  if (inspected.forwarding === 'auto' && !inspected.isRunning && canWrite(join(SYSCTL, file)))
    return good(check, `${name} is off; the gateway switches it on when it starts`);
  const why =
    inspected.forwarding === 'off'
      ? 'GATEWAY_FORWARDING=off leaves it so'
      : inspected.isRunning
        ? 'the gateway that runs here does not switch it on again'
        : 'it cannot be switched on from here';
  return {
    check,
    level: 'failed',
    message: `${name} is off, and ${why}: devices reach the gateway alone`,
    fix: forwardingFix(family),
  };
}

function canWrite(path: string): boolean {
  try {
    closeSync(openSync(path, constants.O_WRONLY));
    return true;
  } catch {
    return false;
  }
}

/**
 * Finds interfaces that ignore router advertisements: a host that forwards does so, unless it is
 * configured otherwise.
 */
function lostRouters({ interfaceName }: Inspected): Finding[] {
  const check = 'router advertisements';
  if (defaultInterfaces('ipv6').length > 0) return [good(check, 'there is an IPv6 default route')];
  const deaf = namesHearingRouters().filter((name) => name !== 'default' && name !== interfaceName);
  if (deaf.length === 0) return [];
  const commands = deaf.map((name) => `sysctl -w ${acceptRa(name)}=2`);
  return [
    {
      check,
      level: 'warning',
      message: `this host forwards IPv6, has no IPv6 default route, and does not listen to routers on ${deaf.join(', ')}`,
      fix: `where a router announces itself: ${commands.join('; ')}`,
    },
  ];
}

// ---- rules of other programs --------------------------------------------------------------------

async function otherRules(inspected: Inspected): Promise<Finding[]> {
  const check = 'foreign rules';
  const ruleset = await foreignRuleset();
  if ('error' in ruleset) {
    const message = `the rules of this host cannot be read: ${ruleset.error}`;
    return [{ check, level: 'warning', message, fix: ruleset.fix }];
  }
  const obstacles = pathsOf(inspected).flatMap((path) => findObstacles(ruleset.rules, path));
  const seen = new Map(obstacles.map((obstacle) => [keyOf(obstacle), obstacle]));
  const findings = [...seen.values()].map((obstacle) => findingOf(obstacle, inspected));
  const legacy = legacyTables();
  if (legacy.length > 0)
    findings.push({
      check,
      level: 'warning',
      message: `${legacy.join(' and ')} may hold rules of iptables-legacy, which nft does not show`,
      fix: 'iptables-legacy -S FORWARD; ip6tables-legacy -S FORWARD; where they drop, accept the interface there too',
    });
  if (findings.length > 0) return findings;
  return [good(check, 'no other rule stops packets of the tunnel')];
}

/** The rules of the host in the JSON of nft, which is started only where there are some. */
async function foreignRuleset(): Promise<{ rules: unknown } | { error: string; fix: string }> {
  const tables = readTables();
  if ('code' in tables) return { error: tables.message, fix: fixOfRefusal(tables) };
  if (tables.every(isOwnTable)) return { rules: { nftables: [] } };
  const answer = await runNft(['-j', 'list', 'ruleset']);
  if ('error' in answer) return { error: answer.error, fix: fixOfNft(answer.error) };
  return { rules: JSON.parse(answer.output) as unknown };
}

function pathsOf({
  interfaceName,
  listenPort,
  egressInterface,
  ipv4,
  ipv6,
}: Inspected): TunnelPath[] {
  const path = (network: NetworkConfig | null, family: 'ipv4' | 'ipv6'): TunnelPath[] =>
    network === null
      ? []
      : [
          {
            interfaceName,
            listenPort,
            egress: egressInterface === null ? defaultInterfaces(family) : [egressInterface],
            family,
            network: formatAddress(network.network),
            prefixBits: network.prefixBits,
          },
        ];
  return [...path(ipv4, 'ipv4'), ...path(ipv6, 'ipv6')];
}

function keyOf({ family, table, chain }: Obstacle): string {
  return `${family} ${table} ${chain}`;
}

function findingOf(obstacle: Obstacle, inspected: Inspected): Finding {
  const { interfaceName, listenPort, egressInterface } = inspected;
  const isForGateway = obstacle.stops === 'datagrams';
  const from = egressInterface ?? 'the interface of the default route';
  const what = {
    datagrams: `what comes to UDP ${listenPort} from ${from}`,
    opening: 'what devices send on',
    answers: 'the answers to what devices send on',
  }[obstacle.stops];
  return {
    check: 'foreign rules',
    level: 'failed',
    message: `the chain ${keyOf(obstacle)} (${OWNERS[obstacle.owner]}) drops ${what}`,
    fix: isForGateway ? openingOf(obstacle, listenPort) : fixOf(obstacle, interfaceName),
  };
}

const OWNERS: Record<Obstacle['owner'], string> = {
  docker: 'Docker',
  ufw: 'ufw',
  firewalld: 'firewalld',
  other: 'neither Docker, ufw nor firewalld',
};

function fixOf({ owner, family, table, chain }: Obstacle, name: string): string {
  const iptables = family === 'ip6' ? 'ip6tables' : 'iptables';
  switch (owner) {
    case 'docker':
      return `${iptables} -I DOCKER-USER -i ${name} -j ACCEPT; ${iptables} -I DOCKER-USER -o ${name} -j ACCEPT`;
    case 'ufw':
      return `ufw route allow in on ${name}; ufw route allow out on ${name}`;
    case 'firewalld':
      return `firewall-cmd --permanent --zone=trusted --add-interface=${name} && firewall-cmd --reload`;
    case 'other':
      return `nft insert rule ${family} ${table} ${chain} iifname ${name} accept; nft insert rule ${family} ${table} ${chain} oifname ${name} accept`;
  }
}

/** The command that lets datagrams of devices in. */
function openingOf({ owner, family, table, chain }: Obstacle, port: number): string {
  switch (owner) {
    case 'ufw':
      return `ufw allow ${port}/udp`;
    case 'firewalld':
      return `firewall-cmd --permanent --add-port=${port}/udp && firewall-cmd --reload`;
    case 'docker':
    case 'other':
      return `nft insert rule ${family} ${table} ${chain} udp dport ${port} accept`;
  }
}

/**
 * Which families have tables of iptables-legacy. A packet must pass the old filter and the new one.
 */
function legacyTables(): string[] {
  return ['ip_tables_names', 'ip6_tables_names'].filter((name) => {
    try {
      return readFileSync(join('/proc/net', name), 'utf8').split('\n').includes('filter');
    } catch {
      return false;
    }
  });
}

/** The interfaces of default routes. */
function defaultInterfaces(family: 'ipv4' | 'ipv6'): string[] {
  const found = readRoutes(family === 'ipv4' ? 'route' : 'ipv6_route')
    .filter((fields) =>
      family === 'ipv4'
        ? fields[1] === '00000000' && (Number.parseInt(fields[3] ?? '', 16) & ROUTE_GATEWAY) !== 0
        : /^0{32}$/.test(fields[0] ?? '') && fields[1] === '00',
    )
    .map((fields) => (family === 'ipv4' ? fields[0] : fields.at(-1)) ?? '')
    .filter((name) => name !== 'lo' && name !== '');
  return [...new Set(found)];
}

function readRoutes(file: string): string[][] {
  try {
    const lines = readFileSync(join('/proc/net', file), 'utf8').split('\n');
    return lines.map((line) => line.trim().split(/\s+/));
  } catch {
    return [];
  }
}

// ---- port and clock --------------------------------------------------------------------------

async function port({ listenPort, isRunning }: Inspected): Promise<Finding> {
  const check = 'WireGuard port';
  if (isRunning) return good(check, `UDP ${listenPort} is used by the gateway that runs here`);
  for (const type of ['udp4', 'udp6'] as const) {
    const socket = createSocket({ type, ipv6Only: type === 'udp6' });
    try {
      socket.bind(listenPort);
      await once(socket, 'listening');
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      // A host without IPv6 is served over IPv4.
      if (type === 'udp6' && (code === 'EAFNOSUPPORT' || code === 'EADDRNOTAVAIL')) continue;
      return {
        check,
        level: 'failed',
        message:
          code === 'EADDRINUSE'
            ? `UDP ${listenPort} is taken by another process`
            : `UDP ${listenPort} cannot be opened: ${message}`,
        fix: `stop what uses it (ss -lunp 'sport = ${listenPort}') or set WIREGUARD_PORT to another`,
      };
    } finally {
      socket.close();
    }
  }
  return good(check, `UDP ${listenPort} is free`);
}

function clock(): Finding {
  const check = 'clock';
  const unknown: Finding = {
    check,
    level: 'warning',
    message: 'whether the clock is kept cannot be found out here',
    fix: 'look with: timedatectl',
  };
  const { addon } = loadAddon();
  if (addon === null) return unknown;
  try {
    if (addon.clockIsSynchronized()) return good(check, 'the clock is synchronized');
  } catch {
    return unknown;
  }
  return {
    check,
    level: 'warning',
    message:
      'nothing keeps the clock of this host: ends of sessions and devices, and gateways that share a database, rely on it',
    fix: 'timedatectl set-ntp true; without systemd: apt-get install chrony',
  };
}
