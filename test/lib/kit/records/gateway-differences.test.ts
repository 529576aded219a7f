// What gateways of one database should have alike.

import test from 'ava';
import { differencesOf, readDifferences } from '../../../../lib/kit/records/gateway-differences.ts';
import { registerGateway } from '../../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';

const gateway = (id: string, settings: object | null, schema_step: string | null = '0014') => ({
  id,
  name: `host-${id}`,
  settings: settings === null ? null : JSON.stringify(settings),
  schema_step,
});

test('networks, port, MTU and default action are compared, and the schema', (t) => {
  const alike = { WIREGUARD_PORT: 51_820, WIREGUARD_IPV4_NETWORK: '10.0.0.0/8', HTTP_PORT: 1 };
  t.deepEqual(differencesOf([gateway('a', alike), gateway('b', { ...alike, HTTP_PORT: 2 })]), []);
  t.deepEqual(differencesOf([gateway('a', alike), gateway('b', null)]), []);
  for (const [setting, one, other] of [
    ['WIREGUARD_PORT', 51_820, 51_821],
    ['WIREGUARD_MTU', 1_420, 1_280],
    ['WIREGUARD_IPV4_NETWORK', '10.0.0.0/8', '10.0.0.0/9'],
    ['WIREGUARD_IPV4_ADDRESS', '10.0.0.1', '10.0.0.2'],
    ['WIREGUARD_IPV6_ENABLED', true, false],
    ['DEFAULT_ACTION', 'drop', null],
  ] as const)
    t.deepEqual(
      differencesOf([gateway('a', { [setting]: one }), gateway('b', { [setting]: other })]),
      [
        `The gateways of this database differ in ${setting}: ${[`${one} at host-a (a)`, `${other ?? 'not set'} at host-b (b)`].toSorted().join('; ')}`,
      ],
    );
  t.regex(differencesOf([gateway('a', {}), gateway('b', {}, null)]).join(), /none, as 1\.0\.0 at/);
});

for (const kind of databaseKinds())
  test(`${kind}: only gateways that run are compared`, async (t) => {
    const database = await openDatabase(t, kind);
    const enter = (id: string, port: number, agoMs: number) =>
      registerGateway(database, {
        id,
        name: id,
        startedAt: new Date(Date.now() - agoMs),
        settings: JSON.stringify({ WIREGUARD_PORT: port }),
      });
    await enter('a', 1, 0);
    await enter('b', 2, 3_600_000);
    t.deepEqual(await readDifferences(database), []);
    await enter('c', 3, 0);
    t.deepEqual(await readDifferences(database), [
      'The gateways of this database differ in WIREGUARD_PORT: 1 at a (a); 3 at c (c)',
    ]);
  });
