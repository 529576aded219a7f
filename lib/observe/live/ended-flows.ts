// The flows that have ended at the gateway of this process, for API, console and command line.
// docs/api.md#ended-flows.

import type { EndedFlow, EndedPlace } from '../../../dataplane/index.ts';
import { showTime } from '../../kit/records/shown.ts';
import type { ShownEndedFlow } from './fields.ts';
import { type FlowFilter, flowQueryOf, showFlow } from './flows.ts';
import type { LiveGateway } from './gateway.ts';

/** A page of ended flows. */
export interface ShownEndedFlows {
  readonly flows: readonly ShownEndedFlow[];
  /** Where the next page begins; null: this is the last one. */
  readonly next: EndedPlace | null;
}

/** Lists flows that have ended; the one that ended last is first. */
export async function listEndedFlows(
  gateway: LiveGateway,
  filter: FlowFilter,
  limit: number,
  from: EndedPlace | null = null,
): Promise<ShownEndedFlows> {
  const query = flowQueryOf(gateway, filter);
  if (query === null) return { flows: [], next: null };
  const page = await gateway.ask('endedFlows', query, limit, from);
  const flows = page.flows
    .map((flow) => ofNow(gateway, flow))
    .filter(
      ({ opener, target }) => query.device === null || [opener, target].includes(query.device),
    );
  return { flows: flows.map((flow) => show(gateway, flow)), next: page.next };
}

/** Without a key that the device of another person had later: that flow was none of theirs. */
function ofNow({ ownerIdOf }: LiveGateway, flow: EndedFlow): EndedFlow {
  const keep = (key: string | null, userId: string | null): string | null => {
    const owner = key === null ? null : ownerIdOf(key);
    return owner === null || owner === userId ? key : null;
  };
  const { opener, openerScope, target, targetScope } = flow;
  return { ...flow, opener: keep(opener, openerScope), target: keep(target, targetScope) };
}

function show(gateway: LiveGateway, flow: EndedFlow): ShownEndedFlow {
  const { gateway_id, ...shown } = showFlow(gateway, flow);
  return {
    ...shown,
    source_user_id: flow.openerScope,
    destination_user_id: flow.targetScope,
    ended_at: showTime(new Date(flow.endedMs)),
    ended_because: flow.because,
    gateway_id,
  };
}

const NUMBER_BYTES = 6;
/** Workers that a cursor may name; a gateway has at most eight. */
const WORKERS_MAX = 8;

/** A place in the list as text, in the alphabet of URLs. */
export function writeEndedCursor(place: EndedPlace): string {
  const bytes = Buffer.alloc(place.length * NUMBER_BYTES);
  for (const [i, number] of place.entries())
    bytes.writeUIntBE(Math.min(number, NUMBER_MAX), i * NUMBER_BYTES, NUMBER_BYTES);
  return bytes.toString('base64url');
}

/** The highest number that a cursor holds: a worker that was not asked yet begins above it. */
const NUMBER_MAX = 2 ** 48 - 1;

/** Reads such a text; null if it is not one of ours. */
export function readEndedCursor(value: string): EndedPlace | null {
  const bytes = Buffer.from(value, 'base64url');
  const count = bytes.length / NUMBER_BYTES;
  if (!Number.isInteger(count) || count === 0 || count > WORKERS_MAX) return null;
  if (bytes.toString('base64url') !== value) return null;
  return Array.from({ length: count }, (_, i) => bytes.readUIntBE(i * NUMBER_BYTES, NUMBER_BYTES));
}
