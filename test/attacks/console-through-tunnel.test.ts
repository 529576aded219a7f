// A device asks the gateway's console through the tunnel, where it has no TLS: as the image is set
// up, with HTTP_HOST=0.0.0.0. It asks at the tunnel's own address and at another one of the gateway.

import test from 'ava';
import { enrol } from '../e2e/people.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  TUNNEL4,
  TUNNEL6,
} from '../support/network/topology.ts';

const OWN = [TUNNEL4, `[${TUNNEL6}]`];

/** By how packets leave: where a device asks. By sockets no other address of the host is reached. */
const WAYS = [
  ['required', 'ct', [...OWN, '198.51.100.1']],
  ['sockets', 'cs', OWN],
] as const;

for (const [way, prefix, addresses] of WAYS)
  test.serial(`a device reaches no console in the clear with WIREGUARD_TUN=${way}`, async (t) => {
    t.timeout(120_000);
    const topology = await buildTopology(prefix, '10.255.76');
    t.teardown(() => topology.network.remove());
    const api = API_ADDRESS.replace('10.255.77', '10.255.76');
    const postern = new Postern(topology.gateway, api, {
      ...WITHOUT_WARM_UP,
      HTTP_HOST: '::',
      WIREGUARD_TUN: way,
      DATAPLANE_ENGINE: 'native',
    });
    await postern.start();
    t.teardown(() => postern.stop());
    await enrol(postern, topology.alice, 'alice@example.test', `${GATEWAY4}:51820`);
    t.true(await canPing(topology.alice, TUNNEL4));
    const curl = async (address: string, ...args: string[]): Promise<string> => {
      const url = `http://${address}:13000${args.includes('accept: text/html') ? '/' : '/v0/configuration'}`;
      const shown = [
        '--silent',
        '--max-time',
        '5',
        '--output',
        '-',
        '--write-out',
        ' %{http_code}',
      ];
      return (await topology.alice.run('curl', ...shown, ...args, url)).stdout;
    };
    const header = `authorization: Bearer ${postern.token}`;
    for (const address of addresses)
      t.is(await curl(address, '--header', header), '{"error":"forbidden"} 403', address);
    const page = await curl(TUNNEL4, '--header', 'accept: text/html');
    t.regex(page, /HTTP_THROUGH_TUNNEL/);
    t.regex(page, /403$/);
    const refused = `requests_refused_total{reason="through_tunnel"} ${addresses.length + 1}`;
    t.true((await postern.metrics()).includes(refused));
  });
