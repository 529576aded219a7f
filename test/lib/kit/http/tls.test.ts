// HTTPS without a proxy, over real sockets: certificates of files, changed while the server listens.

import { randomBytes } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, getCiphers, type TLSSocket } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { followCertificate, readCertificate } from '../../../../lib/kit/http/tls.ts';
import { makeCertificate } from '../../../../lib/auth/saml/certificate.ts';
import { openServer, type LogLine, logInto } from '../../../support/api/server.ts';

interface Files {
  httpTlsCert: string;
  httpTlsKey: string;
  /** Puts another certificate in their place; resolves to its serial number. */
  renew: () => Promise<string>;
}

async function files(t: ExecutionContext): Promise<Files> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-tls-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const paths = { httpTlsCert: join(folder, 'tls.crt'), httpTlsKey: join(folder, 'tls.key') };
  const renew = async (): Promise<string> => {
    const serial = randomBytes(8);
    serial[0] = 0x11;
    const { privateKey, certificate } = await makeCertificate(new Date(), serial);
    for (const [path, text] of [
      [paths.httpTlsCert, certificate],
      [paths.httpTlsKey, privateKey],
    ] as const) {
      writeFileSync(`${path}.new`, text);
      renameSync(`${path}.new`, path);
    }
    return serial.toString('hex').toUpperCase();
  };
  return { ...paths, renew };
}

async function listen(t: ExecutionContext, paths: Files) {
  const settings = {
    HTTP_TLS_CERT: paths.httpTlsCert,
    HTTP_TLS_KEY: paths.httpTlsKey,
    HTTP_PORT: '0',
  };
  const opened = await openServer(t, 'sqlite', settings);
  await opened.server.start();
  t.teardown(() => opened.server.stop({ timeout: 0 }));
  return { ...opened, port: Number(opened.server.info.port) };
}

/** Asks for /healthz; the status, and the serial number of the certificate that was shown. */
function ask(port: number): Promise<{ status: number; serial: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(
      { host: '127.0.0.1', port, path: '/healthz', rejectUnauthorized: false, agent: false },
      (answer) => {
        const serial = (answer.socket as TLSSocket).getPeerCertificate().serialNumber;
        answer.resume().on('end', () => resolve({ status: answer.statusCode ?? 0, serial }));
      },
    );
    asked.on('error', reject).end();
  });
}

test('HTTPS is served, and a certificate that is renewed is shown to whoever comes next', async (t) => {
  const paths = await files(t);
  const serial = await paths.renew();
  const { server, port } = await listen(t, paths);
  t.regex(server.info.uri, /^https:/);
  t.deepEqual(await ask(port), { status: 200, serial });
  const log: LogLine[] = [];
  const following = followCertificate(paths, server.listener, logInto(log), 20);
  t.teardown(following.stop);
  const renewed = await paths.renew();
  for (let i = 0; i < 250 && (await ask(port)).serial !== renewed; i++) await sleep(20);
  t.is((await ask(port)).serial, renewed);
  t.is(log.at(-1)?.message, 'the certificate was read again');

  writeFileSync(paths.httpTlsKey, 'no key');
  for (let i = 0; i < 250 && log.at(-1)?.level !== 'warn'; i++) await sleep(20);
  t.regex(log.at(-1)?.message ?? '', /could not be read again; the one before stays in force/);
  t.is((await ask(port)).serial, renewed);
  const lines = log.length;
  await sleep(100);
  t.is(log.length, lines, 'said once');
});

test('files that cannot even be looked at leave the certificate as it is', async (t) => {
  const paths = await files(t);
  const serial = await paths.renew();
  const { server, port } = await listen(t, paths);
  const log: LogLine[] = [];
  const following = followCertificate(paths, server.listener, logInto(log), 20);
  t.teardown(following.stop);
  // A link to itself is refused to everyone, root too, as a closed folder is to others.
  rmSync(paths.httpTlsCert);
  symlinkSync(paths.httpTlsCert, paths.httpTlsCert);
  for (let i = 0; i < 250 && log.length === 0; i++) await sleep(20);
  t.regex(log.at(-1)?.message ?? '', /could not be read again; the one before stays in force/);
  t.regex(JSON.stringify(log.at(-1)?.fields), /ELOOP/);
  following.read();
  t.is((await ask(port)).serial, serial);
});

test('the files can be read again at any time', async (t) => {
  const paths = await files(t);
  await paths.renew();
  const { server, port } = await listen(t, paths);
  const following = followCertificate(paths, server.listener, logInto([]), 3_600_000);
  t.teardown(following.stop);
  const renewed = await paths.renew();
  following.read();
  t.is((await ask(port)).serial, renewed);
});

test('who does not speak TLS is hung up on and counted, and old TLS is not spoken', async (t) => {
  const paths = await files(t);
  await paths.renew();
  const { services, port } = await listen(t, paths);
  const plain = connectTcp(port, '127.0.0.1', () =>
    plain.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n'),
  );
  let answer = '';
  plain.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
  plain.on('error', () => undefined);
  await new Promise((resolve) => plain.once('close', resolve));
  t.notRegex(answer, /HTTP/);
  t.is(services.counters.of('connections_refused', 'tls_failed'), 1);
  const old = connect({
    host: '127.0.0.1',
    port,
    rejectUnauthorized: false,
    maxVersion: 'TLSv1.1',
    minVersion: 'TLSv1',
  });
  await t.throwsAsync(
    new Promise((resolve, reject) => void old.once('secureConnect', resolve).once('error', reject)),
  );
  t.is((await ask(port)).status, 200);
});

/** The suites of TLS 1.2 that the server takes, each asked for alone. */
async function suitesOf(port: number): Promise<string[]> {
  const taken: string[] = [];
  for (const name of getCiphers()) {
    if (name.startsWith('tls_')) continue;
    const socket = connect({
      host: '127.0.0.1',
      port,
      rejectUnauthorized: false,
      maxVersion: 'TLSv1.2',
      ciphers: `${name.toUpperCase()}:@SECLEVEL=0`,
    });
    const isTaken = await new Promise<boolean>((resolve) => {
      socket.once('secureConnect', () => resolve(true)).once('error', () => resolve(false));
    });
    if (isTaken) taken.push(socket.getCipher().name);
    socket.destroy();
  }
  return taken.toSorted();
}

test('of the suites of TLS 1.2 only AEAD with forward secrecy is spoken, also after a renewal', async (t) => {
  const paths = await files(t);
  await paths.renew();
  const { server, port } = await listen(t, paths);
  const good = [
    'ECDHE-RSA-AES128-GCM-SHA256',
    'ECDHE-RSA-AES256-GCM-SHA384',
    'ECDHE-RSA-CHACHA20-POLY1305',
  ];
  t.deepEqual(await suitesOf(port), good);
  const following = followCertificate(paths, server.listener, logInto([]), 3_600_000);
  t.teardown(following.stop);
  await paths.renew();
  following.read();
  t.deepEqual(await suitesOf(port), good);
});

test('files that are no good are named with their setting', async (t) => {
  const paths = await files(t);
  t.is(readCertificate({ httpTlsCert: null, httpTlsKey: null }), null);
  t.throws(() => readCertificate(paths), {
    message: /^HTTP_TLS_CERT names .*tls\.crt, which cannot be read/,
  });
  await paths.renew();
  t.true((readCertificate(paths)?.validUntil.getTime() ?? 0) > Date.now());
  const other = await files(t);
  await other.renew();
  t.throws(() => readCertificate({ ...paths, httpTlsKey: other.httpTlsKey }), {
    message:
      /^HTTP_TLS_CERT \(.*\) and HTTP_TLS_KEY \(.*\) are not a certificate and its key in PEM/,
  });
  const error = t.throws(() => readCertificate({ ...paths, httpTlsKey: paths.httpTlsCert }));
  t.notRegex(error?.message ?? '', /BEGIN/);
});

test('a listener of plain HTTP has nothing to follow', (t) => {
  const following = followCertificate({ httpTlsCert: null, httpTlsKey: null }, {}, logInto([]));
  following.read();
  following.stop();
  t.pass();
});
