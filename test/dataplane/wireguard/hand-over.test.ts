// What is handed over leaves with the batch, what finds no room is counted, and no secret stays.

import test from 'ava';
import { SLOT_HEADROOM_BYTES } from '../../../dataplane/constants.ts';
import {
  KIND_FROM_PEER,
  KIND_FROM_TUN,
  KIND_INITIATION,
  MARK_DROP,
} from '../../../dataplane/contract.ts';
import { reasons } from '../../../dataplane/reasons.ts';
import { HandOver } from '../../../dataplane/wireguard/hand-over.ts';
import { KnownPeer } from '../../../dataplane/wireguard/known-peer.ts';
import { place } from '../../support/dataplane/native.ts';
import { counting } from '../../support/dataplane/packets.ts';
import { peer, placed } from '../../support/dataplane/simulation.ts';
import { engineKinds, openTeam, takeAll } from '../../support/dataplane/team.ts';

const NOT_MARKED = { mark: MARK_DROP };
const key = Buffer.alloc(32, 7).toString('base64');
const known = new KnownPeer(placed(peer({ key }), 41, 3), 5, 1, false);

for (const kind of engineKinds) {
  test(`${kind}: what was marked leaves with the batch, to whom it is marked for`, (t) => {
    const [from, one, two] = openTeam([kind, kind, kind]);
    const handOver = new HandOver(from!, () => t.fail());
    const batch = from!.packets;
    for (const i of [0, 1, 2, 3]) {
      place(batch, i, counting(40 + i), NOT_MARKED);
    }
    handOver.mark(batch, 0, 2, KIND_FROM_PEER, known);
    handOver.mark(batch, 1, 1, KIND_FROM_TUN, null);
    handOver.mark(batch, 3, 2, KIND_FROM_TUN, null);
    handOver.finish(batch);
    const place41 = { peer: 41, generation: 3 };
    const nobody = { peer: -1, generation: 0 };
    t.deepEqual(takeAll(one!, 0), [{ kind: KIND_FROM_TUN, bytes: counting(41), ...nobody }]);
    t.deepEqual(takeAll(two!, 0), [
      { kind: KIND_FROM_PEER, bytes: counting(40), ...place41 },
      { kind: KIND_FROM_TUN, bytes: counting(43), ...nobody },
    ]);
  });

  test(`${kind}: a batch without marks hands nothing over again`, (t) => {
    const [from, to] = openTeam([kind, kind]);
    const handOver = new HandOver(from!, () => t.fail());
    place(from!.packets, 0, counting(40), NOT_MARKED);
    handOver.mark(from!.packets, 0, 1, KIND_FROM_TUN, null);
    handOver.finish(from!.packets);
    handOver.finish(from!.packets);
    t.is(takeAll(to!, 0).length, 1);
  });

  test(`${kind}: what finds no room is counted, one by one`, (t) => {
    const [from] = openTeam([kind, kind]);
    const drops: number[] = [];
    const handOver = new HandOver(from!, (reason) => drops.push(reason));
    const batch = from!.packets;
    for (let round = 0; round < 40; round++) {
      batch.count = 0;
      for (const i of [0, 1]) {
        place(batch, i, counting(65_000), NOT_MARKED);
        handOver.mark(batch, i, 1, KIND_FROM_TUN, null);
      }
      handOver.finish(batch);
    }
    t.true(drops.length > 40 && drops.length < 60, `${drops.length}`);
    t.true(drops.every((reason) => reason === reasons.ring_full));
    t.false(handOver.give(1, KIND_INITIATION, known, counting(60_000), 0));
  });

  test(`${kind}: what a worker made arrives at once, and does not stay in its own memory`, (t) => {
    const [from, to] = openTeam([kind, kind]);
    const handOver = new HandOver(from!, () => t.fail());
    const secret = counting(180).fill(0xab);
    t.true(handOver.give(1, KIND_INITIATION, known, secret, 0));
    t.is(from!.packets.count, 0);
    const [taken] = takeAll(to!, 0);
    t.deepEqual(taken!.bytes, secret);
    t.deepEqual([taken!.kind, taken!.peer, taken!.generation], [KIND_INITIATION, 41, 3]);
    const { bytes } = from!.packets;
    t.false(bytes.subarray(0, SLOT_HEADROOM_BYTES + 300).includes(0xab));
  });
}
