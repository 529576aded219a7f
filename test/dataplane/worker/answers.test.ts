// Each question to a worker is answered by the part of the packet path that it names.

import test from 'ava';
import {
  answer,
  type AnswerTo,
  type AskedOf,
  type WorkerQuestion,
} from '../../../dataplane/worker/answers.ts';
import { Scene } from '../../support/filter/scene.ts';
import { peerAddresses } from '../../support/filter/courses.ts';
import { udp } from '../../support/dataplane/packets.ts';

test('each question has its answer', (t) => {
  const scene = new Scene(1, 1);
  const [alice] = scene.clients;
  const toFar = (destination: string): Uint8Array =>
    udp({ source: peerAddresses[4][0]!, destination, sourcePort: 40, destinationPort: 53 });
  scene.clients[0]!.send(toFar('192.0.2.1'));
  scene.world.run(100);
  scene.take({ type: 'rules', scope: '0', rules: [['drop', '192.0.2.2', undefined]] });
  scene.clients[0]!.send(toFar('192.0.2.2'));
  scene.world.run(100);
  const { now, wallMs } = scene.world;
  const ask = <Name extends WorkerQuestion>(name: Name, ...asked: AskedOf<Name>): AnswerTo<Name> =>
    answer(scene.gateway.pipeline, name, asked, now, wallMs);
  const device = { device: alice!.key, scope: null, groups: '' };
  const change = {
    peers: [
      {
        publicKey: alice!.key,
        losesIpv4: true,
        losesIpv6: true,
        scope: null,
        groups: '',
        isOverQuota: false,
      },
    ],
    scopes: [],
  };
  const question = { from: alice!.key, packet: toFar('192.0.2.2') };
  t.like(ask('explain', question, false), { reason: 'rule_drop' });
  t.like(ask('trace', alice!.key), { attempts: [{ kind: 'answered' }] });
  t.deepEqual(ask('unknownSenders'), { keys: [], otherGateway: [] });
  const query = { ...device, destination: null, rule: null };
  t.like(ask('flows', query, 1, 9), { found: [{ destination: '192.0.2.1' }], next: null });
  t.deepEqual(ask('pastFlows', query, Infinity, 9), { found: [], next: null });
  const refused = { found: [{ destination: '192.0.2.2', reason: 'rule_drop' }] } as const;
  t.like(ask('refusals', { ...device, reason: null }, 1), refused);
  t.like(ask('endedFlows', change, 1, 9), {
    count: 1,
    devices: [alice!.key],
    found: [{ destination: '192.0.2.1' }],
  });
  const without = { peers: [], scopes: [{ name: '0', compiled: null }] };
  t.like(ask('passedRefusals', without, 1), refused);
});
