// The machine as a whole: two pipelines in virtual time.

import test from 'ava';
import { echoRequest, udp } from '../support/packets.ts';
import { gatewayAndClient } from '../support/simulation.ts';

test('a packet makes a handshake and arrives unchanged, both families', (t) => {
  const { world, gateway, client } = gatewayAndClient();
  const v4 = udp({ source: '10.0.0.2', destination: '10.0.0.1', data: 'hello' });
  const v6 = udp({ source: 'fd00::2', destination: 'fd00::1', data: 'hello' });
  client.send(v4);
  client.send(v6);
  world.run(100);
  t.deepEqual(gateway.delivered, [v4, v6]);
  t.deepEqual(gateway.drops(), {});
});

test('answers find the way back to where the client was heard', (t) => {
  const { world, gateway, client } = gatewayAndClient();
  client.send(echoRequest('10.0.0.2', '10.0.0.1'));
  world.run(100);
  const answer = udp({ source: '10.0.0.1', destination: '10.0.0.2', data: 'answer' });
  gateway.send(answer);
  world.run(100);
  t.deepEqual(client.delivered, [answer]);
});
