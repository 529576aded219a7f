// `postern explain`: what becomes of a packet, asked of the gateway that runs.

import type { Answer } from '../observe/explain/fields.ts';
import { isAddress, isUuid } from '../kit/validation/texts.ts';
import type { LocalGateway } from './ask-gateway.ts';
import type { Hints } from './error-words.ts';
import { rulesInWords } from './rule-words.ts';
import type { Command, Outcome } from './run.ts';
import { readService } from './typed-service.ts';

const HINTS: Hints = {
  source: 'the address of a host behind the gateway or, with --source, behind the device',
  destination: 'an address, or the id or the name of a device',
  protocol:
    'tcp/443, udp/53, icmp (in place of 1 and 58), or the number of another protocol, such as 47',
  port: 'tcp/443 or udp/53',
  size: 'bytes of the packet with its headers, up to 65535',
};

/** The protocol of the question if nobody named one. */
const PING = 'icmp';

/** Explains what becomes of a packet between a device and an address, or two devices. */
export async function explainPacket(gateway: LocalGateway, command: Command): Promise<Outcome> {
  const { operands, options } = command;
  const { source, size } = options;
  const [sender = '', destination = '', service = PING] = operands;
  const explain = {
    ...(await senderOf(gateway, sender, source)),
    destination: await destinationOf(gateway, destination),
    ...protocolOf(service),
    ...(source === undefined ? {} : { source }),
    ...(size === undefined ? {} : { size: numberOf(size) }),
  };
  const answer = await gateway.ask('POST', '/v0/explain', { explain }, HINTS);
  const { data } = answer as { data: Answer };
  // Programs get ids, so no rule is asked for.
  if (options.json) return { text: '', data };
  const text = explanationText(data, await rulesOf(gateway, data));
  return { text: `${askedIn(command)}\n${text}`, data };
}

/** The question, as it was typed and understood. */
function askedIn({ operands, options: { source, size } }: Command): string {
  const [sender = '', destination = '', service = null] = operands;
  const from = source === undefined ? sender : `${source} behind ${sender}`;
  const why = service === null ? ', because no protocol was named' : '';
  const protocol = (service ?? PING).toLowerCase();
  const what = protocol === PING ? `${protocol} (a ping${why})` : protocol;
  const bytes = size === undefined ? '' : `, ${size} bytes`;
  return `asked: from ${from} to ${destination}, ${what}${bytes}`;
}

/**
 * An address that no device has is the address of a host behind the gateway; `behind` is for
 * devices alone.
 */
async function senderOf(
  gateway: LocalGateway,
  word: string,
  behind: string | undefined,
): Promise<{ device_id: string } | { source: string }> {
  if (!isAddress(word) || behind !== undefined)
    return { device_id: (await gateway.finds.device(word)).id };
  const device = await gateway.finds.deviceIfAny(word);
  return device === null ? { source: word } : { device_id: device.id };
}

async function destinationOf(gateway: LocalGateway, word: string): Promise<string> {
  const isKnown = isAddress(word) || isUuid(word);
  return isKnown ? word : (await gateway.finds.device(word)).id;
}

function protocolOf(word: string): { protocol: string; port?: number | string } {
  const { protocol, port } = readService(word);
  return port === undefined ? { protocol } : { protocol, port: numberOf(port) };
}

/** The number, if one was typed; the gateway refuses any other text. */
function numberOf(word: string): number | string {
  return /^\d+$/.test(word) ? Number(word) : word;
}

/** The rules of an answer, in words. */
interface Rules {
  readonly deciding: readonly string[];
  readonly staged: readonly string[];
  readonly shadowed: readonly string[];
}

async function rulesOf(gateway: LocalGateway, answer: Answer): Promise<Rules> {
  const { rule_id: rule, staged_rule_id: staged, shadowed } = answer;
  return {
    deciding: await rulesInWords(gateway, rule === null ? [] : [rule]),
    staged: await rulesInWords(gateway, staged === null ? [] : [staged]),
    shadowed: await rulesInWords(gateway, shadowed),
  };
}

const MARKS = { passed: 'ok', waits: '..', refused: 'NO', not_reached: '' } as const;

function explanationText(answer: Answer, rules: Rules): string {
  const { verdict, text, advice, gates, host, latest_handshake: handshake } = answer;
  const width = gates.reduce((widest, { code }) => Math.max(widest, code.length), 0);
  return [
    `${verdict}: ${text}${advice === null ? '' : ` ${advice}`}`,
    ...rules.deciding.map((rule) => `rule: ${rule}`),
    ...rules.staged.map((rule) => `staged rule: ${rule}`),
    ...rules.shadowed.map((rule) => `a rule that matches too: ${rule}`),
    `latest handshake: ${handshake ?? 'none, the device never connected'}`,
    ...host.map(({ check, message, fix }) => `host: ${check}: ${message}. ${fix ?? ''}`.trimEnd()),
    '',
    ...gates.map(({ code, outcome, text: said }) =>
      `${MARKS[outcome].padEnd(2)}  ${code.padEnd(width)}  ${outcome === 'not_reached' ? '' : said}`.trimEnd(),
    ),
  ].join('\n');
}
