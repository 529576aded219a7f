// An administrator's token sends lists with as many members as a body can hold, and e-mails with
// characters that steer a terminal: each is refused in words, quickly, and nothing is written.

import test from 'ava';
import { serveHere } from '../support/gateway/served-gateway.ts';

/** The body stays below its limit of 1 MiB. */
const MEMBERS = 250_000;

test('a list with as many members as a body holds is refused in words', async (t) => {
  const { call } = await serveHere(t);
  const bad = Array.from({ length: MEMBERS }, () => '!');
  const addresses = Array.from({ length: 60_000 }, (_, i) => `10.${i >> 8}.${i & 255}.1`);
  const entries = Array.from({ length: MEMBERS }, () => ({}));
  const user = await call('POST', '/v0/users', { user: { email: 'alice@example.com' } });
  const { id } = (user.body as { data: { id: string } }).data;
  const device = { user_id: id, public_key: Buffer.alloc(32, 7).toString('base64') };
  const refusals: [path: string, method: string, body: object, field: string, limit: number][] = [
    ...[bad, addresses].flatMap((list): typeof refusals => [
      [
        '/v0/devices',
        'POST',
        { device: { ...device, use_default_dns: false, dns: list } },
        'dns',
        100,
      ],
      [
        '/v0/devices',
        'POST',
        { device: { ...device, use_default_allowed_ips: false, allowed_ips: list } },
        'allowed_ips',
        1_000,
      ],
      [
        '/v0/configuration',
        'PATCH',
        { configuration: { default_client_dns: list } },
        'default_client_dns',
        100,
      ],
    ]),
    ...(['openid_connect_providers', 'saml_identity_providers'] as const).map(
      (name): (typeof refusals)[number] => [
        '/v0/configuration',
        'PATCH',
        { configuration: { [name]: entries } },
        name,
        100,
      ],
    ),
  ];
  for (const [path, method, body, field, limit] of refusals) {
    const { status, body: said } = await call(method, path, body);
    t.is(status, 422, `${method} ${path} ${field}`);
    t.deepEqual(said, { errors: { [field]: [`should have at most ${limit} item(s)`] } });
  }
});

test('an e-mail that holds characters of control is refused', async (t) => {
  const { call } = await serveHere(t);
  for (const sign of ['\u001b[2J', '\n', '\t', '\u007f', '\u009b', '\u202e', '\u2028']) {
    const { status, body } = await call('POST', '/v0/users', {
      user: { email: `al${sign}ice@example.com` },
    });
    t.is(status, 422, JSON.stringify(sign));
    t.deepEqual(body, { errors: { email: ['is invalid email address'] } });
  }
});
