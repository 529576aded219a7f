// The mail server as it is greeted without a mail: what it says of user and password, and TLS that
// is missing, of another kind than meant, or that nobody vouches for.

import { once } from 'node:events';
import { type AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { makeCertificate } from '../../../../lib/auth/saml/certificate.ts';
import { greet } from '../../../../lib/kit/mail/server.ts';
import { openSmtpServer } from '../../../support/network/smtp-server.ts';

const OVER_TLS = 'The mail server cannot be reached over TLS';

/** The address of a server of TLS whose certificate nobody vouches for. */
async function openTls(t: ExecutionContext): Promise<string> {
  const { privateKey, certificate } = await makeCertificate(new Date(), Uint8Array.of(1));
  const server = createServer({ key: privateKey, cert: certificate });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a server that would take mails gets none', async (t) => {
  const smtp = await openSmtpServer(t);
  const server = smtp.url.replace('smtp://', '');
  t.deepEqual(await greet(smtp.url), { server, error: null, isSafe: true });
  t.deepEqual(await greet(`smtp://ann:secret@${server}`), { server, error: null, isSafe: true });
  smtp.manners.refuses = { AUTH: '535 no' };
  const { error } = await greet(`smtp://ann:secret@${server}`);
  t.is(error?.reason, 'mail_login_refused');
  t.is(smtp.mails.length, 0);
});

test('TLS that fails is said to fail, and not taken for a server that is away', async (t) => {
  t.is((await greet(`smtps://${await openTls(t)}`)).error?.text, OVER_TLS);
  const smtp = await openSmtpServer(t);
  t.is((await greet(smtp.url.replace('smtp:', 'smtps:'))).error?.text, OVER_TLS);
  const away = await greet('smtps://127.0.0.1:1');
  t.is(away.error?.text, 'The mail server cannot be reached, or takes too long');
  t.is((await greet('smtp://no-such-host.invalid')).error?.text, away.error?.text);
});

test('over a network, a server without STARTTLS is not safe, and gets no password', async (t) => {
  const smtp = await openSmtpServer(t);
  smtp.manners.refuses = { STARTTLS: '502 what' };
  // Linux reaches itself by this address too, and it does not say that no network is between.
  const abroad = smtp.url.replace('127.0.0.1', '0.0.0.0');
  t.like(await greet(abroad), { error: null, isSafe: false });
  const { error } = await greet(abroad.replace('//', '//ann:secret@'));
  t.is(error?.text, OVER_TLS);
});

test('the ports of both protocols, and an address of IPv6', async (t) => {
  const servers = await Promise.all(
    ['smtp://127.0.0.9', 'smtps://127.0.0.9', 'smtp://[::1]:1'].map((url) => greet(url)),
  );
  t.deepEqual(
    servers.map(({ server }) => server),
    ['127.0.0.9:587', '127.0.0.9:465', '[::1]:1'],
  );
});
