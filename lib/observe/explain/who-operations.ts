// The operation that says who may reach an address. It is our own addition to the API. It reads
// rows, so every gateway answers, also one without a data plane; and alike, but for addresses of
// its own host.

import { resource, trimmed, integer } from '../../kit/validation/fields.ts';
import { schemaOfAnswer } from '../../kit/validation/answers.ts';
import { messages } from '../../kit/validation/messages.ts';
import { readAddress } from '../../kit/validation/network.ts';
import { addError, type Errors, hasNoErrors, validatorOf } from '../../kit/validation/validate.ts';
import type { Caller } from '../../kit/process/caller.ts';
import { type Operation, queryOf, read } from '../../kit/operations/operation.ts';
import { refusalFor } from '../../kit/records/writes.ts';
import { type AskedProtocol, askedProtocol, PORT_MAX, PORT_MIN } from './protocol.ts';
import { TooManyPortsError } from './services.ts';
import type { Reaching, WhoAsked } from './who.ts';
import { showReaching, whoFields } from './who-fields.ts';
import type { WhoQuestions } from './who-questions.ts';

interface HasQuestions {
  readonly whoQuestions: WhoQuestions;
}

/** What is sent. */
export interface WhoValues {
  readonly destination?: string;
  readonly protocol?: AskedProtocol;
  readonly port?: number;
}

const whoParameters = resource({
  destination: trimmed('The address; required.').atMost(64),
  protocol: askedProtocol(
    'The protocol: `tcp`, `udp`, `icmp`, or the number of another one. Left out: all.',
  ),
  port: integer('The port of `tcp` or `udp`. Left out: all.', PORT_MIN, PORT_MAX),
});

/** Reads what was sent; where it means nothing, there are errors. */
export function readWho({ destination = '', protocol, port }: WhoValues): {
  readonly asked: WhoAsked | null;
  readonly errors: Errors;
} {
  const errors: Errors = {};
  const address = destination === '' ? null : readAddress(destination);
  if (destination === '') addError(errors, 'destination', messages.blank);
  else if (address === null) addError(errors, 'destination', messages.invalid);
  if (port !== undefined && protocol === undefined) addError(errors, 'protocol', messages.blank);
  else if (port !== undefined && protocol !== 'tcp' && protocol !== 'udp')
    addError(errors, 'port', messages.notPresent);
  if (address === null || !hasNoErrors(errors)) return { asked: null, errors };
  return {
    asked: { destination: address.text, protocol: protocol ?? null, port: port ?? null },
    errors,
  };
}

/** Validates texts of the fields, as a form and a query have them. */
export const validateWho = validatorOf<WhoValues>(whoParameters);

/** Says who may reach an address; refuses what would take too long. */
export async function askWho(
  questions: WhoQuestions,
  { userId, letIn }: Caller,
  asked: WhoAsked,
): Promise<Reaching> {
  try {
    return await questions.ask(asked, userId ?? letIn?.tokenId ?? 'this host');
  } catch (error) {
    if (error instanceof TooManyPortsError) throw refusalFor({ port: [messages.blank] });
    throw error;
  }
}

/** The operation that says who may reach an address. */
export const whoOperation: Operation<HasQuestions> = read<HasQuestions, object, WhoValues>({
  id: 'whoMayReach',
  method: 'GET',
  path: '/v0/who_may_reach',
  tag: 'rules',
  scopes: ['read'],
  summary: 'Say who may reach an address',
  description:
    'The rules in force are asked for all people, and nothing changes. Without a port, the answer says which ports.',
  query: queryOf(whoParameters, validateWho),
  answer: {
    title: 'WhoMayReach',
    fields: schemaOfAnswer(whoFields),
    description: 'The people who may reach it.',
  },
  async run({ whoQuestions }, caller, { query }) {
    const { asked, errors } = readWho(query);
    if (asked === null) throw refusalFor(errors);
    return showReaching(asked, await askWho(whoQuestions, caller, asked));
  },
});
