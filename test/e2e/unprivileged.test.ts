// A start without rights: it serves what it can, and says what is missing and how to fix it.

import test from 'ava';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  GATEWAY6_BOB,
  LAN4,
  TUNNEL4,
  TUNNEL6,
} from '../support/network/topology.ts';
import { enginesOfRun } from '../support/gateway/engines.ts';
import { enrol } from './people.ts';

/** Root's files can still be read, but none of root's capabilities is left. */
const WITHOUT_RIGHTS = ['setpriv', '--bounding-set=-all', '--inh-caps=-all', '--ambient-caps=-all'];

for (const engine of enginesOfRun)
  test.serial(`${engine}: without rights devices reach each other and the gateway`, async (t) => {
    t.timeout(120_000);
    const topology = await buildTopology('pu');
    try {
      const settings = {
        ...WITHOUT_WARM_UP,
        DATAPLANE_ENGINE: engine,
        // Else packets would leave by sockets.
        WIREGUARD_IPV4_MASQUERADE: 'false',
      };
      const postern = new Postern(topology.gateway, API_ADDRESS, settings, WITHOUT_RIGHTS);
      await postern.start();
      const warnings = postern
        .logLines()
        .filter((line) => line['level'] === 'warn' && !/in the clear/.test(String(line['msg'])));
      t.is(warnings.length, 1, JSON.stringify(warnings));
      t.regex(
        String(warnings[0]?.['msg']),
        /no TUN interface wg-postern: no right to make one; run as root or with CAP_NET_ADMIN; WIREGUARD_IPV4_MASQUERADE=false, which sockets of the gateway cannot obey\. Devices reach each other/,
      );
      const readiness = await fetch(`${postern.api}/readyz`);
      t.like(await readiness.json(), {
        status: 'ready',
        tun: null,
        masquerade: false,
        egress: 'none',
      });

      const alice = await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
      const bob = await enrol(postern, topology.bob, 'b@example.test', `[${GATEWAY6_BOB}]:51820`);
      t.true(await canPing(alice.client.host, TUNNEL4));
      t.true(await canPing(bob.client.host, TUNNEL6));
      t.true(await canPing(alice.client.host, String(bob.device['ipv4'])));
      t.true(await canPing(bob.client.host, String(alice.device['ipv6'])));
      t.false(await canPing(alice.client.host, LAN4));
      await until('no_tun counted', () => (postern.drops()['no_tun'] ?? 0) > 0);
      await postern.stop();
    } finally {
      await topology.network.remove();
    }
  });

test.serial('a TUN that is required but cannot be made stops the start with its fix', async (t) => {
  t.timeout(120_000);
  const topology = await buildTopology('pu');
  try {
    const settings = { ...WITHOUT_WARM_UP, WIREGUARD_TUN: 'required' };
    const postern = new Postern(topology.gateway, API_ADDRESS, settings, WITHOUT_RIGHTS);
    const error = await t.throwsAsync(postern.start());
    t.regex(
      String(error),
      /WIREGUARD_TUN=required, but no TUN interface wg-postern: no right to make one/,
    );
  } finally {
    await topology.network.remove();
  }
});
