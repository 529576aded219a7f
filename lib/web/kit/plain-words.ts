// What pages say is wrong with a value. The texts of /v0 (lib/judge/messages.ts) cannot change,
// because programs compare them; pages say the same in plain words.

import { messages } from '../../judge/messages.ts';

/** Words for the texts that contain no value. */
const words: Readonly<Record<string, string>> = {
  [messages.blank]: 'Please fill this in',
  [messages.invalid]: 'This cannot be read. Please check it',
  [messages.looksTaken]:
    'This looks like the address of another user. Please type another one, or change theirs first',
  [messages.taken]: 'This is already in use. Please choose another one',
  [messages.absent]: 'There is no such record',
  [messages.reserved]: 'This one is reserved. Please choose another one',
  [messages.email]: 'This is not an e-mail address',
  [messages.noMatch]: 'The two entries are not the same',
  [messages.base64]: 'This is not a WireGuard key: it has 44 characters and ends with =',
  [messages.badKey]: 'This is not a WireGuard key: it has 44 characters and ends with =',
  [messages.notPresent]: 'Leave this empty, or do not use the default',
  [messages.portInDns]: 'Please give the address without a port',
  [messages.badPort]: 'The port is not a number from 0 to 65535',
  [messages.duplicates]: 'The same entry is there twice',
  [messages.badFormat]: 'Please write ports as 443, or as 8000 - 8100',
  [messages.portOutOfRange]: 'This port is not possible: the highest is 65535',
  [messages.portsReversed]: 'The first port is higher than the last one',
  [messages.overlap]: 'Another rule already means some of these packets; see below',
  [messages.badJson]: 'This is not valid JSON',
  [messages.badTime]: 'This is not a date with a time',
  [messages.endsBeforeStart]: 'The end must be after the start',
  [messages.ofUserAlready]:
    'Please name a user or a group, not both; with neither the rule is for everyone',
  [messages.besidePorts]: 'Please choose TCP or UDP to use ports, or leave the ports empty',
  [messages.uuidName]: 'This is an id and not a name; please choose another name',
  [messages.badGroupNames]:
    'Please write a line for each group: its name at the provider, =>, its name here',
  [messages.groupsUnnamed]: 'Please say where the provider names groups; the rest needs it',
  [messages.notTrusted]: 'Please trust the provider first, and save; then name the group',
};

/** Words for the texts that contain a value. */
const patterns: readonly (readonly [RegExp, string])[] = [
  [/^should be at least (\d+) character\(s\)$/, 'Please use at least $1 characters'],
  [/^should be at most (\d+) character\(s\)$/, 'Please use at most $1 characters'],
  [/^should be (\d+) character\(s\)$/, 'This should have $1 characters'],
  [/^should be at most (\d+) byte\(s\)$/, 'This is too long: at most $1 bytes'],
  [/^should have at most (\d+) item\(s\)$/, 'Please give at most $1 entries'],
  [/^should be one of (.*)$/s, 'Please choose one of $1'],
  [/^must be greater than or equal to (-?\d+)$/, 'Please give $1 or more'],
  [/^must be less than or equal to (-?\d+)$/, 'Please give $1 or less'],
  [
    /^(.*) is not a valid FQDN$/s,
    '“$1” is neither an address nor the name of a host, such as 1.1.1.1 or vpn.example.com',
  ],
  [/^is not in the CIDR (\S+)$/, 'The address is not in the network of the devices, $1'],
  [/^CIDR (\S+) is exhausted$/, 'All addresses of the network $1 are in use'],
  [
    /^cannot be changed; it is overridden by (\S+) environment variable$/,
    'This is fixed by the environment variable $1 of the gateway',
  ],
];

/** A text of /v0 in plain words; an unknown text is returned unchanged. */
export function plainWords(text: string): string {
  if (Object.hasOwn(words, text)) return words[text] ?? text;
  for (const [pattern, plain] of patterns)
    if (pattern.test(text)) return text.replace(pattern, plain);
  return text;
}
