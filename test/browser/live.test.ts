// The pages “Traffic now” and “Refused lately”, and what the portal shows of it, in a real browser,
// on a whole gateway through which a device sends.

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { derivePublicKey } from '../../dataplane/noise/keys.ts';
import { Loopback } from '../support/dataplane/loopback-gateway.ts';
import { echoRequest, tcp, udp } from '../support/dataplane/packets.ts';
import { peer } from '../support/dataplane/simulation.ts';
import { inspect, make, openBrowser, signIn, type Stage } from '../support/web/browser.ts';

const NO_PSK = Buffer.alloc(32).toString('base64');

/** A device of a user, and how it sends. */
interface Sender {
  readonly id: string;
  readonly ipv4: string;
  readonly send: (...packets: Uint8Array[]) => void;
}

/** Makes a device and its client, which speaks to the gateway over loopback. */
async function openDevice(
  t: ExecutionContext,
  stage: Stage,
  name: string,
  user_id: string,
): Promise<Sender> {
  const key = randomBytes(32);
  const public_key = Buffer.from(derivePublicKey(key)).toString('base64');
  const fields = { user_id, name, public_key, preshared_key: NO_PSK };
  const id = await make(stage, 'device', fields);
  const { ipv4, server_public_key } = (await stage.gateway.call('GET', `/v0/devices/${id}`)).body
    .data;
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const world = new Loopback(socket, 1);
  const here = { address: '127.0.0.1', port: socket.address().port };
  const client = world.addClient({ endpoint: here, privateKey: new Uint8Array(key) });
  const port = Number(stage.gateway.environment['WIREGUARD_PORT']);
  client.addPeer(peer({ key: server_public_key, endpoint: { address: '127.0.0.1', port } }));
  const act = (work: () => void): void => {
    world.now = performance.now();
    work();
    client.expire();
  };
  socket.on('message', (bytes, { address, port: from }) =>
    act(() => client.receive(bytes, { address, port: from })),
  );
  const timer = setInterval(() => act(() => undefined), 20);
  t.teardown(() => {
    clearInterval(timer);
    socket.close();
  });
  return { id, ipv4, send: (...packets) => act(() => client.send(...packets)) };
}

test('what passes and what does not, for administrators and for the owner', async (t) => {
  const stage = await openBrowser(t);
  const person = { email: 'ann@example.com', password: 'correct horse battery' };
  const confirmed = { ...person, password_confirmation: person.password };
  const user_id = await make(stage, 'user', confirmed);
  const laptop = await openDevice(t, stage, 'laptop', user_id);
  const phone = await openDevice(t, stage, 'a phone with quite a long name', user_id);
  await make(stage, 'rule', { action: 'drop', destination: '10.0.0.0/8', user_id });
  const { ipv4: source } = laptop;
  laptop.send(
    echoRequest(source, '100.64.0.1'),
    udp({ source, destination: phone.ipv4, destinationPort: 5_353 }),
    tcp({ source, destination: '10.0.0.6', destinationPort: 22, flags: 2 }),
    udp({ source, destination: '127.0.0.1', destinationPort: 9 }),
  );
  await sleep(1_000);
  const page = await stage.person();
  await signIn(page);
  await page.getByRole('link', { name: 'Traffic now' }).click();
  await page.getByRole('cell', { name: '100.64.0.1 ICMP' }).waitFor();
  await inspect(t, page, 'console-flows');
  await page.getByLabel('To', { exact: true }).fill('somewhere');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.getByText('Please write an address or a network').waitFor();
  await inspect(t, page, 'console-flows-mistake');
  await page.goto(`/devices/${laptop.id}`);
  await page.getByRole('link', { name: 'Refused lately' }).click();
  await page.getByText('A rule drops it.').waitFor();
  await inspect(t, page, 'console-refusals');
  const dropped = page.getByRole('row').filter({ hasText: 'TCP 22' });
  await dropped.getByRole('link', { name: 'Explain' }).click();
  await page.getByRole('heading', { name: 'It does not pass' }).waitFor();
  await page.goto('/refusals?device=a+phone+with+quite+a+long+name&reason=rule_drop');
  await page.getByText('Nothing like that was refused').waitFor();
  await inspect(t, page, 'console-refusals-none');
  const owner = await stage.person();
  await signIn(owner, person);
  await owner.getByRole('link', { name: 'What was blocked' }).click();
  await owner.getByText('A rule of your administrator blocks it.').waitFor();
  await inspect(t, owner, 'portal-refusals');
  t.pass();
});
