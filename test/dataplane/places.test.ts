// Places: no two peers have one slot at the same time, and each generation of a slot is another.

import test from 'ava';
import { MAX_PEERS } from '../../dataplane/constants.ts';
import { NO_SLOT, Places } from '../../dataplane/places.ts';

test('slots are given from 0 on, and again once they were taken back', (t) => {
  const places = new Places();
  const given = [places.give(), places.give(), places.give()];
  t.deepEqual(
    given.map(({ slot }) => slot),
    [0, 1, 2],
  );
  places.takeBack(given[1]!);
  const again = places.give();
  t.is(again.slot, 1);
  t.is(again.generation, given[1]!.generation + 1);
  t.is(places.give().slot, 3);
});

test('there is room for MAX_PEERS peers, and again once one was removed', (t) => {
  const places = new Places();
  const slots = Array.from({ length: MAX_PEERS }, () => places.give().slot);
  t.is(new Set(slots).size, MAX_PEERS);
  t.true(slots.every((slot) => slot >= 0 && slot < MAX_PEERS));
  const none = places.give();
  t.is(none.slot, NO_SLOT);
  places.takeBack(none);
  t.is(places.give().slot, NO_SLOT);
  places.takeBack({ slot: 777 });
  t.is(places.give().slot, 777);
});
