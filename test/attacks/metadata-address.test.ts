// The address of a SAML provider's metadata falls into the wrong hands: it serves giants, bombs,
// redirects without an end, drips, or another provider. And strangers post answers with bad
// signatures, each of which could ask for a fetch. The former metadata serve on, the gateway answers
// and stays small, and the address is asked once.

import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import {
  answerXml,
  base64,
  BOTH,
  ENTITY_ID,
  goodWords,
  idpMetadata,
  otherIdpKey,
  requestIn,
} from '../support/auth/bad-saml-provider.ts';
import { startGateway } from '../support/gateway/gateway-process.ts';
import { serveHere } from '../support/gateway/served-gateway.ts';
import { signOnService } from '../support/auth/identity-provider.ts';
import { openMetadataAddress, type Served } from '../support/auth/metadata-address.ts';

const good = idpMetadata(signOnService());
const evilKey = { key: otherIdpKey };
/** A free API answers in some ms, a loaded machine needs more. */
const ANSWER_MS_MAX = 1_000;
/** The giants below are of hundreds of megabytes, or without an end. */
const GROWTH_MB_MAX = 150;

/** Sends until nobody takes more. */
function pour(response: ServerResponse, chunk: Buffer, pauseMs: number): void {
  const more = (): void => {
    if (response.destroyed) return;
    if (!response.write(chunk)) response.once('drain', more);
    else setTimeout(more, pauseMs);
  };
  more();
}

const bomb = gzipSync(Buffer.alloc(200_000_000, 32), { level: 1 });

const laughs = Array.from(
  { length: 30 },
  (_, i) => `<!ENTITY a${i + 1} "${`&a${i};`.repeat(10)}">`,
).join('');
const inside = (xml: string): string => good.replace('</EntityDescriptor>', `${xml}$&`);

const hostile: [says: string, served: Served, problem: RegExp][] = [
  [
    'a body without an end',
    (response) => pour(response, Buffer.alloc(65_536, 32), 0),
    /larger than/,
  ],
  [
    'a body that drips',
    (response) => pour(response, Buffer.from(' '), 100),
    /not there within 5 s/,
  ],
  ['no body at all', (response) => response.writeHead(200).flushHeaders(), /within 5 s/],
  [
    'a packed giant',
    (response) => void response.setHeader('content-encoding', 'gzip').end(bomb),
    /larger than 1048576 bytes/,
  ],
  [
    'redirects without an end',
    (response) => void response.writeHead(302, { location: '?again' }).end(),
    /redirects more than 3 times/,
  ],
  [
    'a redirect to http',
    (response) => void response.writeHead(302, { location: 'http://192.0.2.1/' }).end(),
    /not https/,
  ],
  [
    'a redirect to a file',
    (response) => void response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
    /not https/,
  ],
  ['a bomb of entities', `<!DOCTYPE x [<!ENTITY a0 "a">${laughs}]>${inside('&a30;')}`, /DOCTYPE/],
  ['a depth without an end', inside('<a>'.repeat(200_000)), /more than|nested deeper/],
  ['tags by the hundred thousand', inside('<a/>'.repeat(200_000)), /more than 10000 tags/],
  [
    'prefixes by the thousand',
    inside(Array.from({ length: 5_000 }, (_, i) => `<a xmlns:p${i}="u" p${i}:b="1"/>`).join('')),
    /prefixes|attributes/,
  ],
  [
    'another provider',
    idpMetadata(signOnService(), { entityId: 'urn:evil', ...evilKey }),
    /another/,
  ],
  [
    'a name that differs by an entity',
    idpMetadata(signOnService(), { entityId: `${ENTITY_ID}&#x200B;`, ...evilKey }),
    /another/,
  ],
];

test('an address in the wrong hands changes nothing', async (t) => {
  const gateway = await startGateway(t, { LOG_LEVEL: 'info', API_RATE_LIMIT: '0' });
  const address = await openMetadataAddress(t, good);
  const entry = { id: 'adfs', label: 'A', auto_create_users: false, metadata_url: address.url };
  const saved = await gateway.call('PATCH', '/v0/configuration', {
    configuration: { saml_identity_providers: [entry] },
  });
  t.is(saved.status, 200, saved.text);
  const refresh = async () =>
    (await gateway.call('PUT', '/v0/saml_metadata/adfs', { saml_metadata: { refresh: true } })).body
      .data;
  const { certificates } = await refresh();
  t.is(certificates.length, 1);
  const memoryMb = (): number =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${gateway.pid}/status`, 'utf8'))?.[1]) / 1_024;
  const before = memoryMb();
  let [longestMs, most, isOver] = [0, 0, false];
  const asking = (async () => {
    while (!isOver) {
      const beganMs = performance.now();
      await (await fetch(`${gateway.url}/healthz`)).text();
      longestMs = Math.max(longestMs, performance.now() - beganMs);
      most = Math.max(most, memoryMb());
      await sleep(20);
    }
  })();
  for (const [says, served, problem] of hostile) {
    address.serve(served);
    const state = await refresh();
    t.regex(state.problem ?? 'none', problem, says);
    t.is(state.entity_id, ENTITY_ID, says);
    t.deepEqual(state.certificates, certificates, says);
  }
  isOver = true;
  await asking;
  t.log(
    `longest answer ${Math.round(longestMs)} ms; ${Math.round(before)} MB, then ${Math.round(most)}`,
  );
  t.true(longestMs < ANSWER_MS_MAX, `an answer took ${Math.round(longestMs)} ms`);
  t.true(most - before < GROWTH_MB_MAX, `grew by ${Math.round(most - before)} MB`);
  t.true(gateway.output().includes('SAML metadata were not refreshed'));
});

test('strangers with bad signatures cause one fetch', async (t) => {
  const gateway = await serveHere(t, { LOG_LEVEL: 'info', API_RATE_LIMIT: '0' });
  const address = await openMetadataAddress(t, good);
  const entry = { id: 'adfs', label: 'A', auto_create_users: false, metadata_url: address.url };
  await gateway.call('PATCH', '/v0/configuration', {
    configuration: { saml_identity_providers: [entry] },
  });
  await sleep(1_000);
  const count = address.count();
  const attack = async (): Promise<number> => {
    const begun = await fetch(`${gateway.url}/auth/saml/auth/signin/adfs`, { redirect: 'manual' });
    const location =
      begun.headers.get('location') ?? /https:\/\/idp[^"]+/.exec(await begun.text())?.[0] ?? '';
    const { id, query } = requestIn(location.replaceAll('&amp;', '&'));
    const consume = `${gateway.url}/auth/saml/sp/consume/adfs`;
    const xml = answerXml(goodWords(id, consume), { ...BOTH, key: otherIdpKey });
    const body = new URLSearchParams({
      SAMLResponse: base64(xml),
      RelayState: query.get('RelayState') ?? '',
    });
    return (await fetch(consume, { method: 'POST', body, redirect: 'manual' })).status;
  };
  for (let i = 0; i < 12; i += 1) t.is(await attack(), 502);
  t.regex(gateway.output(), /"detail":"signature"/);
  t.is(address.count() - count, 1);
});
