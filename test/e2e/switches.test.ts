// The switches of a device, end to end: an administrator switches it off in the console, and sets
// when it ends; its traffic stops there and then, and goes on when it is switched on or given longer.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { Postern, until } from '../support/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  LAN4,
  Traffic,
  TUNNEL4,
} from '../support/topology.ts';
import { atGateway, PASSWORD, Visitor } from '../support/visitor.ts';
import { enrol } from './people.ts';

const BOSS = 'boss@example.test';
const PORT = 7_200;
/** A form is answered once it is in force: what comes later was under way already. */
const ANSWERED_MS = 150;
/** How exactly a date is kept: the promise is one second, the clocks add a little. */
const SLACK_MS = 1_200;
/** The gateway calls a device that it knows. */
const RESUME_MS = 4_000;
const LIFE_MS = 4_000;

test.serial('a device stops when it is switched off or ends, and goes on afterwards', async (t) => {
  t.timeout(120_000);
  const topology = await buildTopology('sw');
  t.teardown(() => topology.network.remove());
  const { alice, gateway, lan } = topology;
  const postern = new Postern(gateway, API_ADDRESS, { WIREGUARD_TUN: 'required' });
  await postern.start();
  t.teardown(() => postern.stop());
  const account = { email: BOSS, password: PASSWORD, password_confirmation: PASSWORD };
  await postern.create('user', { ...account, role: 'admin' });
  const { device } = await enrol(postern, alice, 'alice@example.test', `${GATEWAY4}:51820`);
  t.true(await canPing(alice, LAN4));
  const boss = new Visitor(atGateway(postern.api));
  t.is((await boss.signIn(BOSS)).status, 303);
  await boss.get(`/devices/${device.id}`);
  const decide = async (fields: Record<string, string>): Promise<number> => {
    const { status, text } = await boss.post(`/devices/${device.id}/switches`, fields);
    t.is(status, 303, text);
    return Date.now();
  };

  const watch = await new Traffic(lan, 'watch', PORT, LAN4).ready();
  const beacon = new Traffic(alice, 'beacon', PORT, 10, LAN4);
  const last = (): number =>
    Math.max(0, ...watch.lines.filter((line) => 'at' in line).map((line) => Number(line['at'])));
  await until('datagrams come', () => last() > 0, RESUME_MS);

  const offMs = await decide({ do: 'off' });
  await sleep(1_500);
  t.true(last() < offMs + ANSWERED_MS, `off: the last came ${last() - offMs} ms after the answer`);
  t.false(await canPing(alice, TUNNEL4), 'off: the gateway is silent');
  const onMs = await decide({ do: 'on' });
  await until('datagrams come again', () => last() > onMs, RESUME_MS);

  const endMs = Date.now() + LIFE_MS;
  const expires_at = new Date(endMs).toISOString().slice(0, -1);
  await decide({ do: 'expire', expires_at });
  await sleep(endMs - Date.now() + SLACK_MS + 1_000);
  t.true(Math.abs(last() - endMs) < SLACK_MS, `ended: the last came ${last() - endMs} ms after it`);
  t.false(await canPing(alice, TUNNEL4), 'ended: the gateway is silent');
  const later = new Date(endMs + 3_600_000).toISOString().slice(0, 16);
  const longerMs = await decide({ do: 'expire', expires_at: later });
  await until('datagrams come once more', () => last() > longerMs, RESUME_MS);
  t.true(await canPing(alice, LAN4));
  await beacon.stop();
  await watch.stop();
});
