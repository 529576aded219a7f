// Translates rows, one by one: a device becomes a peer, a rule of the database becomes rules of the
// filter, a user's sign-in becomes the end of a VPN session. A bad row never widens access and
// never blocks another row: a bad device is absent, a bad accept is ignored, a bad drop drops the
// widest that it could mean.

import ipaddr from 'ipaddr.js';
import {
  type NetworkConfig,
  type NetworkRange,
  parseAddress,
  type PeerConfig,
  type RuleConfig,
} from '../../dataplane/index.ts';
import {
  countsFrom,
  limit,
  type ObeyedDevice,
  type ObeyedRule,
  type ObeyedUser,
} from '../../models/index.ts';
import { isKey, KEY_BYTES } from '../kit/validation/keys.ts';
import { isInside } from '../kit/validation/networks.ts';
import type { FixedSettings } from '../kit/records/effective-configuration.ts';
import type { RowSettings } from './read.ts';

/** Settings that decide what rows mean. */
export interface TranslateSettings {
  readonly ipv4: NetworkConfig | null;
  readonly ipv6: NetworkConfig | null;
  /** Whether a user who never signed in counts as expired when sessions end. */
  readonly requireSignIn: boolean;
  /** This gateway. After a restart it initiates handshakes only with devices that it heard last. */
  readonly gatewayId: string;
  /** What the environment fixes of the configuration, instead of what its row says. */
  readonly fixed: FixedSettings;
}

/** A session duration that never ends, as 0 does. */
export const FOREVER_SECONDS = 2_147_483_647;
const PORT_MAX = 65_535;
/** What the API takes as a device's MTU; the lower end is what every IPv4 host takes. */
const MTU_MIN = 576;
const MTU_MAX = 1_500;

// ---- users ---------------------------------------------------------------------------------

/** When a user's devices are served: Unix ms, `fromMs` included, `untilMs` not. */
export interface VpnSessionTime {
  /** A sign-in that lies too far ahead begins to count here. */
  readonly fromMs: number;
  readonly untilMs: number;
}

/** The time of a user who is not served. */
export const NEVER: VpnSessionTime = {
  fromMs: Number.NEGATIVE_INFINITY,
  untilMs: Number.NEGATIVE_INFINITY,
};
const ALWAYS: VpnSessionTime = { ...NEVER, untilMs: Number.POSITIVE_INFINITY };

/** True while devices are served. */
export function isIn({ fromMs, untilMs }: VpnSessionTime, nowMs: number): boolean {
  return fromMs <= nowMs && nowMs < untilMs;
}

/** When a user's devices are served; never for one who is disabled. */
export function vpnSessionTime(
  user: Pick<ObeyedUser, 'disabled_at' | 'last_signed_in_at'>,
  durationSeconds: number,
  requireSignIn: boolean,
): VpnSessionTime {
  const { disabled_at: disabledAt, last_signed_in_at: signedInAt } = user;
  if (disabledAt !== null) return NEVER;
  if (durationSeconds === 0 || durationSeconds === FOREVER_SECONDS) return ALWAYS;
  if (signedInAt === null) return requireSignIn ? NEVER : ALWAYS;
  const durationMs = durationSeconds * 1_000;
  return {
    fromMs: countsFrom(signedInAt, durationMs),
    untilMs: signedInAt.getTime() + durationMs,
  };
}

// ---- devices -------------------------------------------------------------------------------

/** Why a row cannot be obeyed. */
export interface Refusal {
  readonly message: string;
}

/** Until when a device is served whose owner is (Unix ms); the past for one switched off. */
export function deviceEnd({
  disabled_at,
  expires_at,
}: Pick<ObeyedDevice, 'disabled_at' | 'expires_at'>): number {
  if (disabled_at !== null) return Number.NEGATIVE_INFINITY;
  return expires_at?.getTime() ?? Number.POSITIVE_INFINITY;
}

/** The peer that a device is, whoever owns it; without the default MTU, where it has that. */
export function translateDevice(
  device: ObeyedDevice,
  settings: TranslateSettings,
): PeerConfig | Refusal {
  if (!isKey(device.public_key)) return { message: 'its public key is not 32 bytes in base64' };
  if (device.preshared_key === null) return { message: 'its preshared key does not open' };
  const presharedKey = new Uint8Array(Buffer.from(device.preshared_key, 'base64'));
  if (presharedKey.length !== KEY_BYTES)
    return { message: 'its preshared key is not 32 bytes in base64' };
  const { ipv4, ipv6, routes } = placesOf(device, settings);
  if (ipv4 === null && ipv6 === null)
    return { message: 'it has no address inside the networks of the gateway' };
  const mtu = device.use_default_mtu ? null : checkedMtu(device.mtu);
  return {
    publicKey: device.public_key,
    presharedKey,
    ipv4,
    ipv6,
    scope: device.user_id,
    ...(routes.length === 0 ? {} : { routes }),
    ...(mtu === null ? {} : { mtu }),
    resume: resumeOf(device, settings.gatewayId),
  };
}

/** The addresses of a device, and the networks behind it. */
export function placesOf(
  device: Pick<ObeyedDevice, 'ipv4' | 'ipv6' | 'routes'>,
  settings: Pick<TranslateSettings, 'ipv4' | 'ipv6'>,
): Pick<PeerConfig, 'ipv4' | 'ipv6'> & { readonly routes: readonly NetworkRange[] } {
  return {
    ipv4: addressIn(device.ipv4, settings.ipv4),
    ipv6: addressIn(device.ipv6, settings.ipv6),
    routes: routesOf(device.routes ?? [], settings),
  };
}

/**
 * Networks behind a device, of the IP versions of the tunnel. One that meets a tunnel network would
 * take the packets of other devices: it is ignored.
 */
function routesOf(
  texts: readonly string[],
  { ipv4, ipv6 }: Pick<TranslateSettings, 'ipv4' | 'ipv6'>,
): NetworkRange[] {
  const routes: NetworkRange[] = [];
  for (const text of texts) {
    const read = parseDestination(text);
    if (read === null || read.prefixBits === 0) continue;
    const own = read.address.length === 4 ? ipv4 : ipv6;
    const range = {
      network: maskedBytes(read.address, read.prefixBits),
      prefixBits: read.prefixBits,
    };
    if (own !== null && !isInside(own.network, range) && !isInside(range.network, own))
      routes.push(range);
  }
  return routes;
}

/** An address without its host bits. */
function maskedBytes(address: Uint8Array, prefixBits: number): Uint8Array {
  return address.map((byte, i) => {
    const bits = Math.min(Math.max(prefixBits - 8 * i, 0), 8);
    return byte & (0xff << (8 - bits));
  });
}

/** The bytes of an address that lies in a network; null where it does not, or there is none. */
export function addressIn(text: string | null, network: NetworkConfig | null): Uint8Array | null {
  if (text === null || network === null) return null;
  const address = parseAddress(text);
  return address !== null && isInside(address, network) ? address : null;
}

/** The MTU of devices without one of their own; the tunnel may take less. */
export function defaultMtu({ default_client_mtu }: RowSettings): number {
  return checkedMtu(default_client_mtu) ?? MTU_MAX;
}

/** Limits of a device or of a user; null: somebody else says it. */
export type RowLimits = Pick<ObeyedDevice & ObeyedUser, 'limit_down' | 'limit_up'>;

/** The limits that a device has: its own, else those of its owner, else those of all. */
export function peerLimits(
  device: RowLimits,
  owner: RowLimits | null,
  ofAll: Pick<RowSettings, 'default_limit_down' | 'default_limit_up'>,
): Pick<PeerConfig, 'limitDown' | 'limitUp'> {
  const down = device.limit_down ?? owner?.limit_down ?? ofAll.default_limit_down;
  const up = device.limit_up ?? owner?.limit_up ?? ofAll.default_limit_up;
  return {
    ...(down === null ? {} : { limitDown: boundedLimit(down) }),
    ...(up === null ? {} : { limitUp: boundedLimit(up) }),
  };
}

/** What no request could have sent is the nearest that one could. */
function boundedLimit(value: number): number {
  return Math.min(Math.max(value, limit.min), limit.max);
}

/** Null where there is none, or one that no interface can have. */
function checkedMtu(mtu: number | null): number | null {
  return mtu !== null && Number.isInteger(mtu) && mtu >= MTU_MIN && mtu <= MTU_MAX ? mtu : null;
}

/**
 * Where the device was heard last, so that the gateway can initiate a handshake with it after a
 * restart. Null for a device that another gateway heard last: a handshake would take it from there.
 */
export function resumeOf(device: ObeyedDevice, gatewayId: string): PeerConfig['resume'] {
  const { latest_handshake, remote_ip, remote_port, own_ip } = device;
  if (device.gateway_id !== gatewayId) return null;
  if (latest_handshake === null || remote_ip === null || remote_port === null) return null;
  return {
    endpoint: { address: remote_ip, port: remote_port },
    local: own_ip,
    heardAtMs: latest_handshake.getTime(),
  };
}

// ---- rules ---------------------------------------------------------------------------------

/** The rules that a row means: none, one, or one for each family. */
export interface TranslatedRule {
  readonly rules: readonly RuleConfig[];
  /** Why it cannot be obeyed as it is; null where it can. */
  readonly message: string | null;
}

/** When a rule decides, in Unix ms: from `startMs` on and before `endMs`. */
export interface RuleTimes {
  readonly startMs: number;
  readonly endMs: number;
}

/** When a rule decides; infinite where it has no start or no end. */
export function ruleTimes({
  starts_at,
  ends_at,
}: Pick<ObeyedRule, 'starts_at' | 'ends_at'>): RuleTimes {
  return {
    startMs: starts_at?.getTime() ?? Number.NEGATIVE_INFINITY,
    endMs: ends_at?.getTime() ?? Number.POSITIVE_INFINITY,
  };
}

/** Whether a rule has time at a moment (Unix ms). */
export function hasTime({ startMs, endMs }: RuleTimes, atMs: number): boolean {
  return startMs <= atMs && atMs < endMs;
}

/** The rules that a row means at a moment (Unix ms); a staged one means none. */
export function rulesAt(row: ObeyedRule, atMs: number): readonly RuleConfig[] {
  return row.enforced && hasTime(ruleTimes(row), atMs) ? translateRule(row).rules : [];
}

/** What a rule means while it has time. */
export function translateRule(row: ObeyedRule): TranslatedRule {
  if (!row.enabled) return { rules: [], message: null };
  const destination = parseDestination(row.destination);
  const traffic = trafficOf(row);
  const isDrop = row.action !== 'accept';
  const base = { id: row.id, action: isDrop ? 'drop' : 'accept' } as const;
  if (destination === null || traffic === null) {
    const message =
      destination === null
        ? 'its destination is no address and no CIDR'
        : 'its protocol is not icmp, and its ports are not a range of tcp or udp ports';
    const widest = destination === null ? EVERYWHERE : [destination];
    return {
      rules: isDrop ? widest.map((to) => ({ ...base, ...to, ...ALL_TRAFFIC })) : [],
      message,
    };
  }
  return { rules: [{ ...base, ...destination, ...traffic }], message: null };
}

type Traffic = Pick<RuleConfig, 'portType' | 'portFirst' | 'portLast'>;

const ALL_TRAFFIC: Traffic = { portType: null, portFirst: 0, portLast: 0 };

/** Protocol and ports of a rule; null where they cannot be read. */
function trafficOf({ protocol, port_type, port_start, port_end }: ObeyedRule): Traffic | null {
  if (protocol !== null)
    return protocol === 'icmp' && port_type === null ? { ...ALL_TRAFFIC, portType: 'icmp' } : null;
  if (port_type === null) return ALL_TRAFFIC;
  if (port_type !== 'tcp' && port_type !== 'udp') return null;
  if (!isPort(port_start) || !isPort(port_end) || port_start > port_end) return null;
  return { portType: port_type, portFirst: port_start, portLast: port_end };
}

interface Destination {
  readonly address: Uint8Array;
  readonly prefixBits: number;
}

const EVERYWHERE: readonly Destination[] = [
  { address: new Uint8Array(4), prefixBits: 0 },
  { address: new Uint8Array(16), prefixBits: 0 },
];

function parseDestination(text: string): Destination | null {
  try {
    // The family first: ipaddr.js would try both, by exceptions, which cost more than parsing.
    const family = text.includes(':') ? ipaddr.IPv6 : ipaddr.IPv4;
    const [address, prefixBits] = text.includes('/')
      ? family.parseCIDR(text)
      : withWholePrefix(family.parse(text));
    return { address: new Uint8Array(address.toByteArray()), prefixBits };
  } catch {
    return null;
  }
}

function withWholePrefix(address: ipaddr.IPv4 | ipaddr.IPv6): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

function isPort(value: number | null): value is number {
  return value !== null && Number.isInteger(value) && value >= 0 && value <= PORT_MAX;
}
