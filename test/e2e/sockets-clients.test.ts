// Programs that people use, through a gateway without a TUN: curl and a browser at a web server of
// the LAN, by HTTP over TCP and over UDP.

import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import type { Host } from '../support/network/namespaces.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  LAN4,
  TUNNEL4,
} from '../support/network/topology.ts';
import { temporaryFolder } from '../support/suite/temporary-folder.ts';
import { enrol } from './people.ts';

const BYTES = 5_000_000;
const SITE = `${LAN4}:8443`;

/** Loads a file and says what came, and by which protocol. */
const PAGE = `<!doctype html><title>a page</title><body>nothing yet<script type="module">
  const answer = await fetch('/bytes');
  const digest = await crypto.subtle.digest('SHA-256', await answer.arrayBuffer());
  const hex = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  const [entry] = performance.getEntriesByName(answer.url);
  document.body.textContent = 'got ' + hex + ' by ' + entry.nextHopProtocol;
</script>`;

/** Makes a certificate; returns the hash of its key, by which the browser trusts it. */
function makeCertificate(folder: string): string {
  const openssl = (...words: string[]): Buffer => execFileSync('openssl', words, { cwd: folder });
  const words =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 10 -subj /CN=site';
  const files = ['-keyout', 'key.pem', '-out', 'certificate.pem'];
  openssl(...words.split(' '), '-addext', `subjectAltName=IP:${LAN4}`, ...files);
  openssl('x509', '-in', 'certificate.pem', '-noout', '-pubkey', '-out', 'public.pem');
  const key = openssl('pkey', '-pubin', '-in', 'public.pem', '-outform', 'DER');
  return createHash('sha256').update(key).digest('base64');
}

/** The text of the page, as a browser on a host has it in the end. */
async function browse(host: Host, folder: string, key: string): Promise<string> {
  const { stdout } = await host.run(
    'timeout',
    '60',
    'chromium-headless-shell',
    '--no-sandbox',
    '--disable-gpu',
    `--user-data-dir=${folder}/profile`,
    `--ignore-certificate-errors-spki-list=${key}`,
    `--origin-to-force-quic-on=${SITE}`,
    '--virtual-time-budget=30000',
    '--dump-dom',
    `https://${SITE}/page.html`,
  );
  return /got \w+ by \w+/.exec(stdout)?.[0] ?? stdout;
}

test.serial('curl and a browser get a site by HTTP/1.1, HTTP/2 and HTTP/3', async (t) => {
  t.timeout(180_000);
  const { network, gateway, lan, alice } = await buildTopology('sc');
  t.teardown(() => network.remove());
  const settings = { ...WITHOUT_WARM_UP, WIREGUARD_TUN: 'sockets' };
  const postern = new Postern(gateway, API_ADDRESS, settings);
  await postern.start();
  t.teardown(() => postern.stop());
  const { client } = await enrol(postern, alice, 'a@example.test', `${GATEWAY4}:51820`);
  const { host } = client;
  await until('alice is connected', () => canPing(host, TUNNEL4), 15_000);

  const folder = temporaryFolder('postern-site-');
  const bytes = randomBytes(BYTES);
  const expected = createHash('sha256').update(bytes).digest('hex');
  writeFileSync(join(folder, 'bytes'), bytes);
  writeFileSync(join(folder, 'page.html'), PAGE);
  const key = makeCertificate(folder);
  const caddyfile = join(folder, 'Caddyfile');
  writeFileSync(
    caddyfile,
    `{
  admin off
  storage file_system ${folder}/caddy
  auto_https disable_redirects
  default_sni ${LAN4}
}
https://${SITE} {
  tls ${folder}/certificate.pem ${folder}/key.pem
  root * ${folder}
  file_server
}
`,
  );
  lan.start('caddy', ['run', '--config', caddyfile, '--adapter', 'caddyfile']);
  const url = `https://${SITE}/bytes`;
  await until('the site answers', () => lan.succeeds('curl', '-skfo', '/dev/null', url), 20_000);

  for (const version of ['--http1.1', '--http2']) {
    const { stdout } = await host.run('bash', '-c', `curl -skf ${version} ${url} | sha256sum`);
    t.is(stdout.split(' ')[0], expected, version);
  }
  t.is(await browse(host, folder, key), `got ${expected} by h3`);
});
