// Two branch offices behind devices and a laptop that roams, with real clients: the hosts of both
// offices and the laptop reach each other and the LAN through the gateway, which speaks for nobody
// that it does not know. A network that goes is gone at once, also from the routes of the host.
//
//   office of alice  10.77.0.2, 2001:db8:77::2  --  alice  --+
//                                                            gateway  --  lan
//   office of bob    10.78.0.2, 2001:db8:78::2  --  bob    --+    |
//                                                              laptop

import test, { type ExecutionContext } from 'ava';
import { NFT } from '../support/network/capture.ts';
import { type Host, type Network } from '../support/network/namespaces.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  GATEWAY4_BOB,
  LAN4,
  LAN6,
  transfer,
} from '../support/network/topology.ts';
import { enrol, type Person } from './people.ts';

const OFFICES = ['10.77.0.0/24', '2001:db8:77::/64', '10.78.0.0/24', '2001:db8:78::/64'];
const BYTES = 3_000_000;

/** A LAN with one host behind the host of a client. */
async function addOffice(network: Network, router: Host, number: number): Promise<Host> {
  const office = await network.addHost(`office${number}`);
  const [own4, own6] = [`10.${number}.0.`, `2001:db8:${number}::`];
  await network.link(
    { host: router, name: 'o0', addresses: [`${own4}1/24`, `${own6}1/64`] },
    { host: office, name: 'o0', addresses: [`${own4}2/24`, `${own6}2/64`] },
  );
  for (const name of ['net.ipv4.ip_forward', 'net.ipv6.conf.all.forwarding'])
    await router.run('sysctl', '-qw', `${name}=1`);
  await office.ip('route', 'add', 'default', 'via', `${own4}1`);
  await office.ip('-6', 'route', 'add', 'default', 'via', `${own6}1`);
  return office;
}

async function leadTo({ client }: Person, networks: readonly string[]): Promise<void> {
  for (const network of networks) {
    const family = network.includes(':') ? ['-6'] : [];
    await client.host.ip(...family, 'route', 'replace', network, 'dev', client.interfaceName);
  }
}

async function setRoutes(t: ExecutionContext, postern: Postern, person: Person, routes: string[]) {
  const answer = await postern.call('PATCH', `/v0/devices/${person.device.id}`, {
    device: { routes },
  });
  t.is(answer.status, 200, JSON.stringify(answer.body));
}

/** The status of a page that a host asks for. */
async function statusOf(host: Host, url: string): Promise<string> {
  const options = ['-s', '-o', '/dev/null', '-m', '5', '-w', '%{http_code}'];
  return (await host.run('curl', ...options, url)).stdout;
}

async function routesOf(gateway: Host): Promise<string> {
  const [v4, v6] = [await gateway.run('ip', 'route'), await gateway.run('ip', '-6', 'route')];
  return v4.stdout + v6.stdout;
}

test('offices behind devices and a laptop that roams reach each other', async (t) => {
  t.timeout(180_000);
  const { network, alice, bob, gateway, lan } = await buildTopology('br');
  t.teardown(() => network.remove());
  const roamer = await network.addHost('laptop');
  await network.link(
    { host: roamer, name: 'c0', addresses: ['192.0.4.2/24'] },
    { host: gateway, name: 'g4', addresses: ['192.0.4.1/24'] },
  );
  const [office77, office78] = [
    await addOffice(network, alice, 77),
    await addOffice(network, bob, 78),
  ];
  const postern = new Postern(gateway, API_ADDRESS, {
    ...WITHOUT_WARM_UP,
    WIREGUARD_TUN: 'required',
  });
  await postern.start();
  t.teardown(() => postern.stop());
  const [first, second, laptop] = [
    await enrol(postern, alice, 'alice@example.test', `${GATEWAY4}:51820`),
    await enrol(postern, bob, 'bob@example.test', `${GATEWAY4_BOB}:51820`),
    await enrol(postern, roamer, 'carol@example.test', '192.0.4.1:51820'),
  ];
  for (const { client } of [first, second, laptop]) t.teardown(() => client.stop());
  await leadTo(first, OFFICES.slice(2));
  await leadTo(second, OFFICES.slice(0, 2));
  await leadTo(laptop, OFFICES);
  t.false(await canPing(office77, LAN4, 1), 'nobody has said yet that it is there');
  await setRoutes(t, postern, first, OFFICES.slice(0, 2));
  await setRoutes(t, postern, second, OFFICES.slice(2));
  const overlapping = await postern.call('PATCH', `/v0/devices/${laptop.device.id}`, {
    device: { routes: ['10.77.0.128/25'] },
  });
  t.is(overlapping.status, 422);
  const present = await routesOf(gateway);
  for (const one of OFFICES) t.true(present.includes(one), `${one} is in ${present}`);

  for (const address of ['10.78.0.2', '2001:db8:78::2', LAN4, LAN6])
    await until(`an office reaches ${address}`, () => canPing(office77, address, 1));
  for (const address of ['10.77.0.2', '2001:db8:77::2', '10.78.0.2', '2001:db8:78::2'])
    await until(`the laptop reaches ${address}`, () => canPing(roamer, address, 1));
  await until('the gateway reaches an office', () => canPing(gateway, '10.78.0.2', 1));
  const { sent, received } = await transfer(office78, office77, '10.77.0.2', BYTES);
  t.deepEqual(received, { bytes: BYTES, sha256: sent['sha256'] });
  const toLan = await transfer(office77, lan, LAN6, BYTES);
  t.deepEqual(toLan.received, { bytes: BYTES, sha256: toLan.sent['sha256'] });

  // Neither a device nor who is behind one asks the console without TLS.
  for (const host of [roamer, office77, office78])
    t.is(await statusOf(host, 'http://100.64.0.1:13000/'), '403', host.namespace);

  // As a reload of Debian's nftables.service does.
  await gateway.run(NFT, 'flush', 'ruleset');
  await until('it is noticed', () => /wg-postern has vanished and is loaded/.test(postern.output));
  for (const host of [office77, roamer])
    await until('the LAN is reached again', () => canPing(host, LAN4, 1));

  await gateway.ip('route', 'del', '10.78.0.0/24');
  await gateway.ip('-6', 'route', 'del', '2001:db8:78::/64');
  for (const address of ['10.78.0.2', '2001:db8:78::2'])
    await until('a deleted route is there again', () => canPing(gateway, address, 1));
  t.regex(postern.output, /had lost the route to 10\.78\.0\.0\/24, and has it again/);

  await roamer.ip('address', 'del', '192.0.4.2/24', 'dev', 'c0');
  await roamer.ip('address', 'add', '192.0.4.3/24', 'dev', 'c0');
  await until('the laptop has roamed', () => canPing(roamer, '10.77.0.2', 1));

  // A host in an office takes an address that is behind nobody.
  await office77.ip('address', 'add', '10.99.0.2/32', 'dev', 'o0');
  await alice.ip('route', 'add', '10.99.0.2/32', 'dev', 'o0');
  t.false(await office77.succeeds('ping', '-c1', '-W1', '-I', '10.99.0.2', LAN4));
  t.true((await postern.metrics()).includes('reason="inner_source_not_allowed"'));

  const drop = { action: 'drop', destination: '10.77.0.0/24', user_id: laptop.user.id };
  await postern.create('rule', drop);
  t.false(await canPing(roamer, '10.77.0.2', 1), 'rules hold for networks too');
  t.true(await canPing(roamer, '10.78.0.2', 1));

  await setRoutes(t, postern, first, []);
  t.false(await canPing(office78, '10.77.0.2', 1), 'gone at once');
  t.false(await canPing(office77, LAN4, 1));
  t.true(await canPing(office78, LAN4, 1));
  t.false((await routesOf(gateway)).includes('10.77.0.0/24'));
  t.is((await postern.call('DELETE', `/v0/devices/${second.device.id}`)).status, 204);
  t.false(await canPing(roamer, '10.78.0.2', 1));
  t.false((await routesOf(gateway)).includes('10.78.0.0/24'));
});
