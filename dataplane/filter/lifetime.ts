// How long a flow is remembered: for some time after its last packet, and for TCP according to the
// flags of both sides. Windows and sequence numbers are not checked: a sender who can forge them is
// already inside the tunnel.

import {
  ICMP_FLOW_MS,
  TCP_CLOSED_MS,
  TCP_ESTABLISHED_MS,
  TCP_OPENING_MS,
  UDP_FLOW_MS,
} from '../constants.ts';
import {
  type InnerPacket,
  PROTOCOL_ICMP,
  PROTOCOL_ICMPV6,
  PROTOCOL_TCP,
  TCP_FIN,
  TCP_RST,
  TCP_SYN,
} from '../wire/ip.ts';
import { CLOSED, type FlowTable, REPLIED, STATE } from './flow-table.ts';

/**
 * Bits of a TCP flow's state, beside REPLIED and CLOSED: A acknowledged the reply; a side ended the
 * connection.
 */
const ESTABLISHED = 2;
const A_ENDED = 4;
const B_ENDED = 8;

/** Whether a connection is closed, by a reset or by both sides. */
export function isClosed(flows: Pick<FlowTable, 'get'>, flow: number): boolean {
  return (flows.get(flow, STATE) & CLOSED) !== 0;
}

/** Whether both sides ended a connection; else a reset closed it. */
export function isFinished(flows: Pick<FlowTable, 'get'>, flow: number): boolean {
  return (flows.get(flow, STATE) & (A_ENDED | B_ENDED)) === (A_ENDED | B_ENDED);
}

/** Notes a packet of a flow; `reply` is 1 where it goes from B to A. */
export function notice(flows: FlowTable, flow: number, packet: InnerPacket, reply: number): void {
  if (reply === 1 && (flows.get(flow, STATE) & REPLIED) === 0) flows.mark(flow, REPLIED);
  if (packet.protocol === PROTOCOL_TCP) noticeTcp(flows, flow, packet.flags, reply);
  else flows.endIn(flow, lifetimeOf(packet));
}

/** Keeps a refused flow in memory for as long as its packets come. */
export function hold(flows: FlowTable, flow: number, packet: InnerPacket): void {
  if (packet.protocol !== PROTOCOL_TCP) flows.endIn(flow, lifetimeOf(packet));
  else flows.endNotBefore(flow, TCP_OPENING_MS);
}

function noticeTcp(flows: FlowTable, flow: number, flags: number, reply: number): void {
  let state = flows.get(flow, STATE);
  // Late packets do not prolong a closed connection.
  if ((state & CLOSED) !== 0) return;
  if ((flags & TCP_FIN) !== 0) state |= reply === 0 ? A_ENDED : B_ENDED;
  const bothEnded = (state & (A_ENDED | B_ENDED)) === (A_ENDED | B_ENDED);
  if (bothEnded || (flags & TCP_RST) !== 0) {
    flows.set(flow, STATE, state);
    flows.mark(flow, CLOSED);
    flows.endIn(flow, TCP_CLOSED_MS);
    return;
  }
  if (reply === 0 && (state & REPLIED) !== 0 && (flags & TCP_SYN) === 0) state |= ESTABLISHED;
  flows.set(flow, STATE, state);
  flows.endIn(flow, (state & ESTABLISHED) !== 0 ? TCP_ESTABLISHED_MS : TCP_OPENING_MS);
}

function lifetimeOf(packet: InnerPacket): number {
  const { protocol } = packet;
  return protocol === PROTOCOL_ICMP || protocol === PROTOCOL_ICMPV6 ? ICMP_FLOW_MS : UDP_FLOW_MS;
}
