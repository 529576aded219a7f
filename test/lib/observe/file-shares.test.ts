// Who has how many of the open files, and which share is nearly used up.

import test from 'ava';
import { fileShares, nearlyFull } from '../../../lib/observe/file-shares.ts';
import { fakeWatched } from '../../support/observe/fake-gateway.ts';

const facts = {
  ...fakeWatched().facts(),
  workers: 2,
  relayed: 7,
  files: { max: 1_024, connections: 100, sockets: 50, relayed: 20 },
};
const sockets = { tcp: 30, udp: 5, echo: 1, connecting: 9, buffered: 4_000, most: 36 };

test('each part has what it has open, and may have', (t) => {
  const listening = { requests: () => 12, own_address: () => 3 };
  t.deepEqual(fileShares({ facts, sockets, listening }), {
    requests: { open: 12, max: 100 },
    own_address: { open: 3, max: 100 },
    sockets: { open: 36, max: 100 },
    relay: { open: 14, max: 40 },
  });
});

test('parts that there are not have no share', (t) => {
  const files = { ...facts.files, relayed: 0 };
  const typescript = { ...facts, files, engine: 'typescript' } as const;
  t.deepEqual(fileShares({ facts: typescript, sockets: {}, listening: {} }), {});
  const bySockets = { ...typescript, way: 'sockets' } as const;
  const max = { open: 0, max: 100 };
  t.deepEqual(fileShares({ facts: bySockets, sockets: {}, listening: {} }), { sockets: max });
});

test('from nine tenths on a share is nearly full; of sockets, that of the fullest worker', (t) => {
  const nearly = (open: number, most: number, relayed: number) =>
    nearlyFull({
      facts: { ...facts, relayed },
      sockets: { ...sockets, most },
      listening: { requests: () => open },
    });
  t.deepEqual(nearly(89, 44, 17), []);
  t.deepEqual(nearly(90, 45, 18), ['requests', 'sockets', 'relay']);
});
