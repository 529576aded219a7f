// How long packets wait for questions that people ask: each part of an answer is given between two
// batches of packets. The flow table is full, and there are 10,000 rules.
//   node test/bench/questions.ts
// Prints milliseconds of one part (median, 99th percentile, most) and of all parts together; the
// parts of nine walks. V8 inlines as much as in a gateway.

import { readFileSync } from 'node:fs';
import { arch, cpus } from 'node:os';
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { MAX_FLOWS, MAX_FLOWS_PER_PEER } from '../../dataplane/constants.ts';
import { GLOBAL_SCOPE } from '../../dataplane/contract.ts';
import { ConfigInForce, type TriedChange } from '../../dataplane/diff.ts';
import { Filter } from '../../dataplane/filter/filter.ts';
import { NO_PEER } from '../../dataplane/filter/flow-verdict.ts';
import { Tracker } from '../../dataplane/filter/tracker.ts';
import { FlowList } from '../../dataplane/path/flow-list.ts';
import { OverQuota } from '../../dataplane/path/over-quota.ts';
import { InnerPacket, parseInner } from '../../dataplane/wire/ip.ts';
import type { KnownPeer } from '../../dataplane/wireguard/known-peer.ts';
import { udp, viewOf } from '../support/dataplane/packets.ts';
import { rule, seededRandom } from '../support/dataplane/simulation.ts';
import { fromPeer } from '../support/filter/flows.ts';
import { LAUNCHER } from '../support/gateway/launcher.ts';
import { median } from './median.ts';

for (const [flag] of readFileSync(LAUNCHER, 'utf8').matchAll(/--max-inlined\S+/g))
  setFlagsFromString(flag);

const WALKS = 9;
const RULES = 10_000;
const PEERS = MAX_FLOWS / MAX_FLOWS_PER_PEER;
/** Entries that an answer lists. */
const LIMIT = 100;

const print = (line: string): void => void process.stdout.write(`${line}\n`);

const filter = new Filter('accept');
const inForce = new ConfigInForce();
const rules = Array.from({ length: RULES }, (_, i) =>
  rule(`${i}`, i % 2 === 0 ? 'accept' : 'drop', `10.${i >> 8}.${i & 255}.0/24`),
);
for (const { name, compiled } of inForce.replace({
  peers: new Map(),
  rules: new Map([[GLOBAL_SCOPE, rules]]),
}).scopes)
  filter.change(name, compiled);
const tracker = new Tracker(filter, seededRandom(1));
for (let slot = 0; slot < PEERS; slot++) tracker.addPeer(slot, 'owner');
tracker.begin(1, 1);
fill();
const peers = Array.from({ length: PEERS }, (_, slot) => ({ id: `${slot}`, slot, isHere: true }));
const flowList = new FlowList({
  tracker,
  overQuota: new OverQuota(),
  sanity: { isGateway: () => false },
  tunnel: {
    known: (key) => peers[Number(key)] as unknown as KnownPeer,
    atSlot: (slot) => peers[slot] as unknown as KnownPeer,
  },
});

/** Opens as many flows as the table holds. */
function fill(): void {
  const packet = new InnerPacket();
  const bytes = viewOf(udp({ source: '10.0.0.2', destination: '192.0.2.1' }));
  for (let i = 0; i < MAX_FLOWS; i++) {
    bytes.setUint16(20, i & 0xffff);
    bytes.setUint16(18, 0x0200 + (i >>> 16));
    parseInner(bytes, 0, bytes.byteLength, packet);
    fromPeer(tracker, bytes, packet, i % PEERS, NO_PEER);
  }
}

/** The milliseconds of each part of a walk. */
function walk(part: (from: number) => { readonly next: number | null }): number[] {
  const parts: number[] = [];
  for (let from: number | null = 1; from !== null;) {
    const began = performance.now();
    from = part(from).next;
    parts.push(performance.now() - began);
  }
  return parts;
}

function report(name: string, part: (from: number) => { readonly next: number | null }): void {
  walk(part);
  const walks = Array.from({ length: WALKS }, () => walk(part));
  const parts = walks.flat().toSorted((a, b) => a - b);
  const whole = median(walks.map((all) => all.reduce((sum, one) => sum + one, 0)));
  const figures = [median(parts), parts[Math.floor(parts.length * 0.99)]!, parts.at(-1)!];
  print(
    `${name.padEnd(44)} ${figures.map((ms) => ms.toFixed(2)).join(' / ')}, all ${whole.toFixed(0)} ms`,
  );
}

/** What dropping everything to a network would change. */
function dropping(network: string): () => TriedChange {
  const drop = [rule('x', 'drop', network)];
  return inForce.trial({
    peers: new Map(),
    rules: new Map([[GLOBAL_SCOPE, new Map([['x', drop]])]]),
  });
}

/** The answer to a trial, as a worker gives it: it gets the change anew with each question. */
const trialOf =
  (change: () => TriedChange) =>
  (from: number): { readonly next: number | null } => {
    const { peers: _none, ...tried } = structuredClone(change());
    const trial = tracker.tried({ ...tried, peers: new Map() });
    return flowList.ended({ rules: trial, overQuota: new Map() }, from, LIMIT, 1, 1);
  };

const compiling = performance.now();
const everything = dropping('0.0.0.0/0');
const compiled = performance.now() - compiling;
const nobody = { device: null, scope: 'nobody', destination: null, rule: null };
print(`${cpus()[0]?.model ?? arch()}, Node ${process.version}`);
print(`${tracker.flows.used} flows, ${RULES} rules; ms of a part: median / p99 / most`);
print(`compiling a rule that is tried, on the main thread: ${compiled.toFixed(2)} ms`);
report('a rule that ends no flow', trialOf(dropping('198.51.100.0/24')));
report('a rule that ends every flow', trialOf(everything));
report('a list of flows of which none is asked for', (from) =>
  flowList.part(nobody, from, LIMIT, 1, 1),
);
