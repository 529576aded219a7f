// What a gateway that serves lacks, in words for people: the doctor and the dashboard say it, and
// the page of each file that does not work because of it.

import { type Config, isInTheClear, isLoopback, settingsAdvice } from '../../../config/index.ts';
import { HTTP_LIMITS, MORE_FILES } from '../../kit/http/listener.ts';
import { partsInWords } from '../../observe/file-shares.ts';
import type { Readiness } from '../../observe/gateway-state.ts';
import { failed, type Finding, ok, warning } from './finding.ts';

const LOOK_AT_LOG = 'The log of the gateway names the cause and the setting to look at.';

/** What each state but `ready` means, and what to do. */
const STATES: Record<
  Exclude<Readiness['status'], 'ready'>,
  readonly [text: string, fix: string]
> = {
  starting: [
    'The gateway is starting; it passes no packets yet.',
    'Wait some seconds. If this lasts, its log says why.',
  ],
  draining: ['The gateway is stopping.', 'Start it again, unless somebody else does.'],
  data_plane_down: [
    'The part of the gateway that passes packets has stopped; no packet passes.',
    'Restart the gateway. Its log says why it stopped.',
  ],
  database_unavailable: [
    'The database cannot be reached or written. What was in force stays in force; nothing can be changed.',
    `Start the database, repair the way to it, or free its disk. ${LOOK_AT_LOG}`,
  ],
  database_away: [
    'The database has been out of reach for longer than DATABASE_AWAY_LIMIT, so no packet passes.',
    `Start the database, or repair the way to it. ${LOOK_AT_LOG}`,
  ],
  database_read_only: [
    'The database takes no changes. Packets pass; nothing can be changed here until it does.',
    'Let DATABASE_URL or DATABASE_HOST lead to the server that takes writes, or set read_only=OFF there.',
  ],
  tun_address_missing: [
    'The TUN interface has lost an address of the gateway, and the kernel refuses to give it back: devices do not reach the gateway there.',
    'Let the kernel take it: switch IPv6 of the interface on again (sysctl net.ipv6.conf.INTERFACE.disable_ipv6=0), or give the process CAP_NET_ADMIN. Then it is put back within a second.',
  ],
  schema_newer: [
    'A later version of Postern migrated the database. This gateway obeys only what disables, deletes or ends; it changes no rule and takes no writes.',
    'Upgrade this gateway to that version; docs/guides/several-gateways.md, “Upgrading”, says how.',
  ],
};

/** What a gateway says of its own state. */
export function readiness(answer: Readiness, config: Config): Finding[] {
  const check = 'gateway';
  const found = [...lacks(answer, config), ...fewConnections(answer), ...fullShares(answer)];
  if (answer.status !== 'ready') {
    const [text, fix] = STATES[answer.status];
    const { reason } = answer;
    found.unshift(failed(check, reason === undefined ? text : `${text} (${reason})`, fix));
  }
  return found.length > 0 ? found : [ok(check, 'the gateway that runs here is ready')];
}

/** What too few open files mean for requests. */
function fewConnections({ connections_max: max }: Readiness): Finding[] {
  if (max === undefined) return [];
  return [
    warning(
      'gateway',
      `The gateway may have too few files open: it takes ${max} HTTP connections at once, not ${HTTP_LIMITS.connectionsMax}.`,
      `${MORE_FILES} Then restart the gateway.`,
    ),
  ];
}

/** Parts of the gateway that soon refuse, because all files that they may have are open. */
function fullShares({ nearly_full: parts = [] }: Readiness): Finding[] {
  return parts.map((part) =>
    warning(
      'gateway',
      `Nearly all open files for ${partsInWords[part] ?? part} are used.`,
      `Look at wg_gateway_files in /metrics, and for a device or a client that opens very many. If all are meant: ${MORE_FILES} Then restart the gateway.`,
    ),
  );
}

/** What is missing between the devices and the networks behind the gateway. */
export function lacks(
  { tun, masquerade, egress, egress_reason: reason }: Readiness,
  config: Config,
): Finding[] {
  if (egress === 'sockets') return [];
  const because = reason === undefined ? '' : ` (${reason})`;
  if (config.wireguardTun !== 'off' && tun === null)
    return [
      failed(
        'gateway',
        `The gateway has no TUN interface: devices connect, but reach nothing behind the gateway${because}.`,
        'Run “postern doctor” on the gateway’s host; it names what is missing: /dev/net/tun, or the right CAP_NET_ADMIN.',
      ),
    ];
  if (tun === null || masquerade || !wantsMasquerade(config)) return [];
  return [
    failed(
      'gateway',
      'The gateway does not masquerade (NAT): most networks send no answers to the devices.',
      'Run “postern doctor” on the gateway’s host; it names what is missing: the right CAP_NET_ADMIN, or a module of the kernel. Then restart the gateway.',
    ),
  ];
}

/** Whether devices find the gateway where their files lead them. */
export function endpoint(address: string | null): Finding {
  const check = 'endpoint';
  if (address === null || !isLoopback(hostOf(address)))
    return ok(check, `files of devices lead to ${address ?? 'no gateway by default'}`);
  return warning(
    check,
    `The endpoint of devices is ${address}. That is the device itself, so no device finds the gateway.`,
    'Set EXTERNAL_URL to the address under which devices reach this host; or set the endpoint under Settings, Client defaults.',
  );
}

/** What works and may yet not be what was meant; where devices are led, `endpoint` checks. */
export function settings(config: Config): Finding[] {
  const check = 'settings';
  const others = settingsAdvice(config).filter(({ about }) => about === 'other');
  const found = others.map(({ text }) => warning(check, text, null));
  if (!isInTheClear(config)) return found;
  const text = `API and console are served at ${config.httpHost}:${config.httpPort} without TLS: whoever is between reads passwords and tokens.`;
  const fix =
    'Set HTTP_TLS_CERT and HTTP_TLS_KEY. Or put a proxy with HTTPS in front: then set HTTP_HOST=127.0.0.1 or TRUSTED_PROXIES, and an EXTERNAL_URL with https.';
  return [warning(check, text, fix), ...found];
}

function wantsMasquerade(config: Config): boolean {
  return (
    (config.wireguardIpv4Enabled && config.wireguardIpv4Masquerade) ||
    (config.wireguardIpv6Enabled && config.wireguardIpv6Masquerade)
  );
}

/** The host of an endpoint, which may name a port. */
function hostOf(address: string): string {
  return address.replace(/^\[([^\]]*)\].*$/, '$1').replace(/^([^:]*):\d+$/, '$1');
}
