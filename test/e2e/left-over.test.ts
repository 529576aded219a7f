// A test that ran out of time leaves its hosts and its gateway. Requests of the next test must not
// reach them.

import test from 'ava';
import { command, type Host, Network } from '../support/network/namespaces.ts';

const API = '10.255.92';

function join(network: Network, host: Host): Promise<void> {
  return network.link(
    { host: null, name: 'm0', addresses: [`${API}.1/30`] },
    { host, name: 'm1', addresses: [`${API}.2/30`] },
  );
}

test.serial('the next network with an address removes the one before', async (t) => {
  const before = new Network('l1');
  const host = await before.addHost('host');
  await join(before, host);
  const left = host.start('sleep', ['60']);
  const running = t.throwsAsync(host.run('sleep', '61'), { any: true });
  const network = new Network('l2');
  t.teardown(() => network.remove());
  await join(network, await network.addHost('host'));
  t.is(left.signalCode, 'SIGTERM');
  t.like(await running, { signal: 'SIGTERM' }, 'what runs to its end, too');
  t.false(await host.succeeds('true'), 'the host is gone');
  const { stdout } = await command('ip', '-brief', 'address', 'show', 'to', `${API}.1`);
  t.regex(stdout, /^l2m0@\S+\s.*\n$/);
});

test.serial('an address that somebody else left is named with its interface', async (t) => {
  await command('ip', 'link', 'add', 'l3left', 'type', 'veth');
  t.teardown(() => command('ip', 'link', 'del', 'l3left'));
  await command('ip', 'address', 'add', `${API}.1/30`, 'dev', 'l3left');
  const network = new Network('l3');
  t.teardown(() => network.remove());
  const linking = join(network, await network.addHost('host'));
  await t.throwsAsync(linking, { message: /10\.255\.92\.1 is on l3left.*ip link del l3left/ });
});
