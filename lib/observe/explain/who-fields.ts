// The answer about who may reach an address. docs/api.md#who-may-reach-an-address.

import type { ReasonName } from '../../../dataplane/index.ts';
import { portRangeOf } from '../../../models/index.ts';
import { refusalReasons } from '../../domain/policy/reason-words.ts';
import { type AnswerOf, answerTable } from '../../kit/validation/answers.ts';
import { PORT_MAX, PORT_MIN } from './protocol.ts';
import type { Decided } from './services.ts';
import {
  isReaching,
  type PersonReaching,
  type Reach,
  type Reaching,
  SERVICES_MAX,
  type WhoAsked,
} from './who.ts';

/** People that one answer lists. */
const PEOPLE_MAX = 1_000;

const serviceFields = answerTable({
  protocol: {
    kind: 'text',
    description:
      '`tcp`, `udp`, `icmp`, the number that was asked for, or `other`: every protocol without ports but `icmp`. Null: all protocols.',
    nullable: true,
  },
  port_range: {
    kind: 'text',
    description: 'One port or a range, as rules have them; null: all ports, or there are none.',
    nullable: true,
  },
  rule_id: {
    kind: 'id',
    description: 'The rule that accepts it; null: the default action does.',
    nullable: true,
  },
});

const deviceFields = answerTable({
  id: { kind: 'id', description: 'The device.' },
  name: { kind: 'text', description: 'Its name.' },
});

const personFields = answerTable({
  user_id: { kind: 'id', description: 'The person.' },
  email: { kind: 'text', description: 'The e-mail.' },
  name: { kind: 'text', description: 'The name; null: none is known.', nullable: true },
  devices: { kind: 'list', description: 'The devices that may send there.', of: deviceFields },
  other_device_count: {
    kind: 'count',
    description:
      'Devices of this person that may not: they are switched off, have ended, wait for a sign-in, or have no address of this family.',
  },
  services: { kind: 'list', description: 'What may be reached there.', of: serviceFields },
  services_left_out: {
    kind: 'count',
    description: `How many services are not listed: ${SERVICES_MAX} are.`,
  },
});

/** Who may reach an address. */
export const whoFields = answerTable({
  destination: { kind: 'text', description: 'The address that was asked for.' },
  receiver_id: {
    kind: 'id',
    description: 'The device that has this address, or a network with it; null: none has.',
    nullable: true,
  },
  reason: {
    kind: 'choice',
    description: 'Why nobody may, whatever the rules say; null: the rules decide.',
    nullable: true,
    words: refusalReasons as readonly Exclude<ReasonName, 'none'>[],
  },
  people: {
    kind: 'list',
    description: 'The people who may reach it, in the order of their e-mails.',
    of: personFields,
  },
  people_left_out: {
    kind: 'count',
    description: `How many of those who may reach it are not listed: the first ${PEOPLE_MAX} are.`,
  },
  other_people_count: { kind: 'count', description: 'How many people may not.' },
});

/** Who may reach an address. */
export type WhoAnswer = AnswerOf<typeof whoFields>;

/** A person who may reach an address. */
export type ShownPerson = WhoAnswer['people'][number];

/** What a person may reach at an address. */
export type ShownService = AnswerOf<typeof serviceFields>;

/** The answer, of what was found. */
export function showReaching({ destination }: WhoAsked, reaching: Reaching): WhoAnswer {
  const { receiver, people } = reaching;
  const reason = reasonForAll(reaching);
  const may = people.filter((person) => reason === null && isReaching(person));
  const listed = may.slice(0, PEOPLE_MAX);
  return {
    destination,
    receiver_id: receiver?.id ?? null,
    reason,
    people: listed.map(showPerson),
    people_left_out: may.length - listed.length,
    other_people_count: people.length - may.length,
  };
}

/** A person as answers show people. */
export function showPerson({ user, devices, otherDevices, reach }: PersonReaching): ShownPerson {
  return {
    user_id: user.id,
    email: user.email,
    name: user.name,
    devices: devices.map(({ id, name }) => ({ id, name })),
    other_device_count: otherDevices,
    services: showServices(reach),
    services_left_out: reach.leftOut,
  };
}

/** Why nobody may reach the address, whatever the rules say; null: the rules decide. */
export function reasonForAll({ isNobodys, people }: Reaching): WhoAnswer['reason'] {
  if (isNobodys) return 'no_peer';
  const reason = people[0]?.reach.onlyReason ?? null;
  return reason === null || reason === 'none' || BY_RULES.has(reason) ? null : reason;
}

const BY_RULES: ReadonlySet<ReasonName> = new Set(['none', 'rule_drop', 'default_drop']);

function showServices({ accepted, isEverything }: Reach): readonly ShownService[] {
  const [first] = accepted;
  const isAlike = accepted.every(({ rule }) => rule === first?.rule);
  if (first !== undefined && isEverything && isAlike)
    return [{ protocol: null, port_range: null, rule_id: first.rule }];
  return accepted.map((one) => ({
    protocol: one.protocol,
    port_range: rangeOf(one),
    rule_id: one.rule,
  }));
}

function rangeOf({ first, last }: Decided): string | null {
  if (last === 0 || (first === PORT_MIN && last === PORT_MAX)) return null;
  return portRangeOf(first, last);
}
