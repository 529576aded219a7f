// What the filter costs per packet: with and without rules, in one flow and in many.
//   node test/bench/filter.ts
// Prints nanoseconds of CPU, the median of nine rounds; what reading the packet costs is its own line.
// V8 inlines as much as in a gateway.

import { readFileSync } from 'node:fs';
import { arch, cpus } from 'node:os';
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { GLOBAL_SCOPE, groupScope, type RuleConfig } from '../../dataplane/contract.ts';
import { rulesFor } from '../support/dataplane/whole-configs.ts';
import { Filter } from '../../dataplane/filter/filter.ts';
import { Tracker } from '../../dataplane/filter/tracker.ts';
import { NO_PEER } from '../../dataplane/filter/flow-verdict.ts';
import { reasons } from '../../dataplane/reasons.ts';
import { InnerPacket, parseInner } from '../../dataplane/wire/ip.ts';
import { LAUNCHER } from '../support/gateway/launcher.ts';
import { fromPeer, toPeer } from '../support/filter/flows.ts';
import { tcp, udp, viewOf } from '../support/dataplane/packets.ts';
import { rule, seededRandom } from '../support/dataplane/simulation.ts';
import { judgeAndCount } from '../support/filter/filtering.ts';

for (const [flag] of readFileSync(LAUNCHER, 'utf8').matchAll(/--max-inlined\S+/g))
  setFlagsFromString(flag);

const ROUNDS = 9;
const CALLS = 500_000;
const PEERS = 100;

/** Rules for other destinations, and one that lets everything pass in the end. */
function rulesOf(count: number): RuleConfig[] {
  const others = Array.from({ length: count - 1 }, (_, i) =>
    rule(`${i}`, i % 2 === 0 ? 'accept' : 'drop', `10.${i >> 8}.${i & 255}.0/24`, {
      type: 'tcp',
      first: 1 + (i % 60_000),
    }),
  );
  return [...others, rule('all', 'accept', '0.0.0.0/0')];
}

function trackerWith(rules: readonly RuleConfig[]): { filter: Filter; tracker: Tracker } {
  const filter = new Filter('accept');
  const tracker = new Tracker(filter, seededRandom(1));
  for (let slot = 0; slot < PEERS; slot++) tracker.addPeer(slot, 'owner');
  rulesFor(filter)(GLOBAL_SCOPE, rules);
  tracker.begin(1, 1);
  return { filter, tracker };
}

const packet = new InnerPacket();
const segment = tcp({ source: '10.0.0.2', destination: '192.0.2.1', destinationPort: 443 });
const view = viewOf(segment);

function mustPass(reason: number): void {
  if (reason !== reasons.none) throw new Error(`refused: ${reason}`);
}

function read(): void {
  parseInner(view, 0, view.byteLength, packet);
}

/** Nanoseconds of CPU per call: the machine may have other work. */
function measure(call: (i: number) => void): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const began = process.cpuUsage();
    for (let i = 0; i < CALLS; i++) call(i);
    const { user, system } = process.cpuUsage(began);
    return ((user + system) * 1_000) / CALLS;
  });
  return rounds.sort((a, b) => a - b)[ROUNDS >> 1]!;
}

function inOneFlow(rules: readonly RuleConfig[]): number {
  const { tracker } = trackerWith(rules);
  return measure(() => {
    read();
    mustPass(fromPeer(tracker, view, packet, 0, NO_PEER));
  });
}

function byRulesAlone(rules: readonly RuleConfig[]): number {
  const { filter } = trackerWith(rules);
  const scope = filter.hold('owner');
  return measure(() => {
    read();
    mustPass(judgeAndCount(filter, packet, scope));
  });
}

const GROUPS = 20;
/** A user is in so many of them. */
const MEMBERSHIPS = 16;

/** To so many destinations in turn that have rules of their own: the rules of everyone, or groups. */
function towardsRules(rules: readonly RuleConfig[], areOfGroups: boolean): number {
  const filter = new Filter('accept');
  const say = rulesFor(filter);
  const each = Math.ceil(rules.length / GROUPS);
  if (!areOfGroups) say(GLOBAL_SCOPE, rules);
  for (let i = 0; areOfGroups && i < GROUPS; i++)
    say(groupScope(i + 1), rules.slice(i * each, (i + 1) * each));
  const scope = filter.hold('owner');
  const groups = Array.from({ length: MEMBERSHIPS }, (_, i) => i + 1);
  filter.join(scope, String.fromCharCode(...groups));
  const views = Array.from({ length: 256 }, (_, i) =>
    viewOf(tcp({ source: '10.0.0.2', destination: `10.${i % 39}.${(i * 7) & 255}.1` })),
  );
  return measure((i) => {
    parseInner(views[i & 255]!, 0, views[i & 255]!.byteLength, packet);
    filter.decide(packet, scope);
  });
}

/** Packets of so many flows in turn, as far apart in memory as they come. */
function inManyFlows(count: number): number {
  const { tracker } = trackerWith([]);
  const bytes = viewOf(udp({ source: '10.0.0.2', destination: '192.0.2.1' }));
  return measure((i) => {
    const flow = (Math.imul(i, 40_503) % count) >>> 0;
    bytes.setUint16(20, flow & 0xffff);
    bytes.setUint16(18, 0x0200 + (flow >>> 16));
    parseInner(bytes, 0, bytes.byteLength, packet);
    mustPass(fromPeer(tracker, bytes, packet, flow % PEERS, NO_PEER));
  });
}

/** Each packet opens a flow, and soon each costs its peer an older one. */
function openings(rules: readonly RuleConfig[]): number {
  const { tracker } = trackerWith(rules);
  const bytes = viewOf(udp({ source: '10.0.0.2', destination: '192.0.2.1' }));
  return measure((i) => {
    bytes.setUint32(16, 0xc000_0000 + (i & 0xff_ffff));
    parseInner(bytes, 0, bytes.byteLength, packet);
    mustPass(fromPeer(tracker, bytes, packet, i % PEERS, NO_PEER));
  });
}

function fromTheTun(): number {
  const { tracker } = trackerWith([]);
  const bytes = viewOf(udp({ source: '192.0.2.1', destination: '10.0.0.2' }));
  return measure(() => {
    parseInner(bytes, 0, bytes.byteLength, packet);
    mustPass(toPeer(tracker, bytes, packet, 0));
  });
}

const few = rulesOf(10);
const many = rulesOf(10_000);
const figures: [name: string, ns: number][] = [
  ['reading the packet alone', measure(read)],
  ['by the rules alone, none', byRulesAlone([])],
  ['by the rules alone, 10', byRulesAlone(few)],
  ['by the rules alone, 10,000', byRulesAlone(many)],
  ['towards 10,000 rules of everyone', towardsRules(many, false)],
  ['towards 10,000 rules of 20 groups', towardsRules(many, true)],
  ['in one flow, no rules', inOneFlow([])],
  ['in one flow, 10 rules', inOneFlow(few)],
  ['in one flow, 10,000 rules', inOneFlow(many)],
  ['in one flow, from the TUN', fromTheTun()],
  ['in 1,000 flows in turn', inManyFlows(1_000)],
  ['in 100,000 flows in turn', inManyFlows(100_000)],
  ['opening a flow, no rules', openings([])],
  ['opening a flow, 10,000 rules', openings(many)],
];

const machine = `${cpus()[0]?.model} ${arch()}, Node ${process.version}`;
process.stdout.write(`${machine}; ns of CPU per packet\n`);
for (const [name, ns] of figures) process.stdout.write(`| ${name} | ${ns.toFixed(1)} |\n`);
