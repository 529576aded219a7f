// Why a device cannot connect, as pages show it: to administrators with all facts behind it, to the
// owner in plain words; and unknown senders. If the gateway does not answer, pages leave it out.

import { askDiagnosis, askUnknownSenders } from '../../observe/diagnosis/ask.ts';
import type { Diagnosed } from '../../observe/diagnosis/diagnose.ts';
import type { Diagnosis, ShownAttempt, ShownSender } from '../../observe/diagnosis/fields.ts';
import { endpointInWords } from '../../observe/diagnosis/place.ts';
import { offByYou, ownerWords } from '../../observe/diagnosis/words.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { reasonInWords } from '../../domain/policy/reason-words.ts';
import type { Web } from '../kit/web.ts';

/** So many unknown senders are on a page; the API lists them all. */
const SENDERS_SHOWN = 10;

/** A line of a table: what, where, how often, when. */
interface Line {
  readonly what: string;
  /** The device that has this key and is not served; null: none. */
  readonly deviceId: string | null;
  readonly place: string;
  readonly count: string;
  /** ISO 8601. */
  readonly last: string;
}

/** What the page of a device shows to administrators. */
export interface DiagnosisView {
  readonly code: Diagnosis['code'];
  readonly badge: 'good' | 'bad' | '';
  readonly text: string;
  readonly advice: string;
  /** ISO 8601; null: it is not connected. */
  readonly since: string | null;
  readonly attempts: readonly Line[];
  readonly senders: readonly Line[];
}

/** Why a device cannot connect, for administrators; null where the gateway does not answer. */
export async function diagnosisView(web: Web, device: Diagnosed): Promise<DiagnosisView | null> {
  const found = await orNull(askDiagnosis(web.services, web.recall, device));
  if (found === null) return null;
  return {
    code: found.code,
    badge: badgeOf(found.code),
    text: found.text,
    advice: found.advice,
    since: found.connected_since,
    attempts: found.attempts.map((one) => lineOf(one, attemptInWords(one))),
    senders: found.unknown_senders.map(senderLine),
  };
}

/** Why it cannot connect, in plain words for its owner; null where the gateway does not answer. */
export async function ownDiagnosisView(
  web: Web,
  device: Diagnosed,
): Promise<Pick<DiagnosisView, 'badge' | 'text' | 'advice'> | null> {
  const found = await orNull(askDiagnosis(web.services, web.recall, device));
  if (found === null) return null;
  const isOffByYou = found.code === 'device_off' && device.disabled_by === 'owner';
  return { badge: badgeOf(found.code), ...(isOffByYou ? offByYou : ownerWords[found.code]) };
}

/** What the dashboard shows of unknown senders. */
export interface UnknownSendersView {
  readonly list: readonly Line[];
  /** How many are not shown. */
  readonly more: number;
}

/** Who sends what no device can have sent; null where the gateway does not answer. */
export async function unknownSendersView(web: Web): Promise<UnknownSendersView | null> {
  const found = await orNull(askUnknownSenders(web.services));
  if (found === null) return null;
  const all = [...found.keys, ...found.other_gateway].toSorted((a, b) =>
    b.last_at.localeCompare(a.last_at),
  );
  const list = all.slice(0, SENDERS_SHOWN).map(senderLine);
  return { list, more: all.length - list.length };
}

async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'service_unavailable') return null;
    throw error;
  }
}

function badgeOf(code: Diagnosis['code']): DiagnosisView['badge'] {
  if (code === 'connected') return 'good';
  return ['nothing_inside', 'under_way', 'elsewhere', 'nothing_arrived'].includes(code)
    ? ''
    : 'bad';
}

function attemptInWords({ outcome, begun_by: by, reason }: ShownAttempt): string {
  if (outcome === 'confirmed') return 'It connected.';
  if (outcome === 'unconfirmed')
    return 'The gateway answered, and the device never used the answer.';
  if (outcome === 'no_answer') return 'The gateway asked, and the device did not answer.';
  const why = reason === null ? '' : ` ${reasonInWords(reason)}`;
  return `${by === 'gateway' ? 'Its answer' : 'Its handshake'} was refused.${why}`;
}

function senderLine(sender: ShownSender): Line {
  const what = sender.public_key ?? 'for the key of another gateway';
  return { ...lineOf(sender, what), deviceId: sender.device_id };
}

function lineOf(one: ShownAttempt | ShownSender, what: string): Line {
  const { remote_ip: address, remote_port: port } = one;
  return {
    what,
    deviceId: null,
    place: endpointInWords(address === null || port === null ? null : { address, port }),
    count: one.count.toLocaleString('en'),
    last: one.last_at,
  };
}
