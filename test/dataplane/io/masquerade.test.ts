// The nft table: without rights nothing throws, and what is missing is said with its fix; with
// rights, in a namespace of its own, it holds what was asked for. What it does with packets is tried
// by test/attacks/kernel-table.test.ts.

import test from 'ava';
import { inOwnNetwork, withoutRights } from '../../support/network/rights.ts';

const masquerade = `{
  interfaceName: 'wg-postern.test',
  networks: [
    { network: new Uint8Array([10, 0, 0, 0]), prefixBits: 8, address: new Uint8Array(4) },
    { network: new Uint8Array([0xfd, ...Array(15).fill(0)]), prefixBits: 106, address: new Uint8Array(16) },
  ],
  egressInterface: null,
}`;

test('masquerading that cannot be had says what that means and how to fix it', async (t) => {
  const loaded = (await withoutRights(t, 'masquerade', `module.loadMasquerade(${masquerade})`)) as {
    isMasqueraded: boolean;
    error: string;
  } | null;
  const wanted =
    /^masquerading is off, so .+: .+\. To fix it: (run as root|apt-get install).+WIREGUARD_IPV4_MASQUERADE/;
  if (loaded !== null) {
    t.false(loaded.isMasqueraded);
    t.regex(loaded.error, wanted);
  } else t.pass();
});

test('a table that cannot be removed or read is an error, not an exception', async (t) => {
  const script = `[
    module.removeMasquerade('wg-postern.test'),
    module.readMasqueradeCounts('wg-postern.test'),
  ]`;
  const found = (await withoutRights(t, 'masquerade', script)) as unknown[] | null;
  if (found !== null) {
    t.is(typeof found[0], 'string');
    t.is(found[1], null);
  } else t.pass();
});

test('a table is loaded, read and removed, and a second one takes its place', async (t) => {
  const found = await inOwnNetwork(
    t,
    `[
      masquerade.tryMasquerade(${masquerade}),
      await nft('list', 'tables'),
      masquerade.loadMasquerade(${masquerade}),
      masquerade.loadMasquerade(${masquerade}),
      masquerade.readMasqueradeCounts('wg-postern.test'),
      masquerade.masqueradeRoutes(${masquerade}, [
        { network: new Uint8Array([192, 168, 7, 0]), prefixBits: 24 },
        { network: new Uint8Array([192, 168, 9, 9]), prefixBits: 32 },
      ]),
      await nft('list', 'table', 'inet', 'postern_wg-postern.2etest'),
      masquerade.removeMasquerade('wg-postern.test'),
      masquerade.removeMasquerade('wg-postern.test'),
      await nft('list', 'tables'),
    ]`,
  );
  if (found === null) {
    t.pass();
    return;
  }
  const [tried, none, first, second, counts, routed, table, ...rest] = found as unknown[];
  t.is(routed, null);
  t.is(none, '', 'to try it changes nothing');
  const loaded = { isMasqueraded: true, error: null };
  t.deepEqual([tried, first, second], [null, loaded, loaded]);
  t.deepEqual(counts, { untranslatable: 0, tooManyFlows: 0 });
  for (const part of [
    'ip saddr 10.0.0.0/8 masquerade',
    'ip saddr @routes4 masquerade',
    'ip6 saddr @routes6 masquerade',
    'elements = { 192.168.7.0/24, 192.168.9.9 }',
    'ip6 saddr fd00::/106 masquerade',
    'ip6 saddr fd00::/106 ct state invalid,untracked counter name "untranslatable" drop',
    'add @flows4 { ip saddr ct count over 4096 } counter name "too_many_flows" drop',
    'add @flows6 { ip6 saddr ct count over 4096 }',
  ])
    t.true(String(table).includes(part), `${part} in ${String(table)}`);
  // Other versions of nft write times with their units.
  t.regex(String(table), /established : (7440|2h4m).*time_wait : 10/);
  t.deepEqual(rest, [null, null, '']);
});

test('each counter is read as the kernel has it, beyond 32 bits too', async (t) => {
  const table = `table inet postern_wg0 {
    counter other { packets 5 bytes 1 }
    counter untranslatable { packets 7 bytes 3 }
    counter too_many_flows { packets 4294967297 bytes 2 }
  }
  table inet postern_wg1 {
    counter untranslatable { packets 9 bytes 3 }
  }
  `;
  const found = await inOwnNetwork(
    t,
    `[
      await load(${JSON.stringify(table)}),
      masquerade.readMasqueradeCounts('wg0'),
      masquerade.readMasqueradeCounts('wg1'),
      masquerade.readMasqueradeCounts('wg2'),
    ]`,
  );
  if (found === null) {
    t.pass();
    return;
  }
  const counts = { untranslatable: 7, tooManyFlows: 4_294_967_297 };
  t.deepEqual(found, [{ output: '' }, counts, 'gone', 'gone']);
});
