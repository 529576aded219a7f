// The settings that a gateway stores for commands: all except secrets, equal when they are read.

import test from 'ava';
import { openSettings, withOpenSettings } from '../../config/index.ts';
import { configOf } from '../support/api/server.ts';

const SECRETS = {
  METRICS_TOKEN: 'm'.repeat(40),
  WIREGUARD_PRIVATE_KEY: Buffer.alloc(32, 1).toString('base64'),
  DATABASE_ENCRYPTION_KEY: Buffer.alloc(32, 2).toString('base64'),
};

test('the stored settings hold no secret', (t) => {
  const stored = JSON.stringify(openSettings(configOf(SECRETS)));
  for (const secret of Object.values(SECRETS)) t.false(stored.includes(secret));
});

test('a command reads equal settings, and keeps its own secrets', (t) => {
  const gateway = configOf({
    EXTERNAL_URL: 'https://vpn.example.com/',
    WIREGUARD_PORT: '7',
    WIREGUARD_IPV6_ENABLED: 'false',
    DEFAULT_CLIENT_DNS: '9.9.9.9',
  });
  const own = configOf({ ...SECRETS, DEFAULT_CLIENT_MTU: '1300' });
  const stored = JSON.parse(JSON.stringify(openSettings(gateway))) as typeof gateway & object;
  const { metricsToken, databaseEncryptionKey, wireguardPrivateKey } = own;
  const secrets = { metricsToken, databaseEncryptionKey, wireguardPrivateKey };
  t.deepEqual(withOpenSettings(own, stored as never), { ...gateway, ...secrets });
});

test('a setting that an earlier version did not store stays as it is', (t) => {
  const own = configOf({ WIREGUARD_PORT: '7' });
  t.is(withOpenSettings(own, { WIREGUARD_MTU: 1300 }).wireguardPort, 7);
  t.is(withOpenSettings(own, { WIREGUARD_MTU: 1300 }).wireguardMtu, 1300);
});
