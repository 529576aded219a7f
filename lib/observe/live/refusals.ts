// The packets of devices that the gateway of this process refused lately, for API, console and
// command line: one entry for all that are alike. docs/api.md#refused-packets.

import type { ReasonName, SeenRefusal } from '../../../dataplane/index.ts';
import { reasonInWords } from '../../domain/policy/reason-words.ts';
import { showTime } from '../../kit/records/shown.ts';
import type { ShownRefusal } from './fields.ts';
import { type LiveGateway, protocolName, queryOf, type DeviceFilter } from './gateway.ts';

/** Which refusals are asked for; null does not matter. */
export interface RefusalFilter extends DeviceFilter {
  readonly reason: ReasonName | null;
}

/** Lists refusals, the latest one first. */
export async function listRefusals(
  gateway: LiveGateway,
  filter: RefusalFilter,
  limit: number,
): Promise<readonly ShownRefusal[]> {
  const devices = queryOf(gateway, filter);
  if (devices === null) return [];
  const found = await gateway.ask('refusals', { ...devices, reason: filter.reason }, limit);
  return found.map((one) => showRefusal(gateway, one));
}

/** Refused packets that are alike, as answers show them. */
export function showRefusal(gateway: LiveGateway, refusal: SeenRefusal): ShownRefusal {
  const { device, isSent, source, destination, protocol, port, reason, rule, count } = refusal;
  return {
    device_id: gateway.deviceIdOf(device),
    direction: isSent ? 'from_device' : 'to_device',
    source,
    destination,
    protocol: protocol === null ? null : protocolName(protocol),
    port,
    reason,
    text: reasonInWords(reason),
    rule_id: rule,
    count,
    first_at: showTime(new Date(refusal.firstMs)),
    last_at: showTime(new Date(refusal.latestMs)),
    gateway_id: gateway.id,
  };
}
