// A part of the grammar: devices, and what may pass: rules, policy tests and the configuration.

import type { Entry } from './options.ts';

/** Commands by their words. */
export const networkCommands = {
  'device enable': {
    line: 'Switches a device on.',
    usage: 'DEVICE',
    sentence: 'Switches a device on again.',
    takes: ['id', 'json'],
    needs: ['id'],
  },
  'device disable': {
    line: 'Switches a device off.',
    usage: 'DEVICE [--dry-run]',
    sentence:
      'Switches a device off: it passes no packet, whoever owns it. --dry-run says what that would end, and switches nothing off.',
    takes: ['id', 'dry-run', 'json'],
    needs: ['id'],
  },
  'device expire': {
    line: 'Switches a device off at a time.',
    usage: 'DEVICE TIME [--dry-run]',
    sentence:
      'Switches a device off at a time (2026-12-31, 2026-12-31T17:00:00Z), or at no time (never). --dry-run says what that would end now, and changes nothing.',
    takes: ['id', 'at', 'dry-run', 'json'],
    needs: ['id', 'at'],
  },
  'device limit': {
    line: 'Sets the speeds of a device.',
    usage: 'DEVICE [--down SPEED] [--up SPEED]',
    sentence:
      'Limits what a device gets (--down) and sends (--up): 50Mbit/s, or bits per second; `none` removes the limit; then the limit of the owner or the default applies.',
    takes: ['id', 'down', 'up', 'json'],
    needs: ['id'],
  },
  'device create': {
    line: 'Makes a device and prints its file.',
    usage: 'EMAIL NAME [--routes N] [--qr]',
    sentence:
      'Makes a device of a user and prints its WireGuard file, with --qr a code to scan too. The private key is in it and nowhere else.',
    takes: ['email', 'name', 'routes', 'qr', 'json'],
    needs: ['email', 'name'],
  },
  'device route': {
    line: 'Sets the networks behind a device.',
    usage: 'DEVICE --routes N',
    sentence:
      'Sets the networks behind a device, with commas between: 10.1.0.0/16. They replace the present ones; `none` removes all.',
    takes: ['id', 'routes', 'json'],
    needs: ['id'],
  },
  'device delete': {
    line: 'Deletes a device for good.',
    usage: 'DEVICE [--dry-run]',
    sentence: 'Deletes a device for good. --dry-run says what that would end, and deletes nothing.',
    takes: ['id', 'dry-run', 'json'],
    needs: ['id'],
  },
  'device list': {
    line: 'Lists devices.',
    usage: '[--owner E] [--group G] [--online | --stale T | --outdated] [--sort BY]',
    sentence:
      'Lists devices: id, owner, name, addresses and the latest handshake; those of one user, of the members of a group, those that are online, those that made no handshake for long (--stale 90d), or those whose file is out of date. With --sort traffic also what each downloaded and uploaded. --email means what --owner means.',
    takes: ['owner', 'email', 'group', 'online', 'stale', 'outdated', 'sort', 'watch', 'json'],
  },
  'device config': {
    line: 'Prints the file of a device.',
    usage: 'DEVICE',
    sentence: 'Prints the WireGuard file of a device, with a line to paste its private key into.',
    takes: ['id', 'json'],
    needs: ['id'],
  },
  'rule list': {
    line: 'Lists rules.',
    usage: '[--email E | --group G]',
    sentence: 'Lists rules, all of them, those of one user or those of one group.',
    takes: ['email', 'group', 'watch', 'json'],
  },
  'rule create': {
    line: 'Makes a rule.',
    usage:
      'DESTINATION [--action A] [--port-type T --port-range P | --protocol icmp] [--description D] [--disabled] [--staged] [--starts-at T] [--ends-at T] [--email E | --group G] [--force] [--dry-run]',
    sentence:
      'Makes a rule for everyone, with --email for the devices of one user, or with --group for those of all members of a group: drop, or with --action accept let pass, what goes to an address or a network. --protocol tcp --port 443 says the same as --port-type tcp --port-range 443. If a policy test would fail because of it, the command needs --force. With --disabled it decides nothing until it is enabled, with --staged it only counts what it would decide, with --starts-at nothing before that time, with --ends-at nothing from that time on. --dry-run says what it would do, and makes none.',
    takes: [
      'destination',
      'action',
      'port-type',
      'port-range',
      'protocol',
      'description',
      'disabled',
      'staged',
      'starts-at',
      'ends-at',
      'email',
      'group',
      'force',
      'dry-run',
      'json',
    ],
    needs: ['destination'],
    spellings: [
      ['protocol', 'port-type', ['tcp', 'udp']],
      ['port', 'port-range'],
    ],
  },
  'rule update': {
    line: 'Changes a rule.',
    usage:
      'ID [--description D] [--starts-at T] [--ends-at T] [--staged | --enforced] [--force] [--dry-run]',
    sentence:
      'Changes what a rule is for, when it decides, and whether it decides or is staged. What is not named stays. If a policy test would fail because of it, the command needs --force. --dry-run says what that would do, and changes nothing.',
    takes: [
      'id',
      'description',
      'starts-at',
      'ends-at',
      'staged',
      'enforced',
      'force',
      'dry-run',
      'json',
    ],
    needs: ['id'],
  },
  'rule enable': {
    line: 'Lets a rule decide.',
    usage: 'ID [--force] [--dry-run]',
    sentence:
      'Lets a rule decide again. If a policy test would fail because of it, the command needs --force. --dry-run says what that would do, and changes nothing.',
    takes: ['id', 'force', 'dry-run', 'json'],
    needs: ['id'],
  },
  'rule disable': {
    line: 'Switches a rule off.',
    usage: 'ID [--dry-run]',
    sentence:
      'Switches a rule off: it decides nothing until it is enabled again. --dry-run says what that would do, and changes nothing.',
    takes: ['id', 'dry-run', 'json'],
    needs: ['id'],
  },
  'rule delete': {
    line: 'Removes a rule.',
    usage: 'ID [--dry-run]',
    sentence: 'Removes a rule. --dry-run says what that would do, and removes nothing.',
    takes: ['id', 'dry-run', 'json'],
    needs: ['id'],
  },
  'policy-test list': {
    line: 'Lists policy tests.',
    usage: '[--email E]',
    sentence:
      'Lists policy tests, all of them or those of one user, and what the rules make of them.',
    takes: ['email', 'watch', 'json'],
  },
  'policy-test create': {
    line: 'Makes a policy test.',
    usage: 'NAME DESTINATION --email E|--device D --protocol P [--port N] --expect X',
    sentence:
      'Makes a policy test: a packet of a user or of a device, and whether the rules are to let it pass.',
    takes: ['name', 'email', 'device', 'destination', 'protocol', 'port', 'expect', 'json'],
    needs: ['name', 'destination', 'protocol', 'expect'],
  },
  'policy-test delete': {
    line: 'Removes a policy test.',
    usage: 'ID',
    sentence: 'Removes a policy test.',
    takes: ['id', 'json'],
    needs: ['id'],
  },
  'policy-test run': {
    line: 'Runs policy tests.',
    usage: '[--email E]',
    sentence:
      'Runs policy tests, all of them or those of one user, and names those that fail; ends with 1 when one failed.',
    takes: ['email', 'json'],
  },
  'configuration show': {
    line: 'Shows the configuration.',
    usage: '',
    sentence:
      'Shows what administrators set while the gateway runs: default action, defaults of devices, sessions.',
    takes: ['json'],
  },
  'configuration set': {
    line: 'Sets a field of the configuration.',
    usage: 'NAME=VALUE',
    sentence:
      'Sets a field of the configuration: default_action=accept, default_client_dns=10.0.0.53,1.1.1.1, vpn_session_duration=28800. An empty value goes back to what the gateway derives.',
    takes: ['json'],
    operand: true,
  },
} as const satisfies Record<string, Entry>;
