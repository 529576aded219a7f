// What wg-easy keeps, in both of its forms.

import test from 'ava';
import type { ForeignRow } from '../../../../models/index.ts';
import {
  parseWgEasyJson,
  readWgEasyTables,
} from '../../../../lib/installation/imports/wg-easy-file.ts';

test('wg0.json of version 14', (t) => {
  const kept = parseWgEasyJson(
    JSON.stringify({
      server: { privateKey: 'P', publicKey: 'Q', address: '10.8.0.1' },
      clients: {
        'a-1': {
          id: 'a-1',
          name: 'phone',
          address: '10.8.0.2',
          privateKey: 'never',
          publicKey: 'K',
          preSharedKey: 'S',
          createdAt: '2024-01-02T03:04:05.000Z',
          updatedAt: '2024-01-02T03:04:05.000Z',
          expiredAt: '2026-01-01T23:59:59.000Z',
          enabled: false,
        },
        b: 1,
      },
    }),
  );
  t.like(kept, { privateKey: 'P', port: null, mtu: null, addresses: ['10.8.0.1/24'] });
  t.deepEqual(kept.errors, ['clients.b is no object']);
  t.deepEqual(kept.clients, [
    {
      place: 'client a-1 (phone)',
      name: 'phone',
      publicKey: 'K',
      presharedKey: 'S',
      addresses: ['10.8.0.2'],
      isEnabled: false,
      expiresAt: '2026-01-01T23:59:59.000Z',
      insertedAt: new Date('2024-01-02T03:04:05Z'),
      allowedIps: null,
      serverAllowedIps: [],
      own: {},
      left: [],
    },
  ]);
  t.false(JSON.stringify(kept).includes('never'));
  t.throws(() => parseWgEasyJson('{'), { message: /^the file is not valid JSON/ });
  t.throws(() => parseWgEasyJson('{"users":[]}'), { message: /^wg0\.json of wg-easy is/ });
});

test('the tables of version 15', (t) => {
  const client = {
    id: 3,
    name: 'office',
    ipv4_address: '10.8.0.3',
    ipv6_address: 'fd42::3',
    post_up: 'echo',
    private_key: 'never',
    public_key: 'K',
    pre_shared_key: 'S',
    expires_at: null,
    allowed_ips: '["10.0.0.0/8"]',
    server_allowed_ips: '["192.168.7.0/24"]',
    firewall_ips: '["10.0.0.1"]',
    persistent_keepalive: 25,
    mtu: 1420,
    dns: '["9.9.9.9"]',
    enabled: 1,
    created_at: '2025-01-02 03:04:05',
  };
  const server = {
    name: 'wg0',
    port: 51821,
    private_key: 'P',
    ipv4_cidr: '10.8.0.0/24',
    ipv6_cidr: 'fd42::/112',
    mtu: 1420,
  };
  const defaults = {
    id: 'wg0',
    default_mtu: 1420,
    default_persistent_keepalive: 0,
    default_allowed_ips: '["10.0.0.0/8"]',
    host: 'vpn.example.com',
    port: 51820,
  };
  const tables = new Map<string, readonly ForeignRow[]>([
    ['clients_table', [client]],
    ['interfaces_table', [server]],
    ['user_configs_table', [defaults]],
  ]);
  const kept = readWgEasyTables({ tables, lacksLog: true });
  t.like(kept, { privateKey: 'P', port: '51821', mtu: '1420', errors: [] });
  t.deepEqual(kept.addresses, ['10.8.0.0/24', 'fd42::/112']);
  t.is(kept.notes.length, 3);
  t.deepEqual(kept.clients, [
    {
      place: 'client 3 (office)',
      name: 'office',
      publicKey: 'K',
      presharedKey: 'S',
      addresses: ['10.8.0.3', 'fd42::3'],
      isEnabled: true,
      expiresAt: null,
      insertedAt: new Date('2025-01-02T03:04:05Z'),
      allowedIps: ['10.0.0.0/8'],
      serverAllowedIps: ['192.168.7.0/24'],
      own: { dns: ['9.9.9.9'], persistent_keepalive: 25 },
      left: [
        'post_up is not taken over; it is in the file of the client',
        'firewall_ips is not taken over; make rules for its owner',
      ],
    },
  ]);
  t.false(JSON.stringify(kept).includes('never'));
  tables.set('interfaces_table', [server, server]);
  t.deepEqual(readWgEasyTables({ tables, lacksLog: false }).errors, [
    'interfaces_table has 2 rows; the gateway has one interface',
  ]);
  t.throws(() => readWgEasyTables({ tables: new Map(), lacksLog: false }), {
    message: /none of wg-easy 15$/,
  });
});
