// The sentences of a finding: for administrators with the facts behind it and what to do next, for
// the owner of the device in plain words, without anything that strangers sent.

import type { Endpoint } from '../../../dataplane/index.ts';
import { reasonInWords } from '../../domain/policy/reason-words.ts';
import type { Away, Found, Stranger } from './finding.ts';
import { endpointInWords } from './place.ts';

/** The name of a finding, as programs know it. */
export type FindingCode = Found['code'];

/** What is said to the owner. */
interface OwnerWords {
  readonly text: string;
  readonly advice: string;
}

const ASK = 'Ask your administrator.';

/** By finding: what the owner reads. */
export const ownerWords: Readonly<Record<FindingCode, OwnerWords>> = {
  connected: { text: 'This device is connected.', advice: '' },
  nothing_inside: {
    text: 'This device is connected, and nothing has come through its tunnel yet.',
    advice: 'Open a page or a program that needs the VPN.',
  },
  wrong_inner_address: {
    text: 'This device is connected, but it sends from an address that is not its own.',
    advice: 'Import its present file again, and use no address that you typed yourself.',
  },
  inner_packets_too_big: {
    text: 'This device is connected, but many packets for it are too big for the way to it.',
    advice: ASK,
  },
  inner_packets_refused: {
    text: 'This device is connected, but what it sends is refused.',
    advice: ASK,
  },
  quota_exceeded: {
    text: 'This device is connected, but your devices have carried as much this month as your quota allows.',
    advice: 'Wait for the next month, or ask your administrator for a larger quota.',
  },
  key_used_twice: {
    text: 'Two devices use the file of this device at once, and each cuts the other off.',
    advice: 'Use the file on one device only, and add another device for the other one.',
  },
  dated_before: {
    text: 'This device tries to connect, but its clock is behind.',
    advice: 'Set the clock of the device, or let it set its time by itself, and connect again.',
  },
  not_confirmed: {
    text: 'This device tries to connect, but it never uses the answer of the gateway.',
    advice: 'Import its present file again. If that does not help, try another network.',
  },
  under_way: {
    text: 'This device is connecting right now.',
    advice: 'Look again in some seconds.',
  },
  handshake_refused: {
    text: 'This device tries to connect, and the gateway cannot take it at the moment.',
    advice: ASK,
  },
  key_not_registered: {
    text: 'The gateway hears a device where this one was last, but its key is another one.',
    advice: 'Import the present file of this device again.',
  },
  other_gateway_key: {
    text: 'The gateway hears a device where this one was last, but its file is for another gateway.',
    advice: 'Import the present file of this device again.',
  },
  nothing_arrived: {
    text: 'This gateway hears nothing from this device.',
    advice:
      'Switch the VPN on at the device. If it is on, this network may block it: try another one.',
  },
  elsewhere: { text: 'This device is connected to another gateway.', advice: '' },
  device_off: { text: 'This device is switched off.', advice: ASK },
  device_ended: { text: 'This device was to be used until a time that has passed.', advice: ASK },
  owner_disabled: { text: 'Your account is disabled.', advice: ASK },
  session_ended: { text: 'Your VPN session has ended.', advice: 'Sign in again.' },
  not_served: { text: 'The gateway does not serve this device at the moment.', advice: ASK },
};

/** What administrators read of a device that its owner switched off. */
export const offByOwner = {
  text: 'Its owner switched it off.',
  advice: 'Ask the owner before you switch it on: the device may be lost.',
} as const;

/** What the owner reads of it. */
export const offByYou: OwnerWords = {
  text: 'You switched this device off.',
  advice: 'Switch it on again when you have it.',
};

/** All names of findings. */
export const findingCodes = Object.keys(ownerWords) as readonly FindingCode[];

/** By finding: what the administrator does next. */
export const advice: Readonly<Record<FindingCode, string>> = {
  connected: 'If one destination does not answer, ask what becomes of a packet to it.',
  nothing_inside:
    'It is well if nobody uses it. Otherwise look at the allowed IPs in its file: the device sends only what is for them.',
  wrong_inner_address:
    'Its file has other addresses than the device here. Import its present file on it again.',
  inner_packets_too_big:
    'Let the MTU in its file fit its way to the gateway, and let no firewall drop the messages that a packet is too big (ICMP).',
  inner_packets_refused: 'Ask what becomes of a packet of it to where it should come.',
  quota_exceeded: 'Raise the quota of its owner, or wait for the next month.',
  key_used_twice:
    'Find the second device that has this file. Make a device of its own for it, and a new key for this one.',
  dated_before:
    'Look at the clock of the device. If it is right now, it was ahead before: make a new key for the device, or restart the gateway. If the device is elsewhere, somebody repeats its old messages, which does no harm.',
  not_confirmed:
    'Import its present file on it again: its preshared key may be another one. If that does not help, something drops the UDP packets from the gateway to it: look at the firewalls at the address that its handshakes come from.',
  under_way: 'Ask again in some seconds.',
  handshake_refused: 'Look at the metrics and the log of the gateway.',
  key_not_registered:
    'If that is this device, its file has another private key: import its present file, or give the device here the public key that it has. Anybody can send such a key, so make sure that it is that of the device.',
  other_gateway_key:
    'If that is this device, its file has the public key of another gateway, or the one of before: import its present file on it again.',
  nothing_arrived:
    'Is the tunnel on at the device, does the endpoint in its file lead to this gateway, and does its network let UDP pass to that port? Look also at the list of unknown senders.',
  elsewhere: 'Ask that gateway.',
  device_off: 'Switch it on.',
  device_ended: 'Set another end, or none.',
  owner_disabled: 'Enable the owner.',
  session_ended: 'The owner signs in again.',
  not_served:
    'Look at the problems on the page Overview: its row cannot be obeyed, or the data plane has not got it yet.',
};

/** What the administrator reads. */
export function findingText(found: Found): string {
  switch (found.code) {
    case 'connected':
      return 'It is connected, and its packets pass.';
    case 'nothing_inside':
      return 'It is connected, but no packet of it has passed since this gateway serves it.';
    case 'wrong_inner_address': {
      const { address, count } = found.wrong;
      return `It is connected, but it sends from ${address}, which is not its address: ${times(count)}, and nothing else passes.`;
    }
    case 'inner_packets_too_big': {
      const { bytes, count } = found.tooBig;
      return `It is connected, but packets for it are too big: ${times(count)} since its last handshake, the last one of ${bytes} bytes.`;
    }
    case 'inner_packets_refused':
      return `It is connected, but no packet of it passes. ${reasonInWords(found.refused.reason)}`;
    case 'quota_exceeded':
      return 'It is connected, but its owner has used up the quota of this month: only the gateway itself can be reached.';
    case 'key_used_twice':
      return `Two devices use its key: handshakes came in turn from ${placesOf(found.attempts)}.`;
    case 'elsewhere':
      return `It is connected to ${found.gatewayName ?? 'another gateway'} since ${when(found.sinceMs)}.`;
    case 'key_not_registered':
    case 'other_gateway_key':
      return strangerText(found.stranger);
    case 'nothing_arrived':
      return nothingText(found);
    case 'dated_before':
    case 'not_confirmed':
    case 'under_way':
    case 'handshake_refused':
      return failureText(found);
    case 'device_off':
    case 'device_ended':
    case 'owner_disabled':
    case 'session_ended':
    case 'not_served':
      return BARRED[found.code];
  }
}

const BARRED = {
  device_off: 'It is switched off.',
  device_ended: 'It has ended: it was to be used until a time that has passed.',
  owner_disabled: 'Its owner is disabled.',
  session_ended: 'The VPN session of its owner has ended: the owner must sign in again.',
  not_served: 'This gateway does not serve it at the moment.',
} as const;

function failureText({ code, attempt }: Extract<Found, { attempt: unknown }>): string {
  const { endpoint, count, firstAtMs, datedMs, latestDatedMs, reason } = attempt;
  const place = `from ${endpointInWords(endpoint)}, ${lastly(attempt)}`;
  const came = `${times(count)}, ${place}`;
  const began = count === 1 ? 'once' : `${times(count)} since ${when(firstAtMs)}`;
  switch (code) {
    case 'under_way':
      return `It has just begun a handshake from ${endpointInWords(endpoint)}.`;
    case 'not_confirmed':
      return reason === null
        ? `Its handshakes are answered, but it never uses an answer: ${began}, ${place}.`
        : `It answers handshakes of the gateway with something that cannot be opened: ${came}.`;
    case 'dated_before':
      return `Its handshakes are refused, because they are dated before the latest one: ${came}, dated ${when(datedMs)}; the latest one was dated ${when(latestDatedMs)}.`;
    case 'handshake_refused':
      return `Its handshakes are refused: ${came}. ${reason === null ? '' : reasonInWords(reason)}`;
  }
}

function strangerText(stranger: Stranger): string {
  const { endpoint, count } = stranger;
  const came = `from ${endpointInWords(endpoint)}, where the device was last: ${times(count)}, ${lastly(stranger)}`;
  return 'publicKey' in stranger
    ? `Handshakes with a key that no device has come ${came}. The key is ${stranger.publicKey}.`
    : `Handshakes for the key of another gateway come ${came}.`;
}

function nothingText({
  lastMs,
  initiated,
  away,
}: Extract<Found, { code: 'nothing_arrived' }>): string {
  const own =
    initiated === null
      ? ''
      : ` The gateway began a handshake with it at ${endpointInWords(initiated.endpoint)} without an answer: ${times(initiated.count)}, ${lastly(initiated)}.`;
  const since = lastMs === null ? '' : ` since its handshake of ${when(lastMs)}`;
  if (away === null) return `Nothing has arrived from it${since}.${own}`;
  if (away.last === null)
    return `Nothing has arrived from it at this gateway${since}.${own}${othersText(away)}`;
  const { gatewayName: name, isRunning } = away.last;
  const stopped = isRunning ? '' : ', which does not run any more';
  return `Nothing has arrived from it at this gateway. Its latest handshake was with ${name ?? 'another gateway'}${stopped}, at ${when(lastMs)}.${own}${othersText(away)}`;
}

function othersText({ hasOthers }: Away): string {
  return hasOthers ? ' Other gateways run too: ask each of them.' : '';
}

function placesOf(attempts: readonly { readonly endpoint: Endpoint | null }[]): string {
  return [...new Set(attempts.map(({ endpoint }) => endpointInWords(endpoint)))].join(' and ');
}

function lastly({ count, lastAtMs }: { count: number; lastAtMs: number }): string {
  return `${count === 1 ? '' : 'last '}at ${when(lastAtMs)}`;
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}

/** A time to the second, in UTC; a time that no calendar has, or none, is unknown. */
function when(ms: number | null): string {
  const time = ms === null ? null : timeOf(ms);
  return time === null
    ? 'an unknown time'
    : `${time.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** A time of a message, which may be senseless; null where no calendar has it. */
export function timeOf(ms: number): Date | null {
  const time = new Date(ms);
  // Years beyond 9999 have another form.
  return Number.isNaN(time.getTime()) || time.getTime() < 0 || time.getUTCFullYear() > 9_999
    ? null
    : time;
}
