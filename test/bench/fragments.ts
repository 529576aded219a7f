// How many datagrams in fragments get through a gateway on a path that loses or reorders fragments:
// `test/apart.sh node test/bench/fragments.ts [--seconds S --only NAME --record]`.
//
// The client is wireguard-go. Fragments are written to a TUN of its host
// (test/support/network/packet-injector.ts), which forwards them into the tunnel; those that the
// path loses are left out there, so it is known which datagrams were sent whole. Postern is compared
// with wireguard-go and the kernel's masquerading. The first case takes `--seconds`, and each other one
// a twelfth of it, at least 5 s. `--only` measures one of the gateways, so that two runs can go on beside
// each other, each in its own network.

import { once } from 'node:events';
import { createSocket } from 'node:dgram';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { dice, fragmentsOf, shuffled } from '../support/dataplane/fragments.ts';
import { SEED } from '../support/dataplane/seed.ts';
import type { Host } from '../support/network/namespaces.ts';
import { counting, udp, viewOf } from '../support/dataplane/packets.ts';
import { canPing } from '../support/network/topology.ts';
import { makeKeyPair } from '../support/network/wireguard-client.ts';
import {
  addressOf,
  buildNetwork,
  LAN,
  MTU,
  reportHead,
  type StartGateway,
  startPostern,
  startWireguardGo,
  startWireguardGoClient,
} from './gateways.ts';
import { keepResult } from './results.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '300' },
    only: { type: 'string', default: '' },
    record: { type: 'boolean', default: false },
    receive: { type: 'boolean', default: false },
  },
});
const seconds = Number(values.seconds);
const PORT = 7_400;
/** The fragmentable part of a full fragment. */
const PART = (MTU - 20) & ~7;
const HEADER_BYTES = 8;
/** Datagrams are sent so often, as many as are due. */
const TICK_MS = 10;
/** What is under way arrives within this time. */
const LATE_MS = 1_500;
/** A pace of pings: the answer of 3,000 bytes comes in fragments too. */
const PINGS = 20;

/** One case: datagrams of so many fragments. */
interface Case {
  readonly name: string;
  readonly perSecond: number;
  readonly fragments: number;
  readonly lostPercent: number;
  /** One datagram in so many has its fragments in another order; 0: none. */
  readonly oneIn: number;
  readonly seconds: number;
}

const short = Math.max(5, Math.round(seconds / 12));
const cases: readonly Case[] = [
  { perSecond: 20, fragments: 6, lostPercent: 2, oneIn: 0, seconds },
  { perSecond: 500, fragments: 2, lostPercent: 1, oneIn: 0, seconds: short },
  { perSecond: 20, fragments: 6, lostPercent: 0, oneIn: 10, seconds: short },
].map((one) => ({
  ...one,
  name: `${one.perSecond} a second of ${one.fragments}, ${one.lostPercent} % of the fragments lost${one.oneIn === 0 ? '' : `, one in ${one.oneIn} out of order`}`,
}));

/** What became of the datagrams of a case. */
interface Figure {
  readonly sent: number;
  readonly whole: number;
  readonly arrived: number;
}

// ---- the ends --------------------------------------------------------------------------------

/** Runs in the lan: says how many different datagrams came each time that it is asked. */
async function receive(): Promise<void> {
  const socket = createSocket({ type: 'udp4', recvBufferSize: 4 << 20 });
  let seen = new Set<number>();
  socket.on('message', (bytes) => seen.add(bytes.readUInt32BE(0)));
  socket.bind(PORT);
  await once(socket, 'listening');
  process.stdout.write('ready\n');
  for await (const _line of createInterface({ input: process.stdin })) {
    process.stdout.write(`${seen.size}\n`);
    seen = new Set();
  }
  socket.close();
}

/** A program that prints lines. */
function linesOf(host: Host, ...words: string[]) {
  const child = host.start(process.execPath, words);
  child.stderr!.pipe(process.stderr);
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const next = async () => String((await lines.next()).value);
  return { next, write: (line: string) => child.stdin!.write(`${line}\n`) };
}

type Program = ReturnType<typeof linesOf>;

let identification = 0;

/** A host counts: what is not complete within half a minute meets no other of the same number. */
function nextIdentification(): number {
  identification = (identification + 1) & 0xffff;
  return identification;
}

/** Sends the datagrams of a case at their pace; those of which nothing is lost are whole. */
async function send(injector: Program, one: Case, roll: (below: number) => number) {
  const data = counting((one.fragments - 1) * PART + PART / 2 - HEADER_BYTES);
  const all = one.perSecond * one.seconds;
  const begun = performance.now();
  let whole = 0;
  for (let sent = 0; sent < all;) {
    const due = Math.min(all, ((performance.now() - begun) / 1_000) * one.perSecond);
    for (; sent < due; sent++) {
      viewOf(data).setUint32(0, sent);
      const ends = { source: addressOf(0), destination: LAN, destinationPort: PORT };
      const fragments = fragmentsOf(udp({ ...ends, data, fragment: 0 }), MTU, nextIdentification());
      if (fragments.length !== one.fragments) throw new Error(`${fragments.length} fragments`);
      const isTurned = one.oneIn > 0 && sent % one.oneIn === 0;
      const ordered = isTurned ? shuffled(fragments, roll) : fragments;
      const passing = ordered.filter(() => roll(100) >= one.lostPercent);
      for (const bytes of passing) injector.write(Buffer.from(bytes).toString('base64'));
      if (passing.length === fragments.length) whole++;
    }
    await sleep(TICK_MS);
  }
  return { sent: all, whole };
}

// ---- one gateway -----------------------------------------------------------------------------

async function measure(start: StartGateway) {
  const { network, gateway, clients, lan } = await buildNetwork('fg', 1);
  try {
    const keys = makeKeyPair();
    await startWireguardGoClient(clients[0]!, keys, await start(gateway, [keys.publicKey]), 0);
    if (!(await canPing(clients[0]!, LAN))) throw new Error('the tunnel does not answer');
    const receiver = linesOf(lan, import.meta.filename, '--receive');
    const injector = linesOf(
      clients[0]!,
      join(import.meta.dirname, '../support/network/packet-injector.ts'),
    );
    await Promise.all([receiver.next(), injector.next()]);
    const figures: Figure[] = [];
    for (const one of cases) {
      const sent = await send(injector, one, dice(SEED));
      await sleep(LATE_MS);
      receiver.write('');
      figures.push({ ...sent, arrived: Number(await receiver.next()) });
      process.stderr.write(`${one.name}: ${JSON.stringify(figures.at(-1))}\n`);
    }
    return { figures, pings: await pings(clients[0]!) };
  } finally {
    await network.remove();
  }
}

/** How many of some pings of 3,000 bytes are answered, right after all that. */
async function pings(client: Host): Promise<number> {
  const words = `-n -i 0.1 -c ${PINGS} -W 1 -s 3000 ${LAN}`.split(' ');
  const output = await client.run('ping', ...words).catch((error: { stdout: string }) => error);
  return Number(/(\d+) received/.exec(output.stdout)?.[1] ?? 0);
}

/** wireguard-go, and the kernel's masquerading behind it. */
async function startMasquerading(host: Host, keys: readonly string[]) {
  const chain = 'type nat hook postrouting priority 100;';
  await host.run('nft', `table ip nat { chain post { ${chain} oifname "lan" masquerade; }; }`);
  return startWireguardGo(host, keys);
}

const gateways: Readonly<Record<string, StartGateway>> = {
  postern: (host, keys) => startPostern(host, keys, { masquerades: true }),
  'wireguard-go': startMasquerading,
};

async function run(): Promise<void> {
  const names = Object.keys(gateways).filter((name) => ['', name].includes(values.only));
  const results: Awaited<ReturnType<typeof measure>>[] = [];
  for (const name of names) results.push(await measure(gateways[name]!));
  const rows = cases.map(({ name, seconds: took }, i) => {
    const cells = results.map(({ figures }) => figures[i]!);
    const share = ({ whole, arrived }: Figure) => ((100 * arrived) / whole).toFixed(2);
    const all = cells.map((cell) => `${cell.arrived} of ${cell.whole} | ${share(cell)}`);
    return `| ${name}, ${took} s | ${all.join(' | ')} |`;
  });
  const answered = results.map((one) => `${one.pings} of ${PINGS} | ${(100 * one.pings) / PINGS}`);
  const options = `--seconds ${seconds}${values.only === '' ? '' : ` --only ${values.only}`}`;
  const report = `
${reportHead('datagrams in fragments on a bad path', `test/apart.sh node test/bench/fragments.ts ${options}`)}, seed ${SEED}. How many of the datagrams that were sent whole arrive; both gateways masquerade. Bar: 99 %.

| datagrams | ${names.map((name) => `${name} | %`).join(' | ')} |
|---|${'---:|'.repeat(2 * names.length)}
${rows.join('\n')}
| then \`ping -s 3000\` | ${answered.join(' | ')} |
`;
  process.stdout.write(report);
  if (values.record) keepResult('node test/bench/fragments.ts', report);
}

await (values.receive ? receive() : run());
