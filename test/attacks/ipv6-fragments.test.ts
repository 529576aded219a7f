// A device hides the ports of a datagram from the rules: behind an extension header it lets a later
// fragment lie over the first one, or sends later fragments alone. Nothing is masqueraded, so that
// no kernel puts them together before they leave.

import test from 'ava';
import { Capture } from '../support/network/capture.ts';
import { concat, fragmentHeader, ip, udp, viewOf } from '../support/dataplane/packets.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import { RawDevice } from '../support/network/raw-device.ts';
import { API_ADDRESS, buildTopology, LAN6, Traffic } from '../support/network/topology.ts';

const OPEN_PORT = 7_403;
const CLOSED_PORT = 7_404;
const DESTINATION_OPTIONS = 60;
const UDP = 17;
const FRAGMENT = 44;
/** Eight bytes of padding, with UDP behind. */
const OPTIONS = Uint8Array.of(UDP, 0, 1, 4, 0, 0, 0, 0);
const FRAGMENTED_AT = 40;

test.serial('later IPv6 fragments get past no rule about ports', async (t) => {
  t.timeout(120_000);
  const topology = await buildTopology('sf');
  t.teardown(() => topology.network.remove());
  const settings = {
    ...WITHOUT_WARM_UP,
    WIREGUARD_TUN: 'required',
    WIREGUARD_IPV4_MASQUERADE: 'false',
    WIREGUARD_IPV6_MASQUERADE: 'false',
  };
  const postern = new Postern(topology.gateway, API_ADDRESS, settings);
  await postern.start();
  t.teardown(() => postern.stop());
  await postern.create('rule', {
    action: 'drop',
    destination: `${LAN6}/128`,
    port_type: 'udp',
    port_range: String(CLOSED_PORT),
  });
  const endpoint = { address: API_ADDRESS, port: 51_820 };
  const mallory = await RawDevice.enrol(postern, 'mallory@example.test', endpoint);
  t.teardown(() => mallory.close());
  const watch = await new Traffic(topology.lan, 'watch', OPEN_PORT, LAN6).ready();
  const capture = await new Capture(topology.lan, 'l0', '-Q', 'in', 'ip6').ready();

  const ends = { source: mallory.ipv6, destination: LAN6 };
  /** Padding, and a datagram of 24 bytes, the first four of which are a number. */
  const hidden = (destinationPort: number, number: number): Uint8Array => {
    const data = new Uint8Array(24);
    viewOf(data).setUint32(0, number);
    return concat(OPTIONS, udp({ ...ends, destinationPort, data }).subarray(FRAGMENTED_AT));
  };
  const fragment = (payload: Uint8Array, offset: number, more: boolean, id: number): Uint8Array =>
    ip({
      ...ends,
      protocol: DESTINATION_OPTIONS,
      payload,
      extensions: [fragmentHeader(offset, more, id)],
    });

  /** In two fragments that do not overlap. */
  const halves = (bytes: Uint8Array, id: number): Uint8Array[] => [
    fragment(bytes.subarray(0, 24), 0, true, id),
    fragment(bytes.subarray(24), 3, false, id),
  ];

  await mallory.send(...halves(hidden(OPEN_PORT, 1), 1));
  await watch.line((line) => line['number'] === 1);

  // The later one begins behind the padding, where the first one showed its ports.
  const [shown = new Uint8Array()] = halves(hidden(OPEN_PORT, 2), 2);
  await mallory.send(shown, fragment(hidden(CLOSED_PORT, 2).subarray(8), 1, false, 2));
  // Behind a first one that is refused, and behind none.
  await mallory.send(...halves(hidden(CLOSED_PORT, 3), 3));
  await mallory.send(fragment(hidden(CLOSED_PORT, 4).subarray(8), 1, false, 4));

  await mallory.send(...halves(hidden(OPEN_PORT, 5), 5));
  await watch.line((line) => line['number'] === 5);
  await watch.stop();
  const numbersOf = (packets: readonly Uint8Array[]): [id: number, offset: number][] =>
    packets
      .filter((packet) => packet[6] === FRAGMENT)
      .map((packet) => [
        viewOf(packet).getUint32(FRAGMENTED_AT + 4),
        viewOf(packet).getUint16(FRAGMENTED_AT + 2) >> 3,
      ]);
  // On a busy machine tcpdump reads it after the host does.
  await until('the last fragment is in the capture', () =>
    numbersOf(capture.packets()).some(([id, offset]) => id === 5 && offset === 3),
  );
  const left = numbersOf(await capture.stop());
  t.deepEqual(
    left,
    [
      [1, 0],
      [1, 3],
      [5, 0],
      [5, 3],
    ],
    'by identification and offset',
  );
  await until('all that was refused is counted', () => {
    const { inner_fragment_unsafe: unsafe, rule_drop: dropped } = postern.drops();
    return unsafe === 1 && dropped === 1;
  });
});
