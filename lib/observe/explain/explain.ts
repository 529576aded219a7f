// Explains what becomes of a packet, for API, console and command line. The state of the device and
// of its owner is read from the rows, everything else is asked of the packet path itself: nothing
// here decides about a packet.

import type { Config } from '../../../config/index.ts';
import {
  type Explanation,
  type Finding,
  parseAddress,
  type RuleConfig,
} from '../../../dataplane/index.ts';
import {
  type Database,
  readDevices,
  readGroupsOfUsers,
  readRules,
  readRulesByAddress,
  readUsers,
  type RuleRow,
} from '../../../models/index.ts';
import { barOf } from '../../domain/devices/bars.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { reasonInWords } from '../../domain/policy/reason-words.ts';
import type { Elsewhere } from '../whereabouts.ts';
import type { Recall } from '../../kit/records/recall.ts';
import { showTimeOrNull } from '../../kit/records/shown.ts';
import { isInside } from '../../kit/validation/networks.ts';
import { rulesAt } from '../../reconcile/translate.ts';
import { adviceOn } from './advice.ts';
import {
  type ExplainingGateway,
  type Leaving,
  receiverElsewhere,
  senderElsewhere,
} from './elsewhere.ts';
import {
  asked as whenAsked,
  byWay,
  type ExplainedReason,
  type GateName,
  gateNames,
  gateOf,
  gates,
  isOwn,
  offByOwner,
  ownReasons,
  waits,
} from './gates.ts';
import type { Answer, ShownFinding, ShownGate } from './fields.ts';
import { numberedProtocol } from './protocol.ts';
import type { AskedPacket } from './question.ts';

/** What the doctor says of the host. */
export interface HostSeen {
  /** What is known to be wrong, as it was seen last. */
  readonly findings: () => readonly Finding[];
  /** What is wrong with the route to an address now; null: nothing. */
  readonly routeTo?: (address: string) => Promise<Finding | null>;
}

/** Who is asked. */
export interface Asked {
  readonly config: Config;
  readonly database: Database;
  /** Left out where there is no data plane. */
  readonly explaining?: ExplainingGateway;
  /** Left out where no doctor looks. */
  readonly checkup?: HostSeen;
}

/** Explains what becomes of a packet; `service_unavailable` where there is no data plane. */
export async function explain(
  { config, database, explaining: gateway, checkup }: Asked,
  recall: Recall,
  asked: AskedPacket,
): Promise<Answer> {
  if (gateway === undefined) throw new ApiError('service_unavailable');
  await recall.refresh();
  const configuration = await recall.configuration();
  const { device, isSent, packet } = asked;
  const [owner] = await readUsers(database, { ids: [device.user_id] });
  const own = barOf({ config, configuration }, device, owner);
  const sender = own === null ? await senderElsewhere({ database, gateway }, asked) : null;
  const barred = own ?? (sender === null ? null : 'elsewhere');
  const question = { from: isSent ? device.public_key : null, packet };
  const found = barred === null ? await gateway.ask('explain', question) : null;
  const way = gateway.way ?? 'tun';
  const reason =
    barred ?? (found === null ? 'not_served' : refusalIn(found, asked, { config, way }));
  const elsewhere =
    sender ?? (found === null ? null : await receiverElsewhere({ database, gateway }, found));
  const decision = found?.decision ?? null;
  const ruleId = decision?.rule ?? null;
  const isNew = decision !== null && decision.flow !== 'continues' && isSent;
  const rules = isNew ? await matchingRules(database, asked) : [];
  const [row] = await readDevices(database, { ids: [device.id] });
  const staged = await stagedIn(database, found);
  const waitsFor = reason === null ? (found?.waitsFor ?? []) : [];
  const isOffByOwner = reason === 'device_off' && device.disabled_by === 'owner';
  const why = isOffByOwner ? offByOwner.text : reason === null ? '' : wordsOf(reason);
  const text = reason === null ? passingWords(found, waitsFor) : why + nameOf(elsewhere);
  return {
    verdict: reason === null ? 'accept' : 'drop',
    reason,
    waits_for: waitsFor,
    rule_id: ruleId,
    staged_rule_id: staged?.id ?? null,
    staged_verdict: staged?.action ?? null,
    text: staged === null ? text : `${text} A staged rule would ${staged.action} it.`,
    advice: isOffByOwner
      ? offByOwner.advice
      : reason === null
        ? adviceOnWait(waitsFor)
        : adviceOn(reason),
    flow: decision?.flow ?? null,
    opener_id: openerOf(gateway, found),
    latest_handshake: showTimeOrNull(row?.latest_handshake ?? null),
    gates: gatesOf(reason, found, waitsFor, way),
    shadowed: rules.filter((id) => id !== ruleId),
    host: reason === null ? await hostFindings(checkup, asked, found) : [],
    connected_gateway_id: elsewhere?.gatewayId ?? null,
    gateway_id: gateway.id,
  };
}

/** The staged rule that would decide; null where there is none, or none any more. */
async function stagedIn(database: Database, found: Explanation | null): Promise<RuleRow | null> {
  const id = found?.decision?.staged ?? null;
  if (id === null) return null;
  const [rule] = await readRules(database, { ids: [id] });
  return rule ?? null;
}

/** The device that opened the flow of the packet, or opens it. */
function openerOf(gateway: ExplainingGateway, found: Explanation | null): string | null {
  const { opener, flow } = found?.decision ?? { opener: null, flow: 'none' };
  return flow === 'none' || opener === null ? null : gateway.deviceIdOf(opener);
}

const OF_HOST =
  /^(tun|rights|masquerading|forwarding|networks|router advertisements|foreign rules)/;

/** What is wrong with the host, where it carries the packet on, or has carried it here. */
async function hostFindings(
  host: HostSeen | undefined,
  { isSent, destination }: AskedPacket,
  found: Explanation | null,
): Promise<ShownFinding[]> {
  if (isSent && found?.place !== 'tun') return [];
  const route = isSent ? await host?.routeTo?.(destination) : undefined;
  const known = (host?.findings() ?? []).filter(({ check }) => OF_HOST.test(check));
  return [route ?? null, ...known].filter(isWrong);
}

function isWrong(finding: Finding | null): finding is ShownFinding {
  return finding !== null && finding.level !== 'ok';
}

/** Why a packet is refused. What only a TUN carries is refused at its gate where there is none. */
function refusalIn(
  found: Explanation,
  asked: AskedPacket,
  { config, way }: { config: Config; way: Leaving },
): ExplainedReason | null {
  const reason = found.reason === 'none' ? null : found.reason;
  if (way === 'tun') return reason;
  if (asked.isSent) return reason ?? (isLost(found, asked, config, way) ? 'no_way_out' : null);
  const { decision } = found;
  const isAnswer = !asked.begins && decision?.flow === 'continues' && decision.opener !== null;
  if (isAnswer) return reason;
  return reason === null || isBefore('no_way_in', reason) ? 'no_way_in' : reason;
}

/** Whether pasta loses a packet that the packet path lets pass. */
function isLost(
  { place }: Explanation,
  { protocol, destination }: AskedPacket,
  { wireguardIpv4Address: ipv4, wireguardIpv6Address: ipv6 }: Config,
  way: Leaving,
): boolean {
  if (way !== 'pasta' || place !== 'tun' || [ipv4, ipv6].includes(destination)) return false;
  return typeof numberedProtocol(protocol) === 'number';
}

function isBefore(first: ExplainedReason, second: ExplainedReason): boolean {
  return gateNames.indexOf(gateOf(first)) < gateNames.indexOf(gateOf(second));
}

// ---- gates ---------------------------------------------------------------------------------

function gatesOf(
  reason: ExplainedReason | null,
  found: Explanation | null,
  waitsFor: Answer['waits_for'],
  way: Leaving,
): ShownGate[] {
  const last = reason === null ? gateNames.length : gateNames.indexOf(gateOf(reason));
  return gateNames.map((code, at) => {
    if (at > last) return { code, outcome: 'not_reached', text: gates[code] };
    if (at === last && reason !== null) return { code, outcome: 'refused', text: wordsOf(reason) };
    const waited = waitsFor.find((end) => waits[end].gate === code);
    if (waited !== undefined) return { code, outcome: 'waits', text: waits[waited].text };
    return { code, outcome: 'passed', text: passedText(code, found, way) };
  });
}

function passedText(code: GateName, found: Explanation | null, way: Leaving): string {
  if (code === 'rules') return admissionOf(found);
  const leaves = code === 'way' && found?.place === 'tun';
  return (leaves ? byWay[way] : undefined) ?? gates[code];
}

// ---- words ---------------------------------------------------------------------------------

function wordsOf(reason: ExplainedReason): string {
  if (isOwn(reason)) return ownReasons[reason];
  return whenAsked[reason] ?? reasonInWords(reason);
}

/** The sentences about a packet that nothing refuses. */
function passingWords(found: Explanation | null, waitsFor: Answer['waits_for']): string {
  if (waitsFor.length === 0) return `It passes. ${admissionOf(found)}`;
  const waited = waitsFor.map((end) => waits[end].text);
  return ['Nothing refuses it.', admissionOf(found), ...waited].join(' ');
}

function adviceOnWait([first]: Answer['waits_for']): string | null {
  return first === undefined ? null : waits[first].advice;
}

function nameOf(elsewhere: Elsewhere | null): string {
  const name = elsewhere?.gatewayName ?? null;
  return name === null ? '' : ` That gateway is ${name}.`;
}

/** What let a packet pass the rules. */
function admissionOf(found: Explanation | null): string {
  const decision = found?.decision ?? null;
  if (decision === null) return gates.rules;
  const known = decision.flow === 'continues' ? 'It belongs to a flow that is known. ' : '';
  return `${known}${ADMITTED[decision.by]}`;
}

const ADMITTED = {
  rule: 'A rule accepts it.',
  default: 'No rule matches it, and the default action is to accept.',
  nothing: 'Rules are asked only about flows that a device opens.',
} as const;

// ---- rules ---------------------------------------------------------------------------------

/** Ids of the rules that are asked for a new packet of the device and match it. */
async function matchingRules(database: Database, asked: AskedPacket): Promise<string[]> {
  const destination = parseAddress(asked.destination);
  if (destination === null) return [];
  const addresses = [asked.destination];
  const { user_id: userId } = asked.device;
  const groupIds = (await readGroupsOfUsers(database, [userId])).get(userId) ?? [];
  const ofGroups = groupIds.map((groupId) => ({ userId: null, groupId }));
  const owners = [{ userId }, ...ofGroups, { userId: null }];
  const rows = await readRulesByAddress(
    database,
    owners.map((owner) => ({ ...owner, addresses })),
  );
  const isMatching = (row: RuleRow): boolean =>
    rulesAt(row, Date.now()).some((rule) => isFor(rule, destination) && hasPort(rule, asked));
  return rows.filter(isMatching).map(({ id }) => id);
}

function isFor({ address, prefixBits }: RuleConfig, destination: Uint8Array): boolean {
  return isInside(destination, { network: address, prefixBits });
}

function hasPort({ portType, portFirst, portLast }: RuleConfig, asked: AskedPacket): boolean {
  const { protocol, port } = asked;
  if (portType === null) return true;
  if (portType === 'icmp') return protocol === 'icmp';
  return portType === protocol && port !== null && port >= portFirst && port <= portLast;
}
