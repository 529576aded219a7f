// SAML messages that cost a parser or a reader of signatures much, under all limits: whatever they
// are, reading one ends soon, with a refusal and never with another error. That the main thread is
// free meanwhile, saml-time.test.ts shows.

import { strict as assert } from 'node:assert';
import process from 'node:process';
import { ProviderRefusal } from '../../../lib/auth/identity/refusal.ts';
import {
  checkMessageShape,
  MESSAGE_CHARACTERS_MAX,
  parseMessage,
} from '../../../lib/auth/saml/shape.ts';
import { ChoiceReader } from '../reader.ts';

/** Of the thread that reads it; some 20 ms are usual, and machines differ. */
const CPU_MS_MAX = 1_500;
const EXCLUSIVE = 'http://www.w3.org/2001/10/xml-exc-c14n#';
const ENVELOPED = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature';

/**
 * A message: the first bytes say how many prefixes, how deep, how many elements with how many
 * attributes, how long their values are, and how often the signature's parts stand; the rest are
 * bytes of the text itself.
 */
export function messageOf(input: Uint8Array): string {
  const reader = new ChoiceReader(input);
  const prefixes = 1 + (reader.byte() % 64);
  const depth = reader.byte() % 60;
  const elements = reader.word() % 2_000;
  const attributes = reader.byte() % 32;
  const length = reader.byte();
  const references = 1 + (reader.byte() % 40);
  const transforms = 1 + (reader.byte() % 40);
  const list = reader.byte();
  const text = Buffer.from(reader.slice(2_000)).toString('latin1');
  const declared = Array.from({ length: prefixes }, (_, i) => ` xmlns:p${i}="u${i}"`).join('');
  const element = (i: number): string => {
    const names = Array.from(
      { length: attributes },
      (_, j) => ` p${(i + j) % prefixes}:a${j}="${'v'.repeat(length)}"`,
    );
    return `<p${i % prefixes}:x${names.join('')}/>`;
  };
  const inclusive = `<e:InclusiveNamespaces xmlns:e="${EXCLUSIVE}" PrefixList="${'p0 '.repeat(list)}"/>`;
  const transform = `<d:Transform Algorithm="${ENVELOPED}"/><d:Transform Algorithm="${EXCLUSIVE}">${inclusive}</d:Transform>`;
  const reference = `<d:Reference URI="#_l"><d:Transforms>${transform.repeat(transforms)}</d:Transforms><d:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><d:DigestValue>AAAA</d:DigestValue></d:Reference>`;
  const signature = `<d:Signature xmlns:d="http://www.w3.org/2000/09/xmldsig#"><d:SignedInfo><d:CanonicalizationMethod Algorithm="${EXCLUSIVE}"/><d:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/>${reference.repeat(references)}</d:SignedInfo><d:SignatureValue>AAAA</d:SignatureValue></d:Signature>`;
  const head = `<p:LogoutRequest xmlns:p="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:a="urn:oasis:names:tc:SAML:2.0:assertion"${declared} ID="_l" Version="2.0"><a:Issuer>x</a:Issuer>${signature}${'<y>'.repeat(depth)}${text}`;
  const tail = `${'</y>'.repeat(depth)}</p:LogoutRequest>`;
  // As many elements as there is room for.
  let inner = '';
  for (let i = 0; i < elements; i += 1) {
    const next = element(i);
    if (head.length + inner.length + next.length + tail.length > MESSAGE_CHARACTERS_MAX) break;
    inner += next;
  }
  return head + inner + tail;
}

/** Reads a message as the thread does before it verifies. */
export function saml(input: Uint8Array): string {
  const text = messageOf(input);
  const began = process.threadCpuUsage();
  let outcome = 'read';
  try {
    const message = parseMessage(text);
    checkMessageShape(message, [message]);
  } catch (error) {
    assert(error instanceof ProviderRefusal, String(error));
    outcome = error.detail ?? '';
  }
  const { user, system } = process.threadCpuUsage(began);
  const ms = (user + system) / 1_000;
  assert(ms < CPU_MS_MAX, `${Math.round(ms)} ms for ${text.length} characters`);
  return outcome;
}
