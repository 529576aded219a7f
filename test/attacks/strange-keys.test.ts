// A stranger who knows the gateway's public key sends it initiations with ever new keys, from ever
// new sources, initiations for another gateway, and copies of a device's old initiation. What is
// remembered for people stays small, the device's own handshake is among it, and who comes after
// the flood is seen.

import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import {
  MAX_OTHER_GATEWAY_SENDERS,
  MAX_UNKNOWN_KEYS,
  MAX_UNKNOWN_KEYS_PER_SOURCE,
} from '../../dataplane/constants.ts';
import { derivePublicKey } from '../../dataplane/noise/keys.ts';
import { initiation } from '../../dataplane/wire/messages.ts';
import { initiator } from '../support/dataplane/forged-messages.ts';
import { chance } from '../support/dataplane/seeded-test.ts';
import { randomBytes } from '../support/dataplane/simulation.ts';
import { startGateway } from '../support/gateway/gateway-process.ts';

const KEYS = 4_000;
const SOURCES = 200;
const GROWTH_MB_MAX = 40;

/** Sockets at so many addresses of this host. */
async function socketsOf(t: ExecutionContext, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let i = 0; i < count; i++) {
    const socket = createSocket('udp4');
    socket.bind(0, `127.9.${i >> 8}.${1 + (i & 127)}`);
    await once(socket, 'listening');
    t.teardown(() => socket.close());
    sockets.push(socket);
  }
  return sockets;
}

test('ever new keys and sources fill no memory and hide no device', async (t) => {
  t.timeout(120_000);
  const gateway = await startGateway(t, { LOG_LEVEL: 'info', API_RATE_LIMIT: '0' });
  const port = Number(gateway.environment['WIREGUARD_PORT']);
  const memoryMb = (): number =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${gateway.pid}/status`, 'utf8'))?.[1]) / 1_024;
  const random = chance(5);
  const [own] = await socketsOf(t, 1);
  const flood = await socketsOf(t, SOURCES);
  const { data: user } = (
    await gateway.call('POST', '/v0/users', { user: { email: 'a@example.test' } })
  ).body;
  const key = randomBytes(random, 32);
  const public_key = Buffer.from(derivePublicKey(key)).toString('base64');
  const made = await gateway.call('POST', '/v0/devices', {
    device: { user_id: user.id, public_key },
  });
  t.is(made.status, 201, made.text);
  const { id, server_public_key: server } = made.body.data;
  const serverKey = new Uint8Array(Buffer.from(server, 'base64'));
  const first = initiator(key, serverKey)();
  own!.send(first, port, '127.0.0.1');
  await sleep(300);
  const before = memoryMb();

  const send = async (count: number, make: () => Uint8Array): Promise<void> => {
    for (let i = 0; i < count; i++) {
      flood[i % SOURCES]!.send(make(), port, '127.0.0.1');
      if (i % 20 === 19) await sleep(8);
    }
    await sleep(300);
  };
  await send(KEYS, () => initiator(randomBytes(random, 32), serverKey)());
  await send(KEYS, () => first);
  await send(KEYS, () => {
    const message = first.slice();
    message[initiation.mac1]! ^= 1 + (message[20]! & 1);
    return message;
  });
  const growth = memoryMb() - before;

  const drops = (await gateway.call('GET', '/metrics')).text;
  const count = (reason: string): number =>
    Number(
      new RegExp(`wg_gateway_dropped_packets_total\\{reason="${reason}"\\} (\\d+)`).exec(
        drops,
      )?.[1] ?? 0,
    );
  t.log({
    growth: Math.round(growth),
    ...Object.fromEntries(
      [
        'initiation_unknown_peer',
        'mac1_invalid',
        'initiation_replayed',
        'unknown_sender_forgotten',
        'cookie_sent',
      ].map((name) => [name, count(name)]),
    ),
  });
  t.true(count('initiation_unknown_peer') > KEYS / 2);
  t.true(count('unknown_sender_forgotten') > KEYS / 2);
  t.true(growth < GROWTH_MB_MAX, `grew by ${growth} MB`);

  const { data: senders } = (await gateway.call('GET', '/v0/unknown_senders')).body;
  t.is(senders.keys.length, MAX_UNKNOWN_KEYS);
  t.is(senders.other_gateway.length, MAX_OTHER_GATEWAY_SENDERS);
  const path = `/v0/devices/${id}/diagnosis`;
  const { data: found } = (await gateway.call('GET', path)).body;
  t.true(found.attempts.length <= 8, `${found.attempts.length}`);
  const answered = found.attempts.filter((one: { outcome: string }) => one.outcome !== 'refused');
  t.is(answered.length, 1, 'the handshake of the device is still there');
  t.is(answered[0].remote_ip, '127.9.0.1');

  // One source with many keys has its share alone, and an honest stranger is seen after all that.
  for (let i = 0; i < 100; i++) {
    own!.send(initiator(randomBytes(random, 32), serverKey)(), port, '127.0.0.1');
    await sleep(10);
  }
  const stranger = randomBytes(random, 32);
  flood[7]!.send(initiator(stranger, serverKey)(), port, '127.0.0.1');
  await sleep(300);
  const { data: after } = (await gateway.call('GET', '/v0/unknown_senders')).body;
  const ofOne = after.keys.filter((one: { remote_ip: string }) => one.remote_ip === '127.9.0.1');
  t.true(ofOne.length <= MAX_UNKNOWN_KEYS_PER_SOURCE, `${ofOne.length}`);
  t.is(after.keys[0].public_key, Buffer.from(derivePublicKey(stranger)).toString('base64'));
});
