// Metrics of devices, under the names of the two exporters that people have dashboards for:
// mdlayher's wireguard_exporter and MindFlavor's prometheus_wireguard_exporter. Bytes and
// handshakes are those of this gateway since it began, from memory: the database is not asked. One
// set of labels for each device, never for a flow. A handshake that never was is absent, not 0.

import { formatAddress, type PeerTotals } from '../../../dataplane/index.ts';
import { endpointText } from '../../kit/validation/texts.ts';
import type { Watched } from '../gateway-state.ts';
import { escapeLabel, family, labelText, type MetricType, sample } from './exposition.ts';

/** A device, and what its labels are made of; of thousands, so little is kept of each. */
interface Shown {
  readonly peer: PeerTotals;
  /** Escaped. */
  readonly name: string;
  /** The addresses of the device as CIDRs; empty where it has none. */
  readonly ipv4: string;
  readonly ipv6: string;
}

/** What one family says of a device; null: nothing. */
type Value = (peer: PeerTotals, nowMs: number) => number | null;

interface Family {
  readonly name: string;
  readonly type: MetricType;
  readonly help: string;
  readonly labels: 'short' | 'long';
  readonly value: Value;
}

const handshakeSeconds: Value = ({ latestHandshakeMs }) =>
  latestHandshakeMs === null ? null : Math.floor(latestHandshakeMs / 1_000);

const families: readonly Family[] = [
  {
    name: 'wireguard_peer_receive_bytes_total',
    type: 'counter',
    help: 'Upload of a device since this gateway began, in bytes.',
    labels: 'short',
    value: ({ rxBytes }) => rxBytes,
  },
  {
    name: 'wireguard_peer_transmit_bytes_total',
    type: 'counter',
    help: 'Download of a device since this gateway began, in bytes.',
    labels: 'short',
    value: ({ txBytes }) => txBytes,
  },
  {
    name: 'wireguard_peer_last_handshake_seconds',
    type: 'gauge',
    help: 'Unix time of the last handshake of a device; absent before the first.',
    labels: 'short',
    value: handshakeSeconds,
  },
  {
    name: 'wireguard_received_bytes_total',
    type: 'counter',
    help: 'Upload of a device since this gateway began, in bytes.',
    labels: 'long',
    value: ({ rxBytes }) => rxBytes,
  },
  {
    name: 'wireguard_sent_bytes_total',
    type: 'counter',
    help: 'Download of a device since this gateway began, in bytes.',
    labels: 'long',
    value: ({ txBytes }) => txBytes,
  },
  {
    name: 'wireguard_latest_handshake_seconds',
    type: 'gauge',
    help: 'Unix time of the last handshake of a device; absent before the first.',
    labels: 'long',
    value: handshakeSeconds,
  },
  {
    name: 'wireguard_latest_handshake_delay_seconds',
    type: 'gauge',
    help: 'Seconds since the last handshake of a device; absent before the first.',
    labels: 'long',
    value: ({ latestHandshakeMs }, nowMs) =>
      latestHandshakeMs === null ? null : Math.max(0, nowMs - latestHandshakeMs) / 1_000,
  },
];

/** The families of devices, piece by piece; `tunnel` is the name of the interface. */
export function* deviceMetrics(
  { peers, deviceOf }: Pick<Watched, 'peers' | 'deviceOf'>,
  tunnel: string,
  nowMs: number,
): Generator<string> {
  // All at once: devices come and go while this is sent, and none may be shown twice.
  const all = [...peers()];
  const shown: Shown[] = [];
  yield family('wireguard_peer_info', 'gauge', 'Who a device is, and where it was heard last.');
  for (const peer of all) {
    const { publicKey, ipv4, ipv6 } = peer.config;
    const { id = '', userId = '', name = '' } = deviceOf(publicKey) ?? {};
    shown.push({
      peer,
      name: escapeLabel(name),
      ipv4: ipv4 === null ? '' : `${formatAddress(ipv4)}/32`,
      ipv6: ipv6 === null ? '' : `${formatAddress(ipv6)}/128`,
    });
    const labels = labelText({
      device: tunnel,
      public_key: publicKey,
      endpoint:
        peer.endpoint === null ? '' : endpointText(peer.endpoint.address, peer.endpoint.port),
      name,
      device_id: id,
      user_id: userId,
    });
    yield sample('wireguard_peer_info', labels, 1);
  }
  const labels = labelsOf(escapeLabel(tunnel));
  yield* addressMetrics(shown, labels.address);
  for (const { name, type, help, labels: form, value } of families) {
    yield family(name, type, help);
    for (const one of shown) {
      const number = value(one.peer, nowMs);
      if (number !== null) yield sample(name, labels[form](one), number);
    }
  }
}

/** Makers of labels, written out: keys and addresses hold nothing that is escaped. */
function labelsOf(tunnel: string) {
  const key = ({ peer }: Shown): string => peer.config.publicKey;
  return {
    short: (one: Shown): string => `{device="${tunnel}",public_key="${key(one)}"}`,
    long: (one: Shown): string => {
      const { name, ipv4, ipv6 } = one;
      const addresses = ipv4 === '' || ipv6 === '' ? ipv4 + ipv6 : `${ipv4},${ipv6}`;
      return `{interface="${tunnel}",public_key="${key(one)}",allowed_ips="${addresses}",friendly_name="${name}"}`;
    },
    address: (one: Shown, cidr: string, kind: 'IPv4' | 'IPv6'): string =>
      `{device="${tunnel}",public_key="${key(one)}",allowed_ips="${cidr}",family="${kind}"}`,
  };
}

function* addressMetrics(
  shown: readonly Shown[],
  labels: ReturnType<typeof labelsOf>['address'],
): Generator<string> {
  const name = 'wireguard_peer_allowed_ips_info';
  yield family(name, 'gauge', 'The addresses of a device inside the tunnel.');
  for (const one of shown) {
    if (one.ipv4 !== '') yield sample(name, labels(one, one.ipv4, 'IPv4'), 1);
    if (one.ipv6 !== '') yield sample(name, labels(one, one.ipv6, 'IPv6'), 1);
  }
}
