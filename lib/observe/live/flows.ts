// The flows that are alive at the gateway of this process, for API, console and command line.
// docs/api.md#live-flows.

import {
  type FlowPlace,
  type FlowQuery,
  type LiveFlow,
  parseAddress,
} from '../../../dataplane/index.ts';
import { showTime } from '../../kit/records/shown.ts';
import type { ShownFlow } from './fields.ts';
import { type LiveGateway, protocolName, queryOf, type DeviceFilter } from './gateway.ts';

/** Which flows are asked for; null does not matter. */
export interface FlowFilter extends DeviceFilter {
  /** An address or a CIDR: where they were opened to. */
  readonly destination: string | null;
  readonly ruleId: string | null;
}

/** A page of flows. */
export interface ShownFlows {
  readonly flows: readonly ShownFlow[];
  /** Where the next page begins; null: this is the last one. */
  readonly next: FlowPlace | null;
}

/** Lists flows. */
export async function listFlows(
  gateway: LiveGateway,
  filter: FlowFilter,
  limit: number,
  from: FlowPlace | null = null,
): Promise<ShownFlows> {
  const query = flowQueryOf(gateway, filter);
  if (query === null) return { flows: [], next: null };
  const page = await gateway.ask('flows', query, limit, from);
  return { flows: page.flows.map((flow) => showFlow(gateway, flow)), next: page.next };
}

/** A flow and what it carries at present. */
export interface BusyFlow extends ShownFlow {
  /** Bytes a second, both ways together. */
  readonly rate: number;
}

/** Lists the flows that carry most at present, the fastest first. */
export async function listBusiest(
  gateway: LiveGateway,
  filter: FlowFilter,
  limit: number,
): Promise<readonly BusyFlow[]> {
  const query = flowQueryOf(gateway, filter);
  if (query === null) return [];
  const flows = await gateway.ask('busiest', query, limit);
  return flows.map((flow) => ({ ...showFlow(gateway, flow), rate: flow.rate ?? 0 }));
}

/** What is asked for, in words of the data plane; null: nothing can be listed. */
export function flowQueryOf(gateway: LiveGateway, filter: FlowFilter): FlowQuery | null {
  const devices = queryOf(gateway, filter);
  if (devices === null) return null;
  const { destination, ruleId: rule } = filter;
  return { ...devices, destination: destination === null ? null : rangeOf(destination), rule };
}

function rangeOf(text: string): { network: Uint8Array; prefixBits: number } | null {
  const [address = '', prefix] = text.split('/');
  const network = parseAddress(address);
  if (network === null) return null;
  return { network, prefixBits: prefix === undefined ? 8 * network.length : Number(prefix) };
}

/** A flow, as answers show it. */
export function showFlow(gateway: LiveGateway, flow: LiveFlow): ShownFlow {
  const idOf = (key: string | null): string | null =>
    key === null ? null : gateway.deviceIdOf(key);
  return {
    source: flow.source,
    source_port: flow.sourcePort,
    source_device_id: idOf(flow.opener),
    destination: flow.destination,
    port: flow.destinationPort,
    destination_device_id: idOf(flow.target),
    protocol: protocolName(flow.protocol),
    answered: flow.isAnswered,
    decided_by: flow.by,
    rule_id: flow.rule,
    sent_packets: flow.sentPackets,
    sent_bytes: flow.sentBytes,
    reply_packets: flow.replyPackets,
    reply_bytes: flow.replyBytes,
    opened_at: showTime(new Date(flow.openedMs)),
    last_seen_at: showTime(new Date(flow.latestMs)),
    gateway_id: gateway.id,
  };
}

const WORKER_BYTES = 1;
const FLOW_BYTES = 4;

/** A place in the list as text, in the alphabet of URLs. */
export function writeFlowCursor({ worker, flow }: FlowPlace): string {
  const bytes = Buffer.alloc(WORKER_BYTES + FLOW_BYTES);
  bytes.writeUInt8(worker, 0);
  bytes.writeUInt32BE(flow, WORKER_BYTES);
  return bytes.toString('base64url');
}

/** Reads such a text; null if it is not one of ours. */
export function readFlowCursor(value: string): FlowPlace | null {
  const bytes = Buffer.from(value, 'base64url');
  if (bytes.length !== WORKER_BYTES + FLOW_BYTES || bytes.toString('base64url') !== value)
    return null;
  const place = { worker: bytes.readUInt8(0), flow: bytes.readUInt32BE(WORKER_BYTES) };
  return place.flow === 0 ? null : place;
}
