// The table of connections, compared with a map.

import test from 'ava';
import { DEVICE_NEXT, ESTABLISHED, GENERATION, WORDS } from '../../../dataplane/tcp/columns.ts';
import { SipHash } from '../../../dataplane/tcp/siphash.ts';
import { Ends, NONE, setEnds, Table } from '../../../dataplane/tcp/table.ts';
import { address } from '../../support/dataplane/packets.ts';
import { seededRandom } from '../../support/dataplane/simulation.ts';
import { Dice } from '../../support/tcp/world.ts';

const hash = new SipHash(seededRandom(1));

function ends(port: number, isIpv6 = false, last = 1): Ends {
  const one = new Ends();
  one.isIpv6 = isIpv6;
  one.words.set(isIpv6 ? [1, 2, 3, 4, 5, 6, 7, last] : [1, 0, 0, 0, last, 0, 0, 0]);
  one.words[8] = port;
  return one;
}

test('a handle finds its connection and no later one in its slot', (t) => {
  const table = new Table(4, 2, hash);
  const slot = table.add(1, ends(1), ESTABLISHED);
  const handle = table.handleOf(slot);
  t.is(table.slotOf(handle), slot);
  table.remove(slot);
  t.is(table.slotOf(handle), NONE);
  t.is(table.add(1, ends(2), ESTABLISHED), slot);
  t.is(table.slotOf(handle), NONE);
  for (const other of [0, 5, 77, 1 << 20, -1]) t.is(table.slotOf(other), NONE);
});

test('generations stay whole numbers of 31 bits, and a full table has no room', (t) => {
  const table = new Table(1, 1, hash);
  table.words[WORDS + GENERATION] = 0x7fff;
  const slot = table.add(0, ends(1), ESTABLISHED);
  t.true(table.handleOf(slot) > 0);
  t.is(table.slotOf(table.handleOf(slot)), slot);
  t.is(table.add(0, ends(2), ESTABLISHED), NONE);
  table.remove(slot);
  t.is(table.words[WORDS + GENERATION], 0);
  t.throws(() => new Table(70_000, 1, hash));
});

test('ends of both families are kept apart by every word', (t) => {
  const table = new Table(8, 1, hash);
  const slots = [ends(1), ends(1, true), ends(1, true, 9), ends(1, false, 9), ends(2)].map((one) =>
    table.add(0, one, ESTABLISHED),
  );
  t.is(new Set(slots).size, 5);
  t.is(table.find(ends(1, true, 9)), slots[2]!);
  t.is(table.find(ends(1)), slots[0]!);
  t.is(table.find(ends(3)), NONE);
  t.is(table.find(ends(1, true, 8)), NONE);
});

test('random additions and removals are those of a map, and devices list theirs', (t) => {
  const dice = new Dice(7);
  const table = new Table(40, 3, hash);
  const model = new Map<number, { slot: number; device: number }>();
  for (let i = 0; i < 4_000; i++) {
    const port = dice.below(60);
    const known = model.get(port);
    t.is(table.find(ends(port)), known?.slot ?? NONE);
    if (known !== undefined) {
      table.remove(known.slot);
      model.delete(port);
    } else {
      const device = dice.below(3);
      const slot = table.add(device, ends(port), ESTABLISHED);
      if (model.size === 40) t.is(slot, NONE);
      else model.set(port, { slot, device });
    }
    t.is(table.live, model.size);
  }
  for (let device = 0; device < 3; device++) {
    const listed: number[] = [];
    for (let at = table.firstOf(device); at !== NONE; at = table.words[at * WORDS + DEVICE_NEXT]!)
      listed.push(at);
    const wanted = [...model.values()].filter((one) => one.device === device);
    t.deepEqual(
      listed.toSorted((a, b) => a - b),
      wanted.map(({ slot }) => slot).toSorted((a, b) => a - b),
    );
  }
});

test('a device has at most a quarter of all connections', (t) => {
  const table = new Table(1_000, 2, hash);
  let count = 0;
  let last = NONE;
  for (let slot = NONE; (slot = table.add(0, ends(count), ESTABLISHED)) !== NONE; count++)
    last = slot;
  t.is(count, 250);
  t.not(table.add(1, ends(count), ESTABLISHED), NONE);
  table.remove(last);
  t.not(table.add(0, ends(count + 1), ESTABLISHED), NONE);
});

test('ends that are set again have nothing of those before', (t) => {
  const one = new Ends();
  setEnds(one, address('fd00::2'), 4_000, address('2001:db8::7'), 443);
  t.true(one.isIpv6);
  setEnds(one, address('10.8.0.2'), 65_535, address('192.0.2.7'), 80);
  t.false(one.isIpv6);
  t.deepEqual(
    [...one.words],
    [0x0a080002, 0, 0, 0, 0xc0000207 | 0, 0, 0, 0, (0xffff << 16) | 80, 0],
  );
});
