// The gates of a packet: each reason has one, and each gate can refuse.

import test from 'ava';
import { reasonNames } from '../../../../dataplane/index.ts';
import {
  gateNames,
  gateOf,
  gates,
  isOwn,
  ownReasons,
} from '../../../../lib/observe/explain/gates.ts';

const SENTENCE = /^[A-Z].*\.$/;
const own = Object.keys(ownReasons) as (keyof typeof ownReasons)[];
const ofPath = reasonNames.filter((name) => name !== 'none');

test('every gate refuses for some reason, and says in a sentence what it asks', (t) => {
  const refusing = new Set([...own, ...ofPath].map(gateOf));
  t.deepEqual(
    gateNames.filter((name) => !refusing.has(name)),
    [],
  );
  for (const sentence of [...Object.values(gates), ...Object.values(ownReasons)])
    t.regex(sentence, SENTENCE);
});

test('reasons of rows and of the packet path are distinguished', (t) => {
  for (const reason of own) t.true(isOwn(reason), reason);
  for (const reason of ofPath) t.false(isOwn(reason), reason);
  t.is(gateOf('session_ended'), 'vpn_session');
  t.is(gateOf('default_drop'), 'rules');
  t.is(gateOf('inner_tcp_malformed'), 'form');
});
