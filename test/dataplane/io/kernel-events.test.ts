// What the kernel tells of changes: with real links, addresses, routes and nft tables in a network
// of its own, and with a kernel that refuses to tell.

import test from 'ava';
import { type EventAddon, KernelEvents } from '../../../dataplane/io/kernel-events.ts';
import { inOwnNetwork } from '../../support/network/rights.ts';

/** Does something to the network after another; after each, whether news has come, by name. */
const heard = `await (async () => {
  const { addon } = native.loadAddon();
  const network = new events.KernelEvents(addon, false);
  const tables = new events.KernelEvents(addon, true);
  const found = {};
  const note = (name) => (found[name] = [network.take(), tables.take()]);
  const does = async (name, ...commands) => {
    for (const words of commands) {
      const [program, ...args] = words.split(' ');
      if (program === 'nft') await nft(...args);
      else await command(program, ...args);
    }
    note(name);
  };
  note('first');
  note('nothing');
  await does('link', 'ip link add name one type veth peer name two');
  await does('link up', 'ip link set one up');
  note('nothing after it');
  await does('address', 'ip addr add 10.1.0.1/24 dev one');
  await does('IPv6 address', 'ip addr add fd00::1/64 dev one nodad');
  await does('route', 'ip route add 10.9.0.0/24 dev one');
  await does('IPv6 route', 'ip route add fd09::/64 dev one');
  await does('route deleted', 'ip route del 10.9.0.0/24 dev one');
  await does('address deleted', 'ip addr flush dev one');
  await does('link down', 'ip link set one down');
  await does('table', 'nft add table inet one');
  await does('chain', 'nft add chain inet one c');
  await does('flush', 'nft flush ruleset');
  await does('much', ...Array.from({ length: 40 }, (_, i) => 'ip addr add 10.2.0.' + (i + 1) + '/32 dev lo'));
  note('nothing after much');
  await does('link deleted', 'ip link del one');
  network.close();
  tables.close();
  return found;
})()`;

test('links, addresses, routes and tables that change are news; nothing else is', async (t) => {
  const found = (await inOwnNetwork(t, heard)) as Record<string, [boolean, boolean]> | null;
  if (found === null) return void t.pass();
  const [network, tables] = [
    [true, false],
    [false, true],
  ];
  t.deepEqual(found, {
    first: [true, true],
    nothing: [false, false],
    link: network,
    'link up': network,
    'nothing after it': [false, false],
    address: network,
    'IPv6 address': network,
    route: network,
    'IPv6 route': network,
    'route deleted': network,
    'address deleted': network,
    'link down': network,
    table: tables,
    chain: tables,
    flush: tables,
    much: network,
    'nothing after much': [false, false],
    'link deleted': network,
  });
});

/** A kernel without news; `error`: what it throws. */
function open() {
  const kernel = { error: '', opened: 0, closed: 0, hasNews: false };
  const unlessError = <T>(value: T): T => {
    if (kernel.error !== '') throw new Error(kernel.error);
    return value;
  };
  const addon: EventAddon = {
    openEvents: () => unlessError(null) ?? (kernel.opened += 1),
    takeEvents: () => unlessError(kernel.hasNews),
    closeFd: () => (kernel.closed += 1),
  };
  return { kernel, events: new KernelEvents(addon, false) };
}

test('without news it is looked now and then all the same', (t) => {
  const { events, kernel } = open();
  t.true(events.take());
  const looks = Array.from({ length: 60 }, () => events.take());
  t.deepEqual(
    looks.flatMap((isLook, i) => (isLook ? [i] : [])),
    [29, 59],
  );
  kernel.hasNews = true;
  t.true(events.take());
  t.is(kernel.opened, 1);
});

test('where the kernel does not tell, anything may have changed', (t) => {
  const none = new KernelEvents(null, false);
  t.true(none.take() && none.take());
  const { events, kernel } = open();
  kernel.error = 'EPERM';
  t.true(events.take() && events.take());
  kernel.error = '';
  t.true(events.take(), 'what came before it is not known');
  t.false(events.take());
  kernel.error = 'EBADF';
  t.true(events.take());
  t.is(kernel.closed, 1);
  kernel.error = '';
  t.true(events.take());
  events.close();
  events.close();
  t.is(kernel.closed, 2);
  t.true(events.take(), 'nothing is opened again');
  t.is(kernel.opened, 2);
});
