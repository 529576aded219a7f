// A part of the grammar: what goes on: packets, flows and who changed what.

import type { Entry } from './options.ts';

/** Commands by their words. */
export const questionCommands = {
  explain: {
    line: 'Says what becomes of a packet, and why.',
    usage: 'DEVICE DESTINATION [tcp/443|udp/53|icmp|47] [--source A] [--size N]',
    sentence:
      'Asks the gateway that runs here what becomes of a packet, and why: each gate, and the rule that decides. A device is called by owner and name (ann@example.com/laptop), a name that only one has, address or id. The sender may also be the address of a host behind the gateway; then the destination is a device. With --source, a host in a network behind the device sends it. With --size, the packet has so many bytes with its headers, and may not be fragmented.',
    takes: ['source', 'size', 'json'],
    operands: [2, 3],
  },
  who: {
    line: 'Says who may reach an address.',
    usage: 'DESTINATION [tcp/443|udp/53|icmp|47]',
    sentence:
      'Says which people may reach an address, with which devices, and by which rule; as the rules of now say, whoever is connected. Without a port, the answer says which ports. The destination is an address, or a device.',
    takes: ['json'],
    operands: [1, 2],
  },
  diagnose: {
    line: 'Says why a device cannot connect.',
    usage: '[DEVICE]',
    sentence:
      'Asks the gateway that runs here why a device cannot connect, or why nothing passes, and what to do next; with its last handshakes. A device is called by owner and name (ann@example.com/laptop), a name that only one has, address or id. Without a device: who sends handshakes that no device can have sent.',
    takes: ['json'],
    operands: [0, 1],
  },
  capture: {
    line: 'Writes packets of a device for Wireshark.',
    usage:
      'DEVICE [--destination D] [--protocol P] [--port N] [--only-refused] [--snaplen N | --payload] [--duration S] [--bytes N]',
    sentence:
      'Writes the packets of a device to standard output while they pass, for Wireshark (pcapng), with what became of each: postern capture laptop > laptop.pcapng. It ends after 60 seconds, or --duration, or with Ctrl-C. Headers are kept, with --payload whole packets.',
    takes: [
      'destination',
      'protocol',
      'port',
      'only-refused',
      'snaplen',
      'payload',
      'duration',
      'bytes',
    ],
    operand: true,
  },
  flows: {
    line: 'Lists live or ended flows.',
    usage: '[--ended] [--device D] [--user E] [--destination D] [--rule ID] [--limit N | --follow]',
    sentence:
      'Lists flows that are alive at the gateway that runs here: both ends, what decided, packets and bytes each way. 100 of them, or N (1 to 10000); with --follow all, then those that open. With --ended, those that have ended, the latest first, and why.',
    takes: ['ended', 'device', 'user', 'destination', 'rule', 'limit', 'follow', 'watch', 'json'],
  },
  refusals: {
    line: 'Lists refused packets.',
    usage: '[--device D] [--user E] [--reason R] [--limit N | --follow]',
    sentence:
      'Lists packets of devices that the gateway that runs here refused lately, and why; the latest 100 kinds, or N (1 to 1000); with --follow also what comes.',
    takes: ['device', 'user', 'reason', 'limit', 'follow', 'watch', 'json'],
    limitMost: 1_000,
  },
  traffic: {
    line: 'Shows what was carried over time.',
    usage:
      '[DEVICE | --user E | --group G | --rule ID | --reason R] [--since T | --from T] [--to T] [--step S] [--csv]',
    sentence:
      'Shows what was carried over time, all gateways added up: of a device, of the devices of a user or of the members of a group, by a rule, or of all devices, with what was refused (for one reason, if it is named). The last day, or since a day or a time (--since yesterday), or from a time to a time (2026-11-21, 2026-11-21T08:00:00Z), in steps of 600, 3600 or 86400 seconds. A device is called by owner and name (ann@example.com/laptop), a name that only one has, address or id.',
    takes: ['user', 'group', 'rule', 'reason', 'since', 'from', 'to', 'step', 'json', 'csv'],
    operands: [0, 1],
  },
  'audit list': {
    line: 'Lists who changed what.',
    usage: '[--since T] [--limit N]',
    sentence:
      'Lists who changed what: the last 100 entries, or N (1 to 10000), or those since a time (2026-11-21, 2026-11-21T08:00:00Z, yesterday).',
    takes: ['since', 'limit', 'watch', 'json'],
  },
} as const satisfies Record<string, Entry>;
