// What is answered of flows and of refused packets, as the OpenAPI document describes it.
// docs/api.md#live-flows.

import type Joi from 'joi';
import { choice, joi, mark, recordId, resource, text, timestamp } from '../judge/fields.ts';
import { endedBecause } from './ended-flows.ts';
import { refusalReasons } from './refusals.ts';

const protocol = (description: string): Joi.Schema =>
  answered(text(`${description}: \`tcp\`, \`udp\`, \`icmp\`, or the number of another one.`));

const ofFlow = {
  source: answered(text('The address of the side that opened it.')),
  source_port: count('Its port; null: the protocol has none.').allow(null),
  source_device_id: recordId('The device that it is; null: a host behind the gateway.').allow(null),
  destination: answered(text('The address that it was opened to.')),
  port: count('The port that it was opened to; null: the protocol has none.').allow(null),
  destination_device_id: recordId(
    'The device that it was opened to; null: a host behind the gateway.',
  ).allow(null),
  protocol: protocol('The protocol'),
  answered: mark(joi.boolean().description('Whether the other side has sent something.'), {
    readOnly: true,
  }),
  decided_by: answered(
    choice(
      'What lets it pass: a rule, the default action, or nothing, because a host opened it.',
      'rule',
      'default',
      'nothing',
    ),
  ),
  rule_id: recordId('The rule that decided; null: none did.').allow(null),
  sent_packets: count('Packets of the side that opened it.'),
  sent_bytes: count('Bytes of those packets, as they are inside the tunnel.'),
  reply_packets: count('Packets of the other side.'),
  reply_bytes: count('Bytes of those packets.'),
  opened_at: timestamp('When this gateway saw its first packet.'),
  last_seen_at: timestamp('When its last packet passed.'),
};
const gatewayId = recordId('The gateway that answers.');

/** What is answered of a flow. */
export const flowFields = resource({ ...ofFlow, gateway_id: gatewayId });

/** What is answered of a flow that has ended. */
export const endedFlowFields = resource({
  ...ofFlow,
  source_user_id: recordId(
    'Whose device it was when the flow ended; null: a host behind the gateway.',
  ).allow(null),
  destination_user_id: recordId('The same of the other side.').allow(null),
  ended_at: timestamp('When its end was noticed.'),
  ended_because: answered(choice('Why it ended.', ...endedBecause)),
  gateway_id: gatewayId,
});

/** What is answered of refused packets that are alike. */
export const refusalFields = resource({
  device_id: recordId('The device; null: it was deleted just now.').allow(null),
  direction: answered(
    choice('Whether the device sent them, or they were for it.', 'from_device', 'to_device'),
  ),
  source: answered(text('Where they came from; null: they could not be read.')).allow(null),
  destination: answered(text('Where they should have gone; null: they could not be read.')).allow(
    null,
  ),
  protocol: protocol('The protocol; null: they could not be read').allow(null),
  port: count('The port of the destination; null: there is none, or they do not show it.').allow(
    null,
  ),
  reason: answered(choice('Why they were refused, as in metrics.', ...refusalReasons)),
  text: answered(text('The same in words.')),
  rule_id: recordId(
    'The rule that refused the latest one; null: none did, or it is not known.',
  ).allow(null),
  count: count('How many packets there were.'),
  first_at: timestamp('When the first one came.'),
  last_at: timestamp('When the latest one came.'),
  gateway_id: recordId('The gateway that answers.'),
});

function answered<Schema extends Joi.Schema>(schema: Schema): Schema {
  return mark(schema, { readOnly: true });
}

function count(description: string): Joi.Schema {
  return answered(joi.number().integer().min(0).description(description));
}
