// The commands of the command line, and the help on each. Their options are in options.ts; what a
// command does is in commands.ts and serve.ts.

import type { Entry } from './options.ts';

export type { Entry } from './options.ts';

/** Every command by its words. */
export const commands = {
  serve: { usage: '', sentence: 'Runs the gateway (the default).', takes: [] },
  migrate: { usage: '', sentence: 'Brings the database up to date and ends.', takes: ['json'] },
  'check-config': {
    usage: '',
    sentence: 'Prints the effective settings, secrets hidden.',
    takes: ['json'],
  },
  'serve-rootless': {
    usage: '',
    sentence:
      'Serves without root, in namespaces of its own, or says why that cannot be here; `npm run start:rootless` runs it.',
    takes: [],
  },
  doctor: {
    usage: '',
    sentence:
      'Looks at host, settings, mail server, database and keys, and says how to fix what is not well; ends with 1 when something failed.',
    takes: ['json'],
  },
  'admin create-or-reset': {
    usage: '--email E [--password-stdin] [--reset-mfa]',
    sentence:
      'Makes an administrator, or enables one and gives them a new password; prints it unless it came by standard input. Ends the wait after failed sign-ins and switches signing in by password on; --reset-mfa also takes their second factors away.',
    takes: ['email', 'password-stdin', 'reset-mfa', 'json'],
    needs: ['email'],
  },
  'user create': {
    usage: '--email E [--role R] [--password-stdin | --no-password]',
    sentence:
      'Makes a user, unprivileged unless --role admin. Makes up a password and prints it, unless a password came by standard input or the user is to have none.',
    takes: ['email', 'role', 'password-stdin', 'no-password', 'json'],
    needs: ['email'],
  },
  'user enrol': {
    usage:
      '[EMAIL | --file F] [--create-user] [--group G[,G]] [--force] [--hours N] [--mail] [--csv]',
    sentence:
      'Makes a one-time link by which a user chooses a password and adds a device, good for 1 to 336 hours, 72 by default, and prints it. With --create-user a user who is not there is made. With --file (- for standard input) for everybody in a list of e-mails, the first column of a CSV file; users who are not there are made, and a column with the heading groups puts people into these groups, with | between. With --group all of them join a group, or several with commas between; a policy test that would fail holds it up unless --force is given. With --mail the links also go out by e-mail; ends with 1 when one did not.',
    operands: [0, 1],
    takes: ['file', 'create-user', 'group', 'force', 'hours', 'mail', 'csv', 'json'],
  },
  'user list': {
    usage: '',
    sentence:
      'Lists users: id, e-mail, role, whether they are enabled, locked or over their quota, and the last sign-in.',
    takes: ['json'],
  },
  'user set-password': {
    usage: '--email E [--password-stdin]',
    sentence:
      'Gives a user a new password and prints it unless it came by standard input; their sessions end, and so does a wait after wrong passwords.',
    takes: ['email', 'password-stdin', 'json'],
    needs: ['email'],
  },
  'user unlock': {
    usage: '--email E',
    sentence:
      'Ends the wait of a user after wrong passwords (15 minutes) or codes (up to 24 hours).',
    takes: ['email', 'json'],
    needs: ['email'],
  },
  'user enable': {
    usage: '--email E',
    sentence: 'Lets a user in again.',
    takes: ['email', 'json'],
    needs: ['email'],
  },
  'user disable': {
    usage: '--email E [--dry-run]',
    sentence:
      'Disables a user: devices pass no packet, tokens are void. --dry-run says what that would end, and disables nobody.',
    takes: ['email', 'dry-run', 'json'],
    needs: ['email'],
  },
  'device enable': {
    usage: '--id ID',
    sentence: 'Switches a device on again.',
    takes: ['id', 'json'],
    needs: ['id'],
  },
  'device disable': {
    usage: '--id ID [--dry-run]',
    sentence:
      'Switches a device off: it passes no packet, whoever owns it. --dry-run says what that would end, and switches nothing off.',
    takes: ['id', 'dry-run', 'json'],
    needs: ['id'],
  },
  'device expire': {
    usage: '--id ID --at T [--dry-run]',
    sentence:
      'Switches a device off at a time (2026-12-31, 2026-12-31T17:00:00Z), or, with --at never, at no time. --dry-run says what that would end now, and changes nothing.',
    takes: ['id', 'at', 'dry-run', 'json'],
    needs: ['id', 'at'],
  },
  'device limit': {
    usage: '--id ID [--down BITS] [--up BITS]',
    sentence:
      'Limits what a device gets (--down) and sends (--up), in bits per second; `none` removes the limit; then the limit of the owner or the default applies.',
    takes: ['id', 'down', 'up', 'json'],
    needs: ['id'],
  },
  'user limit': {
    usage: '--email E [--down BITS] [--up BITS] [--quota BYTES] [--dry-run]',
    sentence:
      'Limits what each device of a user gets (--down) and sends (--up), in bits per second, and what all of them carry in a calendar month (--quota), in bytes; `none` removes a limit; then the default applies. --dry-run says which flows a quota would end, and changes nothing.',
    takes: ['email', 'down', 'up', 'quota', 'dry-run', 'json'],
    needs: ['email'],
  },
  'user set-role': {
    usage: '--email E --role R',
    sentence: 'Makes a user an administrator (admin), or takes that away (unprivileged).',
    takes: ['email', 'role', 'json'],
    needs: ['email', 'role'],
  },
  'user delete': {
    usage: '--email E [--dry-run]',
    sentence:
      'Deletes a user, with devices, rules, tokens and sessions, for good. --dry-run says what that would end, and deletes nothing.',
    takes: ['email', 'dry-run', 'json'],
    needs: ['email'],
  },
  'user reset-mfa': {
    usage: '--email E',
    sentence: 'Takes all second factors from a user who lost them, and signs them out.',
    takes: ['email', 'json'],
    needs: ['email'],
  },
  'device create': {
    usage: '--email E --name N [--routes N] [--qr]',
    sentence:
      'Makes a device of a user and prints its WireGuard file, with --qr a code to scan too. The private key is in it and nowhere else.',
    takes: ['email', 'name', 'routes', 'qr', 'json'],
    needs: ['email', 'name'],
  },
  'device route': {
    usage: '--id ID --routes N',
    sentence:
      'Sets the networks behind a device, with commas between: 10.1.0.0/16. They replace the present ones; `none` removes all.',
    takes: ['id', 'routes', 'json'],
    needs: ['id'],
  },
  'device delete': {
    usage: '--id ID [--dry-run]',
    sentence: 'Deletes a device for good. --dry-run says what that would end, and deletes nothing.',
    takes: ['id', 'dry-run', 'json'],
    needs: ['id'],
  },
  'device list': {
    usage: '[--email E]',
    sentence: 'Lists devices: id, owner, name, addresses and the latest handshake.',
    takes: ['email', 'json'],
  },
  'device config': {
    usage: '--id ID',
    sentence: 'Prints the WireGuard file of a device, with a line to paste its private key into.',
    takes: ['id', 'json'],
    needs: ['id'],
  },
  'group list': {
    usage: '[--email E]',
    sentence: 'Lists groups of users, all of them or those that one user is in.',
    takes: ['email', 'json'],
  },
  'group create': {
    usage: '--name N [--description D]',
    sentence: 'Makes a group of users, whom rules can name together, and prints its id.',
    takes: ['name', 'description', 'json'],
    needs: ['name'],
  },
  'group update': {
    usage: '--group G [--name N] [--description D]',
    sentence:
      'Changes the name or the description of a group. Members and rules stay. Entries of identity providers that name the group get the new name.',
    takes: ['group', 'name', 'description', 'json'],
    needs: ['group'],
  },
  'group delete': {
    usage: '--group G [--dry-run]',
    sentence:
      'Removes a group with its rules; its users stay. A group is named by its id or name. --dry-run says what that would end, and removes nothing.',
    takes: ['group', 'dry-run', 'json'],
    needs: ['group'],
  },
  'group members': {
    usage: '--group G',
    sentence:
      'Lists the members of a group, and who says so: an administrator (manual) or a provider.',
    takes: ['group', 'json'],
    needs: ['group'],
  },
  'group add': {
    usage: 'USER... --group G [--force] [--dry-run]',
    sentence:
      'Makes users members of a group, all of them or none. A user is named by e-mail or id, and is in 16 groups at most. If a policy test would fail because of it, the command needs --force. --dry-run says what that would end, and changes nothing.',
    takes: ['group', 'force', 'dry-run', 'json'],
    needs: ['group'],
    operands: [1, 1_000],
  },
  'group remove': {
    usage: 'USER... --group G [--dry-run]',
    sentence:
      'Ends the membership of users in a group, of all of them or of none. --dry-run says what that would end, and changes nothing.',
    takes: ['group', 'dry-run', 'json'],
    needs: ['group'],
    operands: [1, 1_000],
  },
  'rule list': {
    usage: '[--email E | --group G]',
    sentence: 'Lists rules, all of them, those of one user or those of one group.',
    takes: ['email', 'group', 'json'],
  },
  'rule create': {
    usage:
      '--destination D [--action A] [--port-type T --port-range P | --protocol icmp] [--description D] [--disabled] [--staged] [--starts-at T] [--ends-at T] [--email E | --group G] [--force] [--dry-run]',
    sentence:
      'Makes a rule for everyone, with --email for the devices of one user, or with --group for those of all members of a group: drop, or with --action accept let pass, what goes to an address or a network. If a policy test would fail because of it, the command needs --force. With --disabled it decides nothing until it is enabled, with --staged it only counts what it would decide, with --starts-at nothing before that time, with --ends-at nothing from that time on. --dry-run says what it would do, and makes none.',
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
  },
  'rule update': {
    usage:
      '--id ID [--description D] [--starts-at T] [--ends-at T] [--staged | --enforced] [--force] [--dry-run]',
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
    usage: '--id ID [--force] [--dry-run]',
    sentence:
      'Lets a rule decide again. If a policy test would fail because of it, the command needs --force. --dry-run says what that would do, and changes nothing.',
    takes: ['id', 'force', 'dry-run', 'json'],
    needs: ['id'],
  },
  'rule disable': {
    usage: '--id ID [--dry-run]',
    sentence:
      'Switches a rule off: it decides nothing until it is enabled again. --dry-run says what that would do, and changes nothing.',
    takes: ['id', 'dry-run', 'json'],
    needs: ['id'],
  },
  'rule delete': {
    usage: '--id ID [--dry-run]',
    sentence: 'Removes a rule. --dry-run says what that would do, and removes nothing.',
    takes: ['id', 'dry-run', 'json'],
    needs: ['id'],
  },
  'policy-test list': {
    usage: '[--email E]',
    sentence:
      'Lists policy tests, all of them or those of one user, and what the rules make of them.',
    takes: ['email', 'json'],
  },
  'policy-test create': {
    usage: '--name N --email E|--device ID --destination D --protocol P [--port N] --expect X',
    sentence:
      'Makes a policy test: a packet of a user or of a device, and whether the rules are to let it pass.',
    takes: ['name', 'email', 'device', 'destination', 'protocol', 'port', 'expect', 'json'],
    needs: ['name', 'destination', 'protocol', 'expect'],
  },
  'policy-test delete': {
    usage: '--id ID',
    sentence: 'Removes a policy test.',
    takes: ['id', 'json'],
    needs: ['id'],
  },
  'policy-test run': {
    usage: '[--email E]',
    sentence:
      'Runs policy tests, all of them or those of one user, and names those that fail; ends with 1 when one failed.',
    takes: ['email', 'json'],
  },
  'configuration show': {
    usage: '',
    sentence:
      'Shows what administrators set while the gateway runs: default action, defaults of devices, sessions.',
    takes: ['json'],
  },
  'configuration set': {
    usage: 'NAME=VALUE',
    sentence:
      'Sets a field of the configuration: default_action=accept, default_client_dns=10.0.0.53,1.1.1.1, vpn_session_duration=28800. An empty value goes back to what the gateway derives.',
    takes: ['json'],
    operand: true,
  },
  'token create': {
    usage: '--email E --name N [--days D] [--scopes S]',
    sentence:
      'Makes an API token of a user and prints it; 1 to 365 days, 90 by default. Scopes: admin (all rights, the default), read (no secrets), metrics, capture; with commas between.',
    takes: ['email', 'name', 'days', 'scopes', 'json'],
    needs: ['email', 'name'],
  },
  'token list': {
    usage: '[--email E]',
    sentence: 'Lists API tokens, never their secret.',
    takes: ['email', 'json'],
  },
  'token revoke': {
    usage: 'ID',
    sentence: 'Makes an API token void at the next request.',
    takes: ['json'],
    operand: true,
  },
  'provider list': {
    usage: '',
    sentence: 'Lists identity providers, and whose word on e-mail addresses is trusted.',
    takes: ['json'],
  },
  'provider trust': {
    usage: '--id oidc/ID|saml/ID',
    sentence:
      'Trusts an identity provider with e-mail addresses: by them alone it may be linked to administrators and to users with a password. Only for a provider where nobody can give themselves the address of somebody else.',
    takes: ['id', 'json'],
    needs: ['id'],
  },
  'provider distrust': {
    usage: '--id oidc/ID|saml/ID',
    sentence: 'Trusts an identity provider no longer; accounts that are linked stay linked.',
    takes: ['id', 'json'],
    needs: ['id'],
  },
  'provider show': {
    usage: '--id saml/ID',
    sentence:
      'Shows what is known of the metadata that are fetched from the address of a SAML provider, and which certificates serve.',
    takes: ['id', 'json'],
    needs: ['id'],
  },
  'provider refresh': {
    usage: '--id saml/ID',
    sentence: 'Fetches the metadata of a SAML provider from its address at once.',
    takes: ['id', 'json'],
    needs: ['id'],
  },
  'provider drop-certificate': {
    usage: '--id saml/ID',
    sentence:
      'Makes certificates void at once that the metadata of a SAML provider no longer hold: for a certificate whose key was stolen. Refresh first.',
    takes: ['id', 'json'],
    needs: ['id'],
  },
  'provider relink': {
    usage: '--id oidc/ID|saml/ID --email E|--everyone',
    sentence:
      'Lets a user, or everybody who is linked through an identity provider, be linked anew within 7 days by the next sign-in with their e-mail: for a provider that changed its issuer or NameID format. Administrators are left out.',
    takes: ['id', 'email', 'everyone', 'json'],
    needs: ['id'],
  },
  'audit list': {
    usage: '[--since T] [--limit N]',
    sentence:
      'Lists who changed what: the last 100 entries, or N (1 to 10000), or those since a time (2026-11-21, 2026-11-21T08:00:00Z).',
    takes: ['since', 'limit', 'json'],
  },
  'gateway list': {
    usage: '',
    sentence:
      'Lists the gateways that serve the database, or did: whether each runs, and whether packets there obey all that is written.',
    takes: ['json'],
  },
  explain: {
    usage: 'DEVICE DESTINATION [tcp/443|udp/53|icmp|47] [--source A] [--size N]',
    sentence:
      'Asks the gateway that runs here what becomes of a packet, and why: each gate, and the rule that decides. A device is named by its id, its address or its name. The sender may also be the address of a host behind the gateway; then the destination is a device. With --source, a host in a network behind the device sends it. With --size, the packet has so many bytes with its headers, and may not be fragmented.',
    takes: ['source', 'size', 'json'],
    operands: [2, 3],
  },
  diagnose: {
    usage: '[DEVICE]',
    sentence:
      'Asks the gateway that runs here why a device cannot connect, or why nothing passes, and what to do next; with its last handshakes. A device is named by its id, its address or its name. Without a device: who sends handshakes that no device can have sent.',
    takes: ['json'],
    operands: [0, 1],
  },
  capture: {
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
    usage: '[--ended] [--device D] [--user E] [--destination D] [--rule ID] [--limit N | --follow]',
    sentence:
      'Lists flows that are alive at the gateway that runs here: both ends, what decided, packets and bytes each way. 100 of them, or N (1 to 10000); with --follow all, then those that open. With --ended, those that have ended, the latest first, and why.',
    takes: ['ended', 'device', 'user', 'destination', 'rule', 'limit', 'follow', 'json'],
  },
  refusals: {
    usage: '[--device D] [--user E] [--reason R] [--limit N | --follow]',
    sentence:
      'Lists packets of devices that the gateway that runs here refused lately, and why; the latest 100 kinds, or N (1 to 1000); with --follow also what comes.',
    takes: ['device', 'user', 'reason', 'limit', 'follow', 'json'],
    limitMost: 1_000,
  },
  traffic: {
    usage:
      '[DEVICE | --user E | --group G | --rule ID | --reason R] [--from T] [--to T] [--step S] [--csv]',
    sentence:
      'Shows what was carried over time, all gateways added up: of a device, of the devices of a user or of the members of a group, by a rule, or of all devices, with what was refused (for one reason, if it is named). The last day, or from a time to a time (2026-11-21, 2026-11-21T08:00:00Z), in steps of 600, 3600 or 86400 seconds. A device is named by its id, its address or its name.',
    takes: ['user', 'group', 'rule', 'reason', 'from', 'to', 'step', 'json', 'csv'],
    operands: [0, 1],
  },
  backup: {
    usage: 'FILE | FOLDER --keep N',
    sentence:
      'Writes all that the database holds into a new file, while gateways run if need be. Secrets stay encrypted in it. With --keep the file gets a name in the folder and is read back; then the last N stay there, and gateways learn the time.',
    takes: ['keep', 'json'],
    operand: true,
  },
  restore: {
    usage: 'FILE [--replace]',
    sentence:
      'Puts a backup into an empty database, of either kind, or with --replace in the place of what is there. No gateway may run on it.',
    takes: ['replace', 'json'],
    operand: true,
  },
  'import wg-quick': {
    usage: 'FILE --email E [--create-user] [--dry-run] [--yes]',
    sentence:
      "Makes the peers of a server's wg-quick file (- for standard input) devices of a user, and says their names and what to set in the environment. At a terminal it shows the names first and asks; with --yes it asks nothing. With --create-user a user who is not there is made; with --dry-run nothing is taken over.",
    takes: ['email', 'create-user', 'dry-run', 'yes', 'json'],
    needs: ['email'],
    operand: true,
  },
  'import wg-easy': {
    usage: 'FILE --email E [--create-user] [--dry-run] [--yes]',
    sentence:
      'Makes the clients of wg-easy devices of a user: FILE is wg0.json of version 14 (- for standard input) or wg-easy.db of version 15, with wg-easy.db-wal beside it. It says and asks what import wg-quick does.',
    takes: ['email', 'create-user', 'dry-run', 'yes', 'json'],
    needs: ['email'],
    operand: true,
  },
  'import firezone': {
    usage: 'FILE [--dry-run]',
    sentence:
      'Takes over users, devices, rules and configuration from what the API of Firezone 0.7 answered (- for standard input). Users who exist already keep role and state; the command names the differences.',
    takes: ['dry-run', 'json'],
    operand: true,
  },
  'database compact': {
    usage: '',
    sentence: 'Writes a SQLite file anew, so that it shrinks by itself; no gateway may run on it.',
    takes: ['json'],
  },
  'keys rotate': {
    usage: '[--online]',
    sentence:
      'Encrypts all secrets under a new key. No gateway may run on the database, or, with --online, each must have been started with both keys.',
    takes: ['online', 'json'],
  },
} as const satisfies Record<string, Entry>;

/** The words of a command. */
export type CommandName = keyof typeof commands;
