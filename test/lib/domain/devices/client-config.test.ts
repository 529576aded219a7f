// The file of a device's client, line by line, and the name that it gets. docs/api.md#devices.

import test from 'ava';
import {
  type ClientConfig,
  clientConfigOf,
  clientFile,
  clientFileHash,
  clientFileName,
  PRIVATE_KEY_BLANK,
} from '../../../../lib/domain/devices/client-config.ts';
import type { DeviceRow } from '../../../../models/index.ts';
import { configOf, newKey } from '../../../support/api/server.ts';

const CLIENT: ClientConfig = {
  public_key: 'the public key',
  preshared_key: 'the preshared key',
  server_public_key: "the gateway's key",
  ipv4: '100.64.0.2',
  ipv6: 'fd00::2',
  allowed_ips: ['0.0.0.0/0', '::/0'],
  dns: ['1.1.1.1', 'corp.example'],
  endpoint: 'vpn.example.com:51820',
  mtu: 1280,
  persistent_keepalive: 25,
  port: 51_820,
};

test('every value has its line', (t) => {
  t.is(
    clientFile(CLIENT, 'the private key'),
    `[Interface]
PrivateKey = the private key
Address = 100.64.0.2/32, fd00::2/128
DNS = 1.1.1.1, corp.example
MTU = 1280

[Peer]
PublicKey = the gateway's key
PresharedKey = the preshared key
AllowedIPs = 0.0.0.0/0, ::/0
Endpoint = vpn.example.com:51820
PersistentKeepalive = 25
`,
  );
});

// docs/bugs-of-others.md#bug-23: empty keys.
test('empty values are left out, a keepalive of 0 is none of them', (t) => {
  const zeros = Buffer.alloc(32).toString('base64');
  const bare = { dns: [], allowed_ips: [], mtu: null, ipv6: null, persistent_keepalive: 0 };
  t.is(
    clientFile({ ...CLIENT, ...bare, preshared_key: zeros }, 'k'),
    `[Interface]
PrivateKey = k
Address = 100.64.0.2/32

[Peer]
PublicKey = the gateway's key
Endpoint = vpn.example.com:51820
PersistentKeepalive = 0
`,
  );
  const none = { persistent_keepalive: null, preshared_key: null, endpoint: null };
  t.notRegex(clientFile({ ...CLIENT, ...none }), /Keepalive|Preshared|Endpoint/);
  t.regex(clientFile({ ...CLIENT, ipv4: null }), /^Address = fd00::2\/128$/m);
});

test('without a private key there is a line to fill in, which is no key', (t) => {
  const [, line] = clientFile(CLIENT).split('\n');
  t.is(line, `PrivateKey = ${PRIVATE_KEY_BLANK}`);
  t.not(Buffer.from(PRIVATE_KEY_BLANK, 'base64').length, 32);
});

for (const [endpoint, written] of [
  ['vpn.example.com', 'vpn.example.com:51820'],
  ['vpn.example.com:1', 'vpn.example.com:1'],
  ['192.0.2.1', '192.0.2.1:51820'],
  ['2001:db8::1', '[2001:db8::1]:51820'],
  ['2001:db8::1:5182', '[2001:db8::1:5182]:51820'],
  ['[2001:db8::1]', '[2001:db8::1]:51820'],
  ['[2001:db8::1]:7', '[2001:db8::1]:7'],
  ['::1', '[::1]:51820'],
] as const)
  // docs/bugs-of-others.md#bug-23: brackets of IPv6.
  test(`the endpoint ${endpoint} is written as wg reads it`, (t) => {
    t.true(
      clientFile({ ...CLIENT, endpoint }).includes(`
Endpoint = ${written}
`),
    );
  });

for (const [device, file] of [
  ['swift-otter', 'swift-otter.conf'],
  ["Ann's new Laptop", 'Ann-s-new-Lapto.conf'],
  ['Büro', 'Buro.conf'],
  ['../../etc/passwd', 'etc-passwd.conf'],
  ['-rf', 'rf.conf'],
  ['.hidden', 'hidden.conf'],
  ['..', 'postern.conf'],
  ['电脑', 'postern.conf'],
  ['a"; filename="x', 'a-filename=-x.conf'],
  ['a\r\nset-cookie: x', 'a-set-cookie-x.conf'],
  ['fourteen-long---x', 'fourteen-long.conf'],
  ['a.b_c=d+e', 'a.b_c=d+e.conf'],
  [' ', 'postern.conf'],
] as const)
  // docs/bugs-of-others.md#bug-23: file name.
  test(`a device called ${JSON.stringify(device)} has the file ${file}`, (t) => {
    t.is(clientFileName(device), file);
    // What wg-quick takes.
    t.regex(file, /^[a-zA-Z0-9_=+.-]{1,15}\.conf$/);
  });

test('the hash tells whatever a device needs another file for, and nothing else', (t) => {
  const hash = clientFileHash(CLIENT);
  t.regex(hash, /^[0-9a-f]{64}$/);
  t.is(clientFileHash({ ...CLIENT }), hash);
  for (const change of [
    { public_key: 'other' },
    { preshared_key: 'other' },
    { server_public_key: 'other' },
    { ipv4: '100.64.0.3' },
    { ipv6: null },
    { allowed_ips: [] },
    { dns: ['9.9.9.9'] },
    { endpoint: 'other:1' },
    { mtu: 1300 },
    { persistent_keepalive: 0 },
  ])
    t.not(clientFileHash({ ...CLIENT, ...change }), hash, JSON.stringify(change));
  t.is(clientFileHash({ ...CLIENT, endpoint: 'vpn.example.com' }), hash, 'the same line');
});

test('a device shows its own values or the defaults, and no family that is switched off', (t) => {
  const row = {
    public_key: newKey(),
    preshared_key: newKey(),
    ipv4: '100.64.0.2',
    ipv6: 'fd00::2',
    use_default_allowed_ips: true,
    use_default_dns: false,
    use_default_endpoint: true,
    use_default_mtu: true,
    use_default_persistent_keepalive: true,
    dns: null,
    allowed_ips: ['10.0.0.0/8'],
  } as unknown as DeviceRow;
  const defaults = { ...CLIENT, allowed_ips: ['::/0'], mtu: 1400 };
  const serverPublicKey = newKey();
  const config = configOf({ WIREGUARD_IPV6_ENABLED: 'false', WIREGUARD_PORT: '7' });
  const client = clientConfigOf(row, defaults, { config, serverPublicKey });
  t.deepEqual(client, {
    public_key: row.public_key,
    preshared_key: row.preshared_key,
    server_public_key: serverPublicKey,
    ipv4: '100.64.0.2',
    ipv6: null,
    allowed_ips: ['::/0'],
    dns: [],
    endpoint: 'vpn.example.com:51820',
    mtu: 1400,
    persistent_keepalive: 25,
    port: 7,
  });
});
