// A stranger posts XML that is dear to verify: thousands of attributes and prefixes around a
// signature, which is looked at before it is found bad. The door of sign-out needs no state. The
// API answers all the while.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { base64, idpMetadata } from '../support/auth/bad-saml-provider.ts';
import { startGateway } from '../support/gateway/gateway-process.ts';
import { signOnService } from '../support/auth/identity-provider.ts';

const LOGOUT = '/auth/saml/sp/logout/saml-idp';
/** The attack took 5 s; a free API answers in some ms, a loaded machine needs more. */
const ANSWER_MS_MAX = 1_000;

/** A request to sign out with a signature over all of it; as large as its numbers. */
function hostile(prefixes: number, attributes: number): string {
  const declared = Array.from({ length: prefixes }, (_, i) => ` xmlns:p${i}="u${i}"`).join('');
  const inner = Array.from(
    { length: attributes },
    (_, i) => `<x p${i % prefixes}:a${i}="1" p${(i + 1) % prefixes}:b${i}="1"/>`,
  ).join('');
  const method = (name: string, algorithm: string, end = '/>') =>
    `<d:${name} Algorithm="${algorithm}"${end}`;
  const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#';
  const enveloped = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature';
  const signature = `<d:Signature xmlns:d="http://www.w3.org/2000/09/xmldsig#"><d:SignedInfo>${method('CanonicalizationMethod', exclusive)}${method('SignatureMethod', 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256')}<d:Reference URI="#_l"><d:Transforms>${method('Transform', enveloped)}${method('Transform', exclusive)}</d:Transforms>${method('DigestMethod', 'http://www.w3.org/2001/04/xmlenc#sha256')}<d:DigestValue>AAAA</d:DigestValue></d:Reference></d:SignedInfo><d:SignatureValue>AAAA</d:SignatureValue></d:Signature>`;
  return `<p:LogoutRequest xmlns:p="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:a="urn:oasis:names:tc:SAML:2.0:assertion"${declared} ID="_l" Version="2.0"><a:Issuer>x</a:Issuer>${signature}${inner}</p:LogoutRequest>`;
}

test('no XML holds up the API', async (t) => {
  const gateway = await startGateway(t, { LOG_LEVEL: 'info' });
  const entry = {
    id: 'saml-idp',
    label: 'SAML',
    auto_create_users: false,
    metadata: idpMetadata(signOnService()),
  };
  const saved = await gateway.call('PATCH', '/v0/configuration', {
    configuration: { saml_identity_providers: [entry] },
  });
  t.is(saved.status, 200, saved.text);
  const post = async (xml: string): Promise<number> => {
    const body = new URLSearchParams({ SAMLRequest: base64(xml) });
    return (await fetch(gateway.url + LOGOUT, { method: 'POST', body })).status;
  };
  // The first one loads the verifier.
  await post('<x/>');
  let isOver = false;
  let longestMs = 0;
  const asking = (async () => {
    while (!isOver) {
      const beganMs = performance.now();
      await (await fetch(`${gateway.url}/healthz`)).text();
      longestMs = Math.max(longestMs, performance.now() - beganMs);
      await sleep(20);
    }
  })();
  const [large, underTheLimits] = [hostile(4_000, 9_000), hostile(60, 900)];
  t.true(large.length < 500_000);
  const statuses = [await post(large), await post(underTheLimits)];
  isOver = true;
  await asking;
  t.log(`longest answer ${Math.round(longestMs)} ms`);
  t.true(longestMs < ANSWER_MS_MAX, `an answer took ${Math.round(longestMs)} ms`);
  t.deepEqual(statuses, [413, 403], 'one is too large, one is under all limits');
});
