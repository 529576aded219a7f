// A start without rights: it serves what it can, and says what is missing and how to fix it.

import test from 'ava';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  canReach,
  GATEWAY4,
  GATEWAY6_BOB,
  LAN4,
  Traffic,
  transfer,
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

test.serial('without rights packets leave by sockets, and the gateway says why', async (t) => {
  t.timeout(120_000);
  const topology = await buildTopology('pu');
  try {
    const postern = new Postern(topology.gateway, API_ADDRESS, WITHOUT_WARM_UP, WITHOUT_RIGHTS);
    await postern.start();
    const warnings = postern
      .logLines()
      .filter((line) => line['level'] === 'warn' && !/in the clear/.test(String(line['msg'])));
    t.deepEqual(warnings, []);
    const said = {
      egress: 'sockets',
      egress_reason:
        'no TUN interface wg-postern: no right to make one; run as root or with CAP_NET_ADMIN',
    };
    const readiness = await fetch(`${postern.api}/readyz`);
    t.like(await readiness.json(), { status: 'ready', tun: null, masquerade: true, ...said });
    t.like(
      postern.logLines().find(({ msg }) => msg === 'Postern serves'),
      { tun: null, ...said },
    );
    const { body } = await postern.call('GET', '/v0/gateways');
    t.like((body as { data: object[] }).data[0], said);
    t.regex(await postern.metrics(), /^wg_gateway_egress\{way="sockets"\} 1$/m);

    const alice = await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
    const { sent, received } = await transfer(alice.client.host, topology.lan, LAN4, 300_000);
    t.is(received['sha256'], sent['sha256']);
    const explain = {
      device_id: alice.device.id,
      destination: LAN4,
      protocol: 'tcp',
      port: 6_000,
    };
    const asked = await postern.call('POST', '/v0/explain', { explain });
    const { gates } = (asked.body as { data: { gates: { code: string; text: string }[] } }).data;
    t.is(
      gates.find(({ code }) => code === 'way')?.text,
      'There is a way to the destination, by a socket of the gateway.',
    );
    await postern.create('rule', { action: 'drop', destination: LAN4 });
    const accept = await new Traffic(topology.lan, 'accept', 8080).ready();
    t.false(await canReach(alice.client.host, LAN4, 8080));
    await accept.stop();
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
