// The row of a device has a smaller MTU than the TUN, and the interface of the device was left at
// the MTU of the TUN. Both ends of a TCP connection get a segment size that fits the row, whoever
// opens it, over IPv4 and IPv6. Senders of larger packets that may not be fragmented get the MTU
// that fits. docs/packets.md#segmenting.

import type { ChildProcess } from 'node:child_process';
import test, { type ExecutionContext } from 'ava';
import { listens } from '../support/network/capture.ts';
import { type Host, type Output, stop } from '../support/network/namespaces.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  GATEWAY4_BOB,
  LAN4,
  LAN6,
  transfer,
  TUNNEL4,
  TUNNEL6,
} from '../support/network/topology.ts';
import { enrol, type Person } from './people.ts';

const TUN_MTU = 1_420;
/** The segment size that the lan offers on an Ethernet of 1,500 bytes. */
const LAN_MTU = 1_500;
const BYTES = 5_000_000;
const HEADERS4 = 20 + 20;
const HEADERS6 = 40 + 20;
/** First and second segment of every connection. */
const SYN = '(tcp[tcpflags] & tcp-syn != 0) or (ip6 and ip6[6] = 6 and ip6[53] & 2 != 0)';

/** Reads every SYN and SYN-ACK that passes an interface. */
class Synchronisations {
  readonly #tcpdump: ChildProcess;
  #text = '';

  constructor(host: Host, name: string) {
    const options = ['-i', name, '-nn', '-v', '-l', '--immediate-mode', '-Z', 'root'];
    this.#tcpdump = host.start('tcpdump', [...options, SYN]);
  }

  async ready(): Promise<this> {
    this.#tcpdump.stdout?.on('data', (chunk: Buffer) => (this.#text += chunk.toString()));
    await listens(this.#tcpdump);
    return this;
  }

  /** The MSS of each so far, by its flags: S, or S. with an acknowledgement. */
  seen(): Map<string, number> {
    const found = this.#text.matchAll(/Flags \[(S\.?)\], .*?\[mss (\d+)/g);
    return new Map([...found].map(([, flags, mss]) => [flags!, Number(mss)]));
  }

  /** What tcpdump says of the checksums of those with such flags. */
  checksums(flags: string): string[] {
    const found = this.#text.matchAll(/Flags \[(S\.?)\], cksum \w+ \((\w+)/g);
    return [...found].filter((match) => match[1] === flags).map((match) => match[2]!);
  }

  stop(): Promise<void> {
    return stop(this.#tcpdump);
  }
}

/** What is checked of a connection: who opens it, where the other end is, and the MSS that fits. */
interface Case {
  readonly isUp: boolean;
  readonly to: string;
  readonly mtu: number;
}

/** Moves bytes over a connection, and reads its first segments at both ends. */
async function connection(
  t: ExecutionContext,
  lan: Host,
  { client }: Person,
  { isUp, to, mtu }: Case,
): Promise<void> {
  const [from, at] = isUp ? [client.host, lan] : [lan, client.host];
  const [near, far] = await Promise.all([
    new Synchronisations(from, isUp ? client.interfaceName : 'l0').ready(),
    new Synchronisations(at, isUp ? 'l0' : client.interfaceName).ready(),
  ]);
  const { sent, received } = await transfer(from, at, to, BYTES);
  const says = `${to}, ${mtu}`;
  t.deepEqual(received, { bytes: BYTES, sha256: sent['sha256'] }, says);
  await until('both are seen', () => near.seen().size === 2 && far.seen().size === 2, 5_000);
  const headers = to.includes(':') ? HEADERS6 : HEADERS4;
  const [asked, answered] = isUp ? [TUN_MTU, LAN_MTU] : [LAN_MTU, TUN_MTU];
  t.deepEqual(
    {
      syn: [near.seen().get('S'), far.seen().get('S')],
      ack: [far.seen().get('S.'), near.seen().get('S.')],
    },
    { syn: [asked - headers, mtu - headers], ack: [answered - headers, mtu - headers] },
    `as it was sent, and as it arrived: ${says}`,
  );
  t.deepEqual([...new Set([...far.checksums('S'), ...near.checksums('S.')])], ['correct'], says);
  await Promise.all([near.stop(), far.stop()]);
}

/** Two devices whose own interfaces have the MTU of the TUN, and a lan with a route to them. */
interface Scene {
  readonly postern: Postern;
  readonly lan: Host;
  readonly narrow: Person;
  readonly wide: Person;
}

async function begin(t: ExecutionContext): Promise<Scene> {
  const { network, alice, bob, gateway, lan } = await buildTopology('dm');
  t.teardown(() => network.remove());
  const postern = new Postern(gateway, API_ADDRESS, {
    ...WITHOUT_WARM_UP,
    WIREGUARD_TUN: 'required',
    WIREGUARD_MTU: String(TUN_MTU),
  });
  await postern.start();
  t.teardown(() => postern.stop());
  // Devices are masqueraded, and the lan opens connections to them too.
  await lan.ip('route', 'add', '100.64.0.0/10', 'via', '198.51.100.1');
  await lan.ip('-6', 'route', 'add', 'fd00::/106', 'via', '2001:db8:2::1');
  const narrow = await enrol(postern, alice, 'alice@example.test', `${GATEWAY4}:51820`);
  const wide = await enrol(postern, bob, 'bob@example.test', `${GATEWAY4_BOB}:51820`);
  for (const { client } of [narrow, wide])
    await client.host.ip('link', 'set', client.interfaceName, 'mtu', String(TUN_MTU));
  return { postern, lan, narrow, wide };
}

function setMtu(postern: Postern, { device }: Person, mtu: number): Promise<unknown> {
  return postern.update('device', device.id, { use_default_mtu: false, mtu });
}

test.serial('no segment is larger than a device takes, whoever opens the connection', async (t) => {
  t.timeout(180_000);
  const { postern, lan, narrow, wide } = await begin(t);
  for (const [person, mtu] of [
    [narrow, 1_280],
    [narrow, 1_380],
    // No more than that of the TUN.
    [narrow, 1_500],
    [wide, TUN_MTU],
  ] as const) {
    if (person === narrow) await setMtu(postern, narrow, mtu);
    t.true(await canPing(person.client.host, LAN4));
    const { ipv4, ipv6 } = person.device;
    for (const [isUp, to] of [
      [true, LAN4],
      [true, LAN6],
      [false, String(ipv4)],
      [false, String(ipv6)],
    ] as const)
      await connection(t, lan, person, { isUp, to, mtu: Math.min(mtu, TUN_MTU) });
  }
});

// ---- packets that are too big ------------------------------------------------------------------

/** The output of ping after one packet of so many bytes, headers included, not to be fragmented. */
async function ping(host: Host, to: string, bytes: number): Promise<string> {
  const data = bytes - (to.includes(':') ? 40 : 20) - 8;
  const options = ['-n', '-c', '1', '-W', '3', '-M', 'do', '-s', String(data)];
  // It fails if there was no answer.
  const { stdout } = await host.run('ping', ...options, to).catch((error: Output) => error);
  return stdout;
}

/** The MTU that a host has learnt for a destination; null if it has learnt none. */
async function learntMtu(host: Host, to: string): Promise<number | null> {
  const { stdout } = await host.run('ip', to.includes(':') ? '-6' : '-4', 'route', 'get', to);
  const mtu = / mtu (\d+)/.exec(stdout)?.[1];
  return mtu === undefined ? null : Number(mtu);
}

test.serial(
  'a sender of packets that are too large for a device gets the MTU that fits',
  async (t) => {
    t.timeout(120_000);
    const { postern, lan, narrow, wide } = await begin(t);
    const mtu = 1_280;
    for (const { client } of [narrow, wide]) t.true(await canPing(client.host, LAN4));
    for (const to of [String(narrow.device['ipv4']), String(narrow.device['ipv6'])]) {
      const isIpv4 = !to.includes(':');
      // The host gets it from the device itself, a device from the gateway.
      for (const [title, host, from, big] of [
        ['the lan', lan, to, mtu + 1],
        ['a device', wide.client.host, isIpv4 ? TUNNEL4 : TUNNEL6, TUN_MTU],
      ] as const) {
        const says = `${title} to ${to}`;
        await setMtu(postern, narrow, TUN_MTU);
        t.regex(await ping(host, to, big), / 1 received/, `${says}: the larger MTU carries it`);
        t.is(await learntMtu(host, to), null, says);
        await setMtu(postern, narrow, mtu);
        const heard = isIpv4
          ? `Frag needed and DF set (mtu = ${mtu})`
          : `Packet too big: mtu=${mtu}`;
        const text = await ping(host, to, big);
        t.true(text.includes(`From ${from} icmp_seq=1 ${heard}`), `${says}: ${text}`);
        t.is(await learntMtu(host, to), mtu, says);
        t.regex(await ping(host, to, mtu), / 1 received/, `${says}: what fits is answered`);
      }
    }
  },
);
