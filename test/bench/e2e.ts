// Compares gateways: `npm run bench:e2e [-- --rounds N --seconds S --no-offload --rules N --both
// --record]`.
//
// TCP through a gateway, each way, with one and four streams: Postern and Debian's wireguard-go in
// turn, the same wireguard-go as the client of both. Namespaces as in the end-to-end tests:
//
//   client 192.0.2.2 --veth(1500)-- 192.0.2.1 gateway 198.51.100.1 --veth(1500)-- 198.51.100.2 lan
//
// Throughput wanders with the machine; CPU seconds of the gateway process per gigabyte is the
// steadier figure, and the ratio of two gateways in one run the one to quote. WIREGUARD_GO names
// another binary, for the client and for the gateway that is compared. With `--rules` Postern is
// compared with itself: that many rules, for other destinations, against none. With `--both` the
// client is what the gateway is: the client is not what bounds it then.

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { cpus, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connectDatabase, migrate } from '../../models/index.ts';
import { addManyRules } from '../support/database/many-devices.ts';
import { type Host, Network } from '../support/network/namespaces.ts';
import { cpuSecondsOf, Postern } from '../support/gateway/postern.ts';
import { canPing } from '../support/network/topology.ts';
import { type KeyPair, makeKeyPair, WireguardClient } from '../support/network/wireguard-client.ts';
import { keepResult } from './results.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
    'no-offload': { type: 'boolean', default: false },
    rules: { type: 'string', default: '0' },
    both: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const MTU = 1420;
const LAN = '198.51.100.2';
const ENDPOINT = '192.0.2.1:51820';
const API = '10.255.78.2';
const WIREGUARD_GO = process.env['WIREGUARD_GO'] ?? 'wireguard-go';

/** One measurement. */
interface Figure {
  readonly gbitPerSecond: number;
  readonly cpuSecondsPerGb: number;
}

const cases: readonly [name: string, args: readonly string[]][] = [
  ['up, 1 stream', []],
  ['down, 1 stream', ['-R']],
  ['up, 4 streams', ['-P', '4']],
  ['down, 4 streams', ['-P', '4', '-R']],
];

/** A gateway under test: its process, and how a client reaches it. */
interface Gateway {
  readonly pid: number;
  readonly serverPublicKey: string;
  readonly presharedKey: string;
}

type StartGateway = (host: Host, clientPublicKey: string) => Promise<Gateway>;
type StartClient = (host: Host, keys: KeyPair, gateway: Gateway) => Promise<void>;

const ruleCount = Number(values.rules);
const gateways: Record<string, [StartGateway, StartClient]> = values.both
  ? {
      'postern at both ends': [startPostern, startPosternClient],
      'wireguard-go at both ends': [startWireguardGo, startWireguardGoClient],
    }
  : ruleCount === 0
    ? {
        postern: [startPostern, startWireguardGoClient],
        'wireguard-go': [startWireguardGo, startWireguardGoClient],
      }
    : {
        [`postern, ${ruleCount} rules`]: [
          (host, key) => startPostern(host, key, ruleCount),
          startWireguardGoClient,
        ],
        'postern, none': [startPostern, startWireguardGoClient],
      };

const CLIENT_INTERFACE = 'client0';
const CLIENT_ADDRESS = '100.64.0.2';
const NO_PRESHARED_KEY = Buffer.alloc(32).toString('base64');

async function startPostern(host: Host, clientPublicKey: string, rules = 0): Promise<Gateway> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-bench-'));
  const place = { url: `sqlite:${folder}/bench.sqlite`, encryptionKey: randomBytes(32) };
  const database = await connectDatabase(place);
  await migrate(database);
  await addManyRules(database, rules);
  await database.close();
  const postern = new Postern(host, API, {
    WIREGUARD_MTU: String(MTU),
    // wireguard-go translates no addresses either: the lan knows the way to devices.
    WIREGUARD_IPV4_MASQUERADE: 'false',
    WIREGUARD_IPV6_MASQUERADE: 'false',
    LOG_LEVEL: 'warn',
    DATABASE_URL: place.url,
    DATABASE_ENCRYPTION_KEY: place.encryptionKey.toString('base64'),
  });
  await postern.start();
  const user = await postern.create('user', { email: 'bench@example.test' });
  const device = await postern.create('device', {
    user_id: user.id,
    public_key: clientPublicKey,
    ipv4: CLIENT_ADDRESS,
    preshared_key: NO_PRESHARED_KEY,
  });
  return {
    pid: postern.pid,
    serverPublicKey: String(device['server_public_key']),
    presharedKey: NO_PRESHARED_KEY,
  };
}

async function startWireguardGo(host: Host, clientPublicKey: string): Promise<Gateway> {
  const keys = makeKeyPair();
  const child = host.start(WIREGUARD_GO, ['-f', 'wg0'], {
    env: { ...process.env, WG_PROCESS_FOREGROUND: '1', LOG_LEVEL: 'error' },
  });
  for (let i = 0; !(await host.succeeds('wg', 'show', 'wg0')); i++) {
    if (i === 100) throw new Error('wireguard-go did not start');
    await sleep(50);
  }
  const path = join(mkdtempSync(join(tmpdir(), 'postern-bench-')), 'wg0.conf');
  writeFileSync(
    path,
    `[Interface]\nPrivateKey = ${keys.privateKey}\nListenPort = 51820\n[Peer]\nPublicKey = ${clientPublicKey}\nAllowedIPs = ${CLIENT_ADDRESS}/32\n`,
  );
  await host.run('wg', 'setconf', 'wg0', path);
  await host.ip('address', 'add', '100.64.0.1/10', 'dev', 'wg0');
  await host.ip('link', 'set', 'wg0', 'mtu', String(MTU), 'up');
  await host.run('sysctl', '-qw', 'net.ipv4.ip_forward=1');
  return {
    pid: child.pid ?? 0,
    serverPublicKey: keys.publicKey,
    presharedKey: NO_PRESHARED_KEY,
  };
}

async function startWireguardGoClient(host: Host, keys: KeyPair, gateway: Gateway): Promise<void> {
  const client = new WireguardClient(host, {
    keys,
    ...gateway,
    endpoint: ENDPOINT,
    addresses: [CLIENT_ADDRESS],
    routes: ['198.51.100.0/24'],
    mtu: MTU,
  });
  await client.start();
}

async function startPosternClient(host: Host, keys: KeyPair, gateway: Gateway): Promise<void> {
  const program = join(import.meta.dirname, 'client-end.ts');
  const { privateKey } = keys;
  const words = [CLIENT_INTERFACE, MTU, privateKey, gateway.serverPublicKey, ENDPOINT, LAN];
  host.start(process.execPath, [program, ...words.map(String)]);
  for (let i = 0; !(await host.succeeds('ip', 'link', 'show', CLIENT_INTERFACE)); i++) {
    if (i === 100) throw new Error('the client did not start');
    await sleep(50);
  }
  await host.ip('address', 'add', `${CLIENT_ADDRESS}/32`, 'dev', CLIENT_INTERFACE);
  await host.ip('route', 'replace', LAN, 'dev', CLIENT_INTERFACE, 'src', CLIENT_ADDRESS);
}

async function buildNetwork(): Promise<{
  network: Network;
  client: Host;
  gateway: Host;
  lan: Host;
}> {
  const network = new Network('pb');
  const client = await network.addHost('client');
  const gateway = await network.addHost('gw');
  const lan = await network.addHost('lan');
  await network.link(
    { host: client, name: 'c0', addresses: ['192.0.2.2/24'] },
    { host: gateway, name: 'g0', addresses: ['192.0.2.1/24'] },
  );
  await network.link(
    { host: gateway, name: 'g1', addresses: ['198.51.100.1/24'] },
    { host: lan, name: 'l0', addresses: [`${LAN}/24`] },
  );
  await network.link(
    { host: null, name: 'm0', addresses: ['10.255.78.1/30'] },
    { host: gateway, name: 'm1', addresses: [`${API}/30`] },
  );
  await lan.ip('route', 'add', '100.64.0.0/10', 'via', '198.51.100.1');
  if (values['no-offload'])
    for (const [host, name] of [
      [client, 'c0'],
      [gateway, 'g0'],
      [gateway, 'g1'],
      [lan, 'l0'],
    ] as const)
      await host.run('ethtool', '-K', name, 'tso', 'off', 'gso', 'off', 'gro', 'off');
  return { network, client, gateway, lan };
}

/** All cases against one gateway, in a network of their own. */
async function measure(
  start: StartGateway,
  startClient: StartClient,
): Promise<Map<string, Figure>> {
  const { network, client, gateway, lan } = await buildNetwork();
  try {
    const keys = makeKeyPair();
    const running = await start(gateway, keys.publicKey);
    await startClient(client, keys, running);
    if (!(await canPing(client, LAN))) throw new Error('the tunnel does not answer');
    lan.start('iperf3', ['-s']);
    await sleep(300);
    const figures = new Map<string, Figure>();
    for (const [name, args] of cases) figures.set(name, await iperf(client, running.pid, args));
    return figures;
  } finally {
    await network.remove();
  }
}

async function iperf(client: Host, pid: number, args: readonly string[]): Promise<Figure> {
  const before = cpuSecondsOf(pid);
  const { stdout } = await client.run('iperf3', '-J', '-c', LAN, '-t', String(seconds), ...args);
  const cpuSeconds = cpuSecondsOf(pid) - before;
  const { end } = JSON.parse(stdout) as {
    end: { sum_received: { bits_per_second: number; bytes: number } };
  };
  return {
    gbitPerSecond: end.sum_received.bits_per_second / 1e9,
    cpuSecondsPerGb: cpuSeconds / (end.sum_received.bytes / 1e9),
  };
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

function table(results: ReadonlyMap<string, readonly Map<string, Figure>[]>): string {
  const names = [...results.keys()];
  const header = `| TCP | ${names.map((name) => `${name} Gbit/s | CPU s/GB`).join(' | ')} | CPU ratio |`;
  const rule = `|---|${'---:|'.repeat(names.length * 2 + 1)}`;
  const rows = cases.map(([name]) => {
    const figures = names.map((gateway) => {
      const all = results.get(gateway)!.map((round) => round.get(name)!);
      return {
        speed: median(all.map((figure) => figure.gbitPerSecond)),
        cpu: median(all.map((figure) => figure.cpuSecondsPerGb)),
      };
    });
    const cells = figures.map(({ speed, cpu }) => `${speed.toFixed(2)} | ${cpu.toFixed(2)}`);
    const ratio = (figures[0]!.cpu / figures[1]!.cpu).toFixed(2);
    return `| ${name} | ${cells.join(' | ')} | ${ratio} |`;
  });
  return [header, rule, ...rows].join('\n');
}

const results = new Map(Object.keys(gateways).map((name) => [name, [] as Map<string, Figure>[]]));
for (let round = 1; round <= rounds; round++) {
  for (const [name, [start, startClient]] of Object.entries(gateways)) {
    process.stderr.write(`round ${round} of ${rounds}: ${name}\n`);
    results.get(name)!.push(await measure(start, startClient));
  }
}
const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
const version = execFileSync(WIREGUARD_GO, ['--version'], { encoding: 'utf8' }).split('\n')[0];
const offload = values['no-offload'] ? 'without offload' : 'with offload';
const report = `
### ${new Date().toISOString().slice(0, 10)}, ${commit}: TCP through the gateway, ${offload}

\`npm run bench:e2e -- --rounds ${rounds} --seconds ${seconds}${values['no-offload'] ? ' --no-offload' : ''}${ruleCount > 0 ? ` --rules ${ruleCount}` : ''}${values.both ? ' --both' : ''}\`; ${cpus().length} × ${cpus()[0]?.model.trim()}, Linux ${release()}, Node ${process.versions.node}, ${version}; medians of ${rounds} rounds.

${table(results)}
`;
process.stdout.write(report);
const compared = ruleCount > 0 ? ' -- --rules' : values.both ? ' -- --both' : '';
if (values.record) keepResult(`npm run bench:e2e${compared}`, report);
