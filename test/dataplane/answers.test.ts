// Each question to a worker is answered by the part of the packet path that it names, with its id.

import test from 'ava';
import { answer, type QuestionCommand } from '../../dataplane/answers.ts';
import { Scene } from '../support/filter/scene.ts';
import { peerAddresses } from '../support/filter/courses.ts';
import { udp } from '../support/dataplane/packets.ts';

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
  const ask = (command: QuestionCommand): ReturnType<typeof answer> =>
    answer(scene.gateway.pipeline, command, now, wallMs);
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
  const explained = ask({
    type: 'explain',
    id: 1,
    question: { from: alice!.key, packet: toFar('192.0.2.2') },
    isHanded: false,
  });
  t.like(explained, { type: 'explained', id: 1, explanation: { reason: 'rule_drop' } });
  const diagnosed = ask({ type: 'diagnose', id: 2, publicKey: alice!.key });
  t.is(diagnosed.type === 'diagnosed' && diagnosed.trace !== null && diagnosed.id, 2);
  t.like(ask({ type: 'unknownSenders', id: 3 }), { type: 'unknownSenders', id: 3 });
  const query = { ...device, destination: null, rule: null };
  t.like(ask({ type: 'flows', id: 4, query, from: 1, limit: 9 }), {
    type: 'flows',
    id: 4,
    part: { found: [{ destination: '192.0.2.1' }], next: null },
  });
  t.deepEqual(ask({ type: 'pastFlows', id: 8, query, before: Infinity, limit: 9 }), {
    type: 'pastFlows',
    id: 8,
    part: { found: [], next: null },
  });
  const refused = { found: [{ destination: '192.0.2.2', reason: 'rule_drop' }] };
  t.like(ask({ type: 'refusals', id: 5, query: { ...device, reason: null }, from: 1 }), {
    type: 'refusals',
    id: 5,
    part: refused,
  });
  t.like(ask({ type: 'endedFlows', id: 6, change, from: 1, limit: 9 }), {
    type: 'endedFlows',
    id: 6,
    part: { count: 1, devices: [alice!.key], found: [{ destination: '192.0.2.1' }] },
  });
  const without = { peers: [], scopes: [{ name: '0', compiled: null }] };
  t.like(ask({ type: 'passedRefusals', id: 7, change: without, from: 1 }), {
    type: 'passedRefusals',
    id: 7,
    part: refused,
  });
});
