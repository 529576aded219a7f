// The flow log with real clients. Debian's nfcapd and nfdump count every datagram and byte that was
// sent; what became of each flow, and how many packets a rule refused, is in what the collector was
// sent; with one worker and with two.

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { command, stop } from '../support/network/namespaces.ts';
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
  type Topology,
  transfer,
  TUNNEL4,
} from '../support/network/topology.ts';
import { IpfixDecoder } from '../support/observe/decode-ipfix.ts';
import { enrol, type Person } from './people.ts';

const COLLECTOR_PORT = 4_739;
const DATAGRAMS = 200;
const PAYLOAD = 400;
const REFUSED = 30;
const REFUSED_PORT = 9;
const OPEN_PORT = 9_000;
const TCP_BYTES = 3_000_000;

let topology: Topology;
const folder = mkdtempSync(join(tmpdir(), 'postern-flow-log-'));

test.before('a network', async () => {
  topology = await buildTopology('fl');
});

test.after.always(async () => {
  await topology?.network.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** A record as nfdump prints it. */
interface Seen {
  readonly from: string;
  readonly to: string;
  readonly port: number;
  readonly protocol: number;
  readonly packets: number;
  readonly bytes: number;
}

async function seenIn(where: string): Promise<Seen[]> {
  const { stdout } = await command(
    'nfdump',
    '-q',
    '-N',
    '-6',
    '-R',
    where,
    '-o',
    'fmt:%sa|%da|%sp|%dp|%pr|%ipkt|%ibyt',
  );
  return stdout
    .split('\n')
    .filter((line) => line.includes('|'))
    .map((line) => line.split('|').map((part) => part.trim()))
    .map(([from = '', to = '', , port, protocol, packets, bytes]) => ({
      from,
      to,
      port: Number(port),
      protocol: Number(protocol),
      packets: Number(packets),
      bytes: Number(bytes),
    }));
}

function sum(records: readonly Seen[]): { packets: number; bytes: number } {
  return {
    packets: records.reduce((all, { packets }) => all + packets, 0),
    bytes: records.reduce((all, { bytes }) => all + bytes, 0),
  };
}

/** Sends datagrams with so many bytes of payload each, slowly enough that none is lost. */
async function sendUdp(person: Person, to: string, port: number, count: number): Promise<void> {
  const family = to.includes(':') ? 'AF_INET6' : 'AF_INET';
  const program = `
import socket, time
s = socket.socket(socket.${family}, socket.SOCK_DGRAM)
for i in range(${count}):
    s.sendto(b'x' * ${PAYLOAD}, ('${to}', ${port}))
    time.sleep(0.001)`;
  await person.client.host.run('python3', '-c', program);
}

async function metric(postern: Postern, name: string): Promise<number> {
  const escaped = name.replaceAll(/[{}]/g, String.raw`\$&`);
  return Number(new RegExp(`^${escaped} (\\d+)$`, 'm').exec(await postern.metrics())?.[1]);
}

async function collect(t: ExecutionContext, workers: number): Promise<void> {
  const where = mkdtempSync(join(folder, 'flows-'));
  const options = ['-w', where, '-p', String(COLLECTOR_PORT), '-t', '60', '-b', LAN4];
  const collector = topology.lan.start('nfcapd', options);
  const file = join(where, '..', `workers-${workers}.pcap`);
  const filter = `udp port ${COLLECTOR_PORT}`;
  const sniffing = ['--immediate-mode', '-U', '-i', 'l0', '-w', file, filter];
  const sniffer = topology.lan.start('tcpdump', sniffing);
  if (sniffer.stderr !== null) await once(sniffer.stderr, 'data');
  const postern = new Postern(topology.gateway, API_ADDRESS, {
    ...WITHOUT_WARM_UP,
    DATAPLANE_WORKERS: String(workers),
    FLOW_LOG: `ipfix://${LAN4}:${COLLECTOR_PORT}`,
  });
  t.teardown(async () => {
    await postern.stop();
    for (const child of [collector, sniffer]) if (child.exitCode === null) await stop(child);
  });
  await postern.start();
  const people = [
    await enrol(postern, topology.alice, 'alice@example.test', `${GATEWAY4}:51820`, 1),
    await enrol(postern, topology.bob, 'bob@example.test', `${GATEWAY4_BOB}:51820`, 1),
  ];
  t.teardown(async () => {
    for (const { client } of people) await client.stop();
  });
  const drop = { action: 'drop', port_type: 'udp', port_range: String(REFUSED_PORT) };
  await postern.create('rule', { ...drop, destination: LAN4 });
  for (const { client } of people)
    await until('the tunnel is up', () => canPing(client.host, TUNNEL4, 1), 20_000);
  for (const person of people) {
    for (const to of [LAN4, LAN6]) await sendUdp(person, to, OPEN_PORT, DATAGRAMS);
    await sendUdp(person, LAN4, REFUSED_PORT, REFUSED);
    await transfer(person.client.host, topology.lan, LAN4, TCP_BYTES);
  }
  // The flows of one end with the device, those of the other with the gateway.
  await postern.remove('device', people[0]!.device.id);
  const flows = await flowsOnceNoted(postern, String(people[0]!.device['ipv4']));
  for (const reason of ['ring_full', 'device_share', 'unsent'])
    t.is(await metric(postern, `wg_gateway_flow_log_lost_total{reason="${reason}"}`), 0, reason);
  await postern.stop();
  const exited = once(collector, 'exit');
  // What was sent is in the socket of the collector by then.
  await new Promise((resolve) => setTimeout(resolve, 500));
  collector.kill('SIGTERM');
  await exited;
  const records = await seenIn(where);
  await stop(sniffer);
  const sent = await recordsIn(t, file);
  t.log(`${records.length} records at nfcapd, ${sent.length} were sent`);
  t.is(records.length, sent.length);
  const count = (event: string): number => sent.filter((one) => one.get(233) === event).length;
  t.is(count(OPENED), flows.length);
  // Each side of a flow that sent something is a record of its own.
  t.is(count(ENDED), flows.length + flows.filter((flow) => flow.reply_packets > 0).length);
  for (const { device } of people) {
    const ipv4 = String(device['ipv4']);
    const ipv6 = String(device['ipv6']);
    const of = (address: string, port: number): Seen[] =>
      records.filter((one) => one.from === address && one.port === port);
    const datagrams = (header: number) => ({
      packets: DATAGRAMS,
      bytes: DATAGRAMS * (PAYLOAD + header),
    });
    t.deepEqual(sum(of(ipv4, OPEN_PORT)), datagrams(28));
    t.deepEqual(sum(of(ipv6, OPEN_PORT)), datagrams(48));
    t.true(of(ipv4, REFUSED_PORT).length > 0);
    t.deepEqual(sum(of(ipv4, REFUSED_PORT)), { packets: 0, bytes: 0 }, 'nothing was carried');
    const denied = sent.filter(
      (one) => one.get(8) === digits(ipv4) && Number(`0x${one.get(11)}`) === REFUSED_PORT,
    );
    t.true(denied.every((one) => one.get(233) === DENIED));
    const total = (element: number): number =>
      denied.reduce((all, one) => all + Number(`0x${one.get(element)}`), 0);
    t.is(total(133), REFUSED);
    t.is(total(132), REFUSED * (PAYLOAD + 28));
    const tcp = sum(of(ipv4, 6_000));
    t.true(tcp.bytes > TCP_BYTES + 40 * tcp.packets - 1, JSON.stringify(tcp));
    const found = flows.filter(({ source, port }) => source === ipv4 && port === 6_000);
    t.deepEqual(
      found.map(({ sent_packets: packets, sent_bytes: bytes }) => ({ packets, bytes })),
      [tcp],
    );
    const back = records.filter(({ to }) => to === ipv4);
    t.true(
      back.some(({ packets }) => packets === found[0]!.reply_packets),
      'the other way',
    );
  }
}

/** Values of firewallEvent. */
const OPENED = '01';
const ENDED = '02';
const DENIED = '03';

/** The records of a capture of what came to the collector, read by RFC 7011 alone. */
async function recordsIn(
  t: ExecutionContext,
  file: string,
): Promise<ReadonlyMap<number, string>[]> {
  const decoded = ['-d', `udp.port==${COLLECTOR_PORT},cflow`, '-r', file];
  const { stdout } = await command('tshark', '-n', ...decoded, '-T', 'fields', '-e', 'udp.payload');
  const malformed = await command('tshark', '-n', ...decoded, '-Y', '_ws.malformed');
  t.is(malformed.stdout, '', 'tshark reads all of it');
  const decoder = new IpfixDecoder();
  const payloads = stdout.split('\n').filter((line) => line !== '');
  return payloads.flatMap((line) => decoder.read(Buffer.from(line, 'hex')).records);
}

/** An IPv4 address as digits. */
function digits(ipv4: string): string {
  return Buffer.from(ipv4.split('.').map(Number)).toString('hex');
}

interface Listed {
  readonly source: string;
  readonly port: number;
  readonly sent_packets: number;
  readonly sent_bytes: number;
  readonly reply_packets: number;
}

async function listed(postern: Postern, what: 'flows' | 'ended_flows'): Promise<Listed[]> {
  const response = await fetch(`${postern.api}/v0/${what}?limit=1000`, {
    headers: { authorization: `Bearer ${postern.token}` },
  });
  return ((await response.json()) as { data: Listed[] }).data;
}

/** All flows, once it is noted that those of an address have ended. */
async function flowsOnceNoted(postern: Postern, removed: string): Promise<Listed[]> {
  let all: Listed[] = [];
  const isNoted = async (): Promise<boolean> => {
    const alive = await listed(postern, 'flows');
    all = [...(await listed(postern, 'ended_flows')), ...alive];
    const isAlive = alive.some(({ source }) => source === removed);
    const opened = await metric(postern, 'wg_gateway_flow_log_records_total{event="opened"}');
    return !isAlive && alive.length > 0 && all.length === opened;
  };
  await until('the ends of one device are noted', isNoted, 30_000);
  return all;
}

for (const workers of [1, 2])
  test.serial(`workers: ${workers}: nfdump counts what was sent, and what was refused`, (t) => {
    t.timeout(240_000);
    return collect(t, workers);
  });
