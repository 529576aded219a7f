// A client whose tunnel runs between link-local addresses, on one link with the gateway. After a
// restart the gateway finds the interface again, and initiates a handshake with the silent client.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import { API_ADDRESS, buildTopology, canPing } from '../support/network/topology.ts';
import { enrol } from './people.ts';

const OWN = 'fe80::77';
/** A client alone would take 10 s or more. */
const WAIT_MS = 5_000;

test('a silent client at a link-local address is served again after a restart', async (t) => {
  t.timeout(120_000);
  const { network, alice: host, gateway } = await buildTopology('ll');
  t.teardown(() => network.remove());
  const settings = { ...WITHOUT_WARM_UP, DATAPLANE_ENGINE: 'native' };
  const postern = new Postern(gateway, API_ADDRESS, settings);
  await postern.start();
  t.teardown(() => postern.stop());
  for (const [name, own] of Object.entries({ g2: 'fe80::72', g1: 'fe80::71', g0: OWN }))
    await gateway.ip('address', 'add', `${own}/64`, 'dev', name, 'nodad');
  await host.ip('address', 'add', 'fe80::78/64', 'dev', 'c0', 'nodad');
  const endpoint = `[${OWN}%c0]:51820`;
  const alice = await enrol(postern, host, 'a@example.test', endpoint, 0);
  t.teardown(() => alice.client.stop());
  const inside = String(alice.device['ipv4']);
  await until('the client has a session', () => canPing(host, '100.64.0.1', 1));
  // The gateway has to have seen where the device is: it looks once a second.
  await sleep(2_500);
  await postern.stop();
  await postern.start();
  const readyAt = Date.now();
  await until('the gateway reaches the client', () => canPing(gateway, inside, 1));
  t.true(Date.now() - readyAt < WAIT_MS, `${Date.now() - readyAt} ms`);
});
