// Captures of a device with a real client, read by real tshark and dumpcap while they run: every
// packet is there once, under its place, with a comment that names what refused it.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import { isRight } from '../../dataplane/tcp/checksum.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import { readPcapng } from '../support/network/pcapng.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  LAN4,
  type Topology,
  transfer,
  TUNNEL4,
} from '../support/network/topology.ts';
import { enrol, type Person } from './people.ts';

/** Pings, and datagrams that a rule refuses. */
const PINGS = 20;
const WORKERS = 2;
const REFUSED = 30;
const REFUSED_PORT = 9;
const MAIN = resolve(import.meta.dirname, '../../lib/start/main.ts');
const ENDING = resolve(import.meta.dirname, '../support/gateway/ending-workers.ts');
const FIELDS = ['frame.interface_name', 'frame.comment', 'ip.src', 'ip.dst', 'udp.dstport'];

let topology: Topology;
let postern: Postern;
let alice: Person;
const folder = mkdtempSync(join(tmpdir(), 'postern-capture-'));
// A gateway without root removes files there, too.
chmodSync(folder, 0o777);

test.before('a gateway, and a device with a real client', async (t) => {
  t.timeout(120_000);
  topology = await buildTopology('cp');
  postern = new Postern(topology.gateway, API_ADDRESS, {
    ...WITHOUT_WARM_UP,
    NODE_OPTIONS: `--import=${ENDING}`,
    DATAPLANE_WORKERS: String(WORKERS),
    END_WORKERS: folder,
  });
  await postern.start();
  // Masquerading hides the devices from the lan: it needs a route to begin something.
  await topology.lan.ip('route', 'replace', '100.64.0.0/10', 'via', '198.51.100.1');
  alice = await enrol(postern, topology.alice, 'alice@example.test', `${GATEWAY4}:51820`, 1);
  await until('the tunnel is up', () => canPing(alice.client.host, TUNNEL4, 1), 20_000);
});

test.after.always(async () => {
  await postern?.stop();
  await topology?.network.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** A pipe of a client and a program that reads what it gets; what the program has printed. */
interface Piped {
  readonly curl: ChildProcess;
  readonly reader: ChildProcess;
  readonly lines: () => string[];
}

function capture(t: ExecutionContext, query: string, reader: string, ...args: string[]): Piped {
  const url = `${postern.api}/v0/devices/${alice.device.id}/capture?${query}`;
  const headers = ['-H', `Authorization: Bearer ${postern.token}`];
  const curl = spawn('curl', ['-sN', '--fail', ...headers, url], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const read = spawn(reader, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  t.teardown(() => {
    for (const child of [curl, read]) child.kill('SIGKILL');
  });
  curl.stdout.pipe(read.stdin);
  read.stdin.on('error', () => undefined);
  let output = '';
  read.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return { curl, reader: read, lines: () => output.split('\n').filter((line) => line !== '') };
}

function tshark(t: ExecutionContext, query: string): Piped {
  const fields = FIELDS.flatMap((field) => ['-e', field]);
  return capture(t, query, 'tshark', '-l', '-n', '-i', '-', '-T', 'fields', ...fields);
}

async function running(): Promise<number> {
  return Number(/^wg_gateway_captures_running (\d+)$/m.exec(await postern.metrics())?.[1]);
}

async function isRunning(count: number): Promise<void> {
  await until(`${count} captures run`, async () => (await running()) === count);
}

async function ping(t: ExecutionContext, count: number): Promise<void> {
  // With a deadline ping sends until it has so many replies: it sends another packet where a reply
  // is later than the next packet. So each of them has a second of its own.
  const each = `for i in $(seq ${count}); do ping -n -c 1 -w 10 ${LAN4} || exit 1; done`;
  const { stdout } = await alice.client.host.run('bash', '-c', each);
  t.is(stdout.split('1 packets transmitted, 1 received').length - 1, count, stdout);
}

/** What tshark says of packets, without their time: how often each line came. */
function counted(lines: readonly string[]): Record<string, number> {
  return Object.fromEntries(
    [...Map.groupBy(lines, (line) => line)].map(([line, all]) => [line, all.length]),
  );
}

test.serial('tshark reads every packet while it runs, and who refused it', async (t) => {
  const rule = await postern.create('rule', {
    action: 'drop',
    destination: LAN4,
    port_type: 'udp',
    port_range: String(REFUSED_PORT),
  });
  const ipv4 = String(alice.device['ipv4']);
  const { curl, lines } = tshark(t, `duration=300&destination=${LAN4}`);
  await isRunning(1);
  await ping(t, PINGS);
  const send = `for i in $(seq ${REFUSED}); do echo x > /dev/udp/${LAN4}/${REFUSED_PORT}; done`;
  await alice.client.host.run('bash', '-c', send);
  await until('all packets are read', () => lines().length >= 2 * PINGS + REFUSED);
  t.is(curl.exitCode, null, 'it still runs');
  t.deepEqual(counted(lines()), {
    [`from device\taccept; default action\t${ipv4}\t${LAN4}\t`]: PINGS,
    [`to device\taccept; default action\t${LAN4}\t${ipv4}\t`]: PINGS,
    [`refused\tdrop; rule_drop; rule ${rule.id}\t${ipv4}\t${LAN4}\t${REFUSED_PORT}`]: REFUSED,
  });
  const left = performance.now();
  curl.kill('SIGKILL');
  await isRunning(0);
  t.true(performance.now() - left < 2_000, 'the client that left ended it at once');
  await postern.remove('rule', rule.id);
});

test.serial('dumpcap writes what a capture streams, name of the device included', async (t) => {
  const file = join(folder, 'dumpcap.pcapng');
  const { curl, reader } = capture(
    t,
    `duration=3&destination=${LAN4}&payload=true`,
    'dumpcap',
    '-q',
    '-i',
    '-',
    '-w',
    file,
  );
  const ended = once(reader, 'exit');
  await isRunning(1);
  await ping(t, PINGS);
  await once(curl, 'exit');
  await ended;
  const { packets, interfaces } = readPcapng(readFileSync(file));
  t.deepEqual(
    interfaces.map(({ name }) => name),
    ['from device', 'to device', 'refused'],
  );
  t.is(packets.length, 2 * PINGS);
  for (const { length, bytes } of packets) t.is(bytes.length, length);
  const named = spawn('tshark', ['-r', file, '-N', 'n', '-T', 'fields', '-e', '_ws.col.Source']);
  let output = '';
  named.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await once(named, 'close');
  t.true(output.includes(String(alice.device['name'])), output);
});

test.serial('the command writes a file that tshark reads, and ends with Ctrl-C', async (t) => {
  const file = join(folder, 'command.pcapng');
  const words = ['capture', String(alice.device['name']), '--destination', LAN4];
  const child = spawn(process.execPath, [MAIN, ...words], {
    // Nothing is to end in the command, and without root the path is one of the gateway's user.
    env: { ...postern.environment, NODE_OPTIONS: '' },
    stdio: ['ignore', openSync(file, 'w'), 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  let notes = '';
  child.stderr!.on('data', (chunk: Buffer) => (notes += chunk.toString()));
  await isRunning(1);
  await ping(t, PINGS);
  await until(
    'all packets are there',
    () => readPcapng(readFileSync(file)).packets.length >= 2 * PINGS,
  );
  child.kill('SIGINT');
  const [status] = (await once(child, 'exit')) as [number];
  t.is(status, 0, notes);
  t.regex(notes, new RegExp(`${2 * PINGS} packets, \\d+ bytes`));
  await isRunning(0);
  const { stdout } = await topology.lan.run(
    'tshark',
    '-r',
    file,
    '-T',
    'fields',
    '-e',
    'frame.number',
  );
  t.is(stdout.trim().split('\n').length, 2 * PINGS);
});

test.serial('super-packets of TCP are captured as they are, and every byte is there', async (t) => {
  const bytes = 5_000_000;
  const file = join(folder, 'tcp.pcapng');
  const query = `duration=300&payload=true&protocol=tcp&port=6000`;
  const { curl } = capture(t, query, 'tee', file);
  await isRunning(1);
  const { sent, received } = await transfer(
    topology.lan,
    alice.client.host,
    String(alice.device['ipv4']),
    bytes,
  );
  t.is(sent['sha256'], received['sha256']);
  await until('the end is read', () => payloadOf(readFileSync(file)) >= bytes);
  curl.kill('SIGTERM');
  await isRunning(0);
  const { packets, counts } = readPcapng(readFileSync(file));
  t.true(
    packets.some(
      ({ length, comment }) => length > 10_000 && comment.includes('joined, segments of'),
    ),
  );
  t.deepEqual(
    counts.filter(({ lost }) => lost > 0),
    [],
  );
});

/** Bytes of TCP inside the packets to the device, those that were sent again left out. */
function payloadOf(file: Buffer): number {
  const seen = new Map<number, number>();
  for (const { place, bytes } of readPcapng(file).packets) {
    if (place !== 'to device') continue;
    const header = (bytes[0]! & 15) * 4;
    const start = header + (bytes[header + 12]! >> 4) * 4;
    if (bytes.length > start) seen.set(bytes.readUInt32BE(header + 4), bytes.length - start);
  }
  return [...seen.values()].reduce((sum, length) => sum + length, 0);
}

test.serial('a packet whose checksum is not complete has a comment that says so', async (t) => {
  const bytes = 2_000_000;
  const file = join(folder, 'checksums.pcapng');
  const query = `duration=300&payload=true&protocol=tcp&port=6000`;
  const { curl } = capture(t, query, 'tee', file);
  await isRunning(1);
  const { host } = alice.client;
  await transfer(topology.lan, host, String(alice.device['ipv4']), bytes);
  await transfer(host, topology.lan, LAN4, bytes);
  curl.kill('SIGTERM');
  await isRunning(0);
  const { packets } = readPcapng(readFileSync(file));
  const incomplete = packets.filter(({ bytes: packet }) => {
    const header = (packet[0]! & 15) * 4;
    const view = new DataView(packet.buffer, packet.byteOffset, packet.length);
    return !isRight(view, 0, header, packet.readUInt16BE(2) - header);
  });
  // The acknowledgements of the LAN's host, which a veth does not complete.
  t.true(incomplete.some(({ comment }) => comment.includes('checksum not complete')));
  t.deepEqual(
    incomplete.filter(({ comment }) => !/checksum not complete|joined, segments of/.test(comment)),
    [],
  );
});

test.serial('a client that reads slowly loses packets, and the tunnel loses none', async (t) => {
  const bytes = 40_000_000;
  const file = join(folder, 'slow.pcapng');
  const { curl } = capture(t, 'duration=300&payload=true', 'tee', file);
  await isRunning(1);
  curl.kill('SIGSTOP');
  const { sent, received } = await transfer(alice.client.host, topology.lan, LAN4, bytes);
  t.is(sent['sha256'], received['sha256']);
  const lost = Number(
    /^wg_gateway_capture_lost_packets_total (\d+)$/m.exec(await postern.metrics())?.[1],
  );
  t.true(lost > 1_000, `${lost} packets were lost`);
  curl.kill('SIGCONT');
  await ping(t, PINGS);
  const pings = (): number =>
    readPcapng(readFileSync(file)).packets.filter(({ bytes: packet }) => packet[9] === 1).length;
  await until('the capture goes on', () => pings() >= 2 * PINGS);
  curl.kill('SIGTERM');
  await isRunning(0);
});

test.serial('a worker that is started again captures again', async (t) => {
  const { curl, lines } = tshark(t, `duration=300&protocol=icmp`);
  await isRunning(1);
  await ping(t, PINGS);
  for (let number = 0; number < WORKERS; number++) {
    const before = postern.output.length;
    writeFileSync(join(folder, `${number}`), '');
    const again = `worker ${number} of the data plane serves again`;
    await until(again, () => postern.output.slice(before).includes(again), 20_000);
  }
  await until('the tunnel is up', () => canPing(alice.client.host, LAN4, 1), 20_000);
  const before = lines().length;
  await ping(t, PINGS);
  await until('all packets are read', () => lines().length >= before + 2 * PINGS);
  curl.kill('SIGTERM');
  await isRunning(0);
});
