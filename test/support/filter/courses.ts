// Random courses of packets, rules and changes, for what is compared with a twin: few addresses,
// ports and identifiers, so that packets meet again and again.

import fc from 'fast-check';
import { groupScope, type RuleConfig, stagedScope } from '../../../dataplane/contract.ts';
import { flagsOf, ip, tcp, udp } from '../dataplane/packets.ts';
import { rule, SEEDED } from '../dataplane/simulation.ts';
import type { Described } from './slow-filter.ts';
import { errorAbout, sideOf } from './tracking.ts';

export const peerAddresses = {
  4: ['10.0.0.2', '10.0.0.3', '10.0.0.4'],
  6: ['fd00::2', 'fd00::3', 'fd00::4'],
};

export const hosts = { 4: ['192.0.2.1', '192.0.2.2'], 6: ['2001:db8::1', '2001:db8::2'] };

const anyDescribed: fc.Arbitrary<Described> = fc
  .record({
    family: fc.constantFrom(4 as const, 4 as const, 6 as const),
    peer: fc.nat(2),
    far: fc.nat(4),
    outward: fc.boolean(),
    protocol: fc.constantFrom(6, 6, 17, 17, 1, 47),
    ports: fc.tuple(fc.constantFrom(40, 41), fc.constantFrom(53, 80)),
    swap: fc.boolean(),
    flags: fc.constantFrom('S', 'S', 'SA', 'A', 'A', 'A', 'FA', 'R'),
    echo: fc.constantFrom('request' as const, 'reply' as const),
  })
  .map((fields): Described => {
    const { family, peer } = fields;
    const far = [...hosts[family], ...peerAddresses[family].filter((_, i) => i !== peer)][
      fields.far % 4
    ]!;
    const near = peerAddresses[family][peer]!;
    const outward = fields.outward;
    const [source, destination] = outward ? [near, far] : [far, near];
    const isPing = fields.protocol === 1;
    const hasPorts = fields.protocol === 6 || fields.protocol === 17;
    const isTcp = fields.protocol === 6;
    const ports = fields.swap ? [...fields.ports].reverse() : fields.ports;
    const [sourcePort, destinationPort] = hasPorts ? (ports as [number, number]) : [0, 0];
    return {
      from: sideOf(source),
      to: sideOf(destination),
      source,
      destination,
      protocol: isPing && family === 6 ? 58 : fields.protocol,
      sourcePort,
      destinationPort,
      flags: isTcp ? fields.flags : '',
      echo: isPing ? fields.echo : null,
      quotes: null,
    };
  });

/** The packet of a description. */
export function bytesOf(packet: Described): Uint8Array {
  const isIpv6 = packet.source.includes(':');
  const { source, destination } = packet;
  const fields = { source, destination, protocol: packet.protocol, fragment: 0 };
  if (packet.quotes !== null) return errorAbout(bytesOf(packet.quotes), source, destination);
  const ports = { sourcePort: packet.sourcePort, destinationPort: packet.destinationPort };
  switch (packet.protocol) {
    case 6: {
      return tcp({ ...fields, ...ports, flags: flagsOf(packet.flags) });
    }
    case 17:
      return udp({ ...fields, ...ports });
    case 47:
      return ip({ ...fields, payload: new Uint8Array(24) });
    default: {
      const payload = new Uint8Array(16);
      payload[0] = isIpv6
        ? packet.echo === 'request'
          ? 128
          : 129
        : packet.echo === 'request'
          ? 8
          : 0;
      payload[5] = 77;
      return ip({ ...fields, payload });
    }
  }
}

const anyRange = fc.constantFrom(
  '0.0.0.0/0',
  '192.0.2.0/24',
  '192.0.2.1',
  '10.0.0.0/24',
  '10.0.0.3',
  '::/0',
  '2001:db8::1',
  'fd00::/64',
);

const anyPorts = fc.constantFrom(
  undefined,
  undefined,
  { type: 'udp' as const, first: 53 },
  { type: 'tcp' as const, first: 80 },
  { type: 'tcp' as const, first: 40, last: 53 },
);

const anyRules = fc.array(
  fc.tuple(fc.constantFrom('accept' as const, 'drop' as const), anyRange, anyPorts),
  {
    maxLength: 4,
  },
);

/** One step of a course. */
export type Step =
  | { type: 'packet'; packet: Described }
  | { type: 'error'; about: number; from: number }
  | { type: 'again'; about: number }
  | { type: 'back'; about: number }
  | { type: 'wait'; ms: number }
  | {
      type: 'rules';
      scope: string;
      rules: readonly (readonly ['accept' | 'drop', string, Parameters<typeof rule>[3]])[];
    }
  | { type: 'default'; action: 'accept' | 'drop' }
  | { type: 'move'; peer: number; scope: string }
  | { type: 'join'; scope: string; groups: string }
  | { type: 'forget'; peer: number; family: 4 | 6 }
  | { type: 'restart' };

export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({ type: fc.constant('packet' as const), packet: anyDescribed }),
  },
  { weight: 12, arbitrary: fc.record({ type: fc.constant('again' as const), about: fc.nat(12) }) },
  { weight: 16, arbitrary: fc.record({ type: fc.constant('back' as const), about: fc.nat(6) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('error' as const),
      about: fc.nat(6),
      from: fc.nat(5),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('wait' as const),
      ms: fc.constantFrom(1, 9_999, 10_000, 29_999, 30_000, 120_000, 179_999, 180_000, 7_440_000),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('rules' as const),
      scope: fc.constantFrom('', '0', '1', '2', 'x', ...[0, 1, 2].map(groupScope)),
      rules: anyRules,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('default' as const),
      action: fc.constantFrom('accept' as const, 'drop' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('move' as const),
      peer: fc.nat(2),
      scope: fc.constantFrom('0', '1', 'x'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('join' as const),
      scope: fc.constantFrom('0', '1', '2', 'x'),
      groups: fc.subarray([0, 1, 2]).map((numbers) => String.fromCharCode(...numbers)),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('forget' as const),
      peer: fc.nat(2),
      family: fc.constantFrom(4 as const, 6 as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('restart' as const) }) },
);

const icmp = { type: 'icmp' as const, first: 0 };

/** A course in which some of the rules are staged, and some are for ICMP. */
export function withStaged(course: readonly Step[]): Step[] {
  return course.map((step, i) => {
    if (step.type !== 'rules') return step;
    const rules = step.rules.map(
      ([action, range, ports], n) => [action, range, (i + n) % 5 === 0 ? icmp : ports] as const,
    );
    return { ...step, scope: i % 3 === 0 ? stagedScope(step.scope) : step.scope, rules };
  });
}

/** How many steps a course has. */
export const STEPS = 60;

/** So many courses, always the same ones. */
export function coursesOf(runs: number): Step[][] {
  const course = fc.array(anyStep, { minLength: STEPS, maxLength: STEPS });
  return fc.sample(course, { ...SEEDED, numRuns: runs });
}

/** The rules of a step; the first of them has this number as its id. */
export function rulesOf(step: Extract<Step, { type: 'rules' }>, number: number): RuleConfig[] {
  return step.rules.map(([action, range, ports], i) => rule(`${number + i}`, action, range, ports));
}

/** The packet that answers a packet. */
export function turned(packet: Described): Described {
  return {
    ...packet,
    from: packet.to,
    to: packet.from,
    source: packet.destination,
    destination: packet.source,
    sourcePort: packet.destinationPort,
    destinationPort: packet.sourcePort,
    flags: packet.flags === 'S' ? 'SA' : packet.flags,
    echo: packet.echo === 'request' ? 'reply' : packet.echo,
  };
}

/** An error about a packet, from one of those that may send it; null where there is none. */
export function errorOf(about: Described, from: number): Described | null {
  if (about.quotes !== null) return null;
  const family = about.source.includes(':') ? 6 : 4;
  const senders = [
    about.destination,
    about.destination,
    about.destination,
    ...hosts[family],
    peerAddresses[family][0]!,
  ];
  const source = senders[from]!;
  const error: Described = {
    ...turned(about),
    from: sideOf(source),
    source,
    protocol: family === 4 ? 1 : 58,
    echo: null,
    flags: '',
    quotes: about,
  };
  return (error.from === 'tun' && error.to === 'tun') || error.from === error.to ? null : error;
}
