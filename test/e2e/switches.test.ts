// The switches of a device, end to end. An administrator disables it in the console, sets when it
// ends, or disables its owner. Its traffic stops at once in both directions, and goes on when the
// device is enabled, gets more time, or its owner is enabled.

import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { Host } from '../support/network/namespaces.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  type Beacon,
  beginBeacon,
  buildTopology,
  canPing,
  GATEWAY4,
  LAN4,
  TUNNEL4,
} from '../support/network/topology.ts';
import { atGateway, PASSWORD, Visitor } from '../support/web/visitor.ts';
import { enrol, type Person } from './people.ts';

const BOSS = 'boss@example.test';
const PORT = 7_200;
const EVERY_MS = 10;
/** How long the test listens for silence. */
const SILENCE_MS = 1_500;
/** A form is answered when it is in force: later packets were already on their way. */
const ANSWERED_MS = 150;
/** How exactly an end is kept: the promise is one second, the clocks add a little. */
const SLACK_MS = 1_200;
/** The gateway initiates a handshake with a device that it knows. */
const RESUME_MS = 4_000;
const LIFE_MS = 4_000;

/** Datagrams from one end to the other, one after the other. */
interface Way extends Beacon {
  readonly name: string;
}

/** The device, the administrator, and the traffic. */
interface Scene {
  readonly alice: Person;
  readonly postern: Postern;
  readonly ways: readonly Way[];
  /** Sends a form of the console; resolves to when it was answered. */
  readonly decide: (path: string, fields?: Record<string, string>) => Promise<number>;
  /** Sends a form that ends flows: the console asks first, and nothing ends before the answer. */
  readonly agree: (path: string, fields?: Record<string, string>) => Promise<number>;
}

test.serial(
  'a device stops in both directions when it is disabled, expires or its owner is disabled',
  async (t) => {
    t.timeout(120_000);
    const topology = await buildTopology('sw');
    t.teardown(() => topology.network.remove());
    const { gateway, lan } = topology;
    const postern = new Postern(gateway, API_ADDRESS, {
      ...WITHOUT_WARM_UP,
      WIREGUARD_TUN: 'required',
    });
    await postern.start();
    t.teardown(() => postern.stop());
    const account = { email: BOSS, password: PASSWORD, password_confirmation: PASSWORD };
    await postern.create('user', { ...account, role: 'admin' });
    const alice = await enrol(postern, topology.alice, 'alice@example.test', `${GATEWAY4}:51820`);
    t.true(await canPing(topology.alice, LAN4));
    const boss = new Visitor(atGateway(postern.api));
    t.is((await boss.signIn(BOSS)).status, 303);
    await boss.get(`/devices/${alice.device.id}`);
    const decide = async (path: string, fields: Record<string, string> = {}): Promise<number> => {
      const { status, text } = await boss.post(path, fields);
      t.is(status, 303, text);
      return Date.now();
    };
    const agree = async (path: string, fields: Record<string, string> = {}): Promise<number> => {
      const { status, text } = await boss.post(path, fields);
      t.is(status, 200, text);
      t.regex(text, /This ends [1-9]\d* flows of 1 person/);
      await goesOn('asked', scene, Date.now());
      return decide(path, { ...fields, effect: 'agreed' });
    };

    // The lan reaches a device only where it was given a route: masquerading hides the devices.
    await lan.ip('route', 'replace', '100.64.0.0/10', 'via', '198.51.100.1');
    const ways = await Promise.all([
      beginWay('from the device', topology.alice, lan, LAN4),
      beginWay('to the device', lan, topology.alice, String(alice.device['ipv4'])),
    ]);
    const scene: Scene = { alice, postern, ways, decide, agree };
    await goesOn('at first', scene, 0);
    await switchedOff(t, scene);
    await ended(t, scene);
    await ownerDisabled(t, scene);
    t.true(await canPing(topology.alice, LAN4));
    for (const way of ways) await way.stop();
  },
);

async function switchedOff(t: ExecutionContext, scene: Scene): Promise<void> {
  const { alice, decide, agree } = scene;
  const offMs = await agree(`/devices/${alice.device.id}/switches`, { do: 'off' });
  await isSilent(t, 'off', scene, offMs);
  const onMs = await decide(`/devices/${alice.device.id}/switches`, { do: 'on' });
  await goesOn('on', scene, onMs);
}

async function ended(t: ExecutionContext, scene: Scene): Promise<void> {
  const { alice, ways, decide } = scene;
  const switches = `/devices/${alice.device.id}/switches`;
  const endMs = Date.now() + LIFE_MS;
  const expires_at = new Date(endMs).toISOString().slice(0, -1);
  await decide(switches, { do: 'expire', expires_at });
  await sleep(endMs - Date.now() + SLACK_MS + 1_000);
  for (const { name, last } of ways)
    t.true(Math.abs(last() - endMs) < SLACK_MS, `ended: ${name}, ${last() - endMs} ms after it`);
  t.false(await canPing(alice.client.host, TUNNEL4), 'ended: the gateway is silent');
  const later = new Date(endMs + 3_600_000).toISOString().slice(0, 16);
  const longerMs = await decide(switches, { do: 'expire', expires_at: later });
  await goesOn('given longer', scene, longerMs);
}

async function ownerDisabled(t: ExecutionContext, scene: Scene): Promise<void> {
  const { alice, postern, decide, agree } = scene;
  const disabledAt = async (): Promise<unknown> =>
    (await postern.read('user', alice.user.id))['disabled_at'];
  const outMs = await agree(`/users/${alice.user.id}/disable`);
  t.is(typeof (await disabledAt()), 'string');
  await isSilent(t, 'owner disabled', scene, outMs);
  const inMs = await decide(`/users/${alice.user.id}/enable`);
  t.is(await disabledAt(), null);
  await goesOn('owner enabled', scene, inMs);
}

/**
 * Both directions ended, apart from packets on their way at a time, and the gateway answers
 * nothing.
 */
async function isSilent(
  t: ExecutionContext,
  why: string,
  { alice, ways }: Scene,
  sinceMs: number,
): Promise<void> {
  await sleep(SILENCE_MS);
  for (const { name, last } of ways)
    t.true(last() < sinceMs + ANSWERED_MS, `${why}: ${name}, ${last() - sinceMs} ms afterwards`);
  t.false(await canPing(alice.client.host, TUNNEL4), `${why}: the gateway is silent`);
}

/** Waits until datagrams came both ways after a time. */
async function goesOn(why: string, { ways }: Scene, sinceMs: number): Promise<void> {
  for (const { name, last } of ways)
    await until(`${why}: a datagram ${name}`, () => last() > sinceMs, RESUME_MS);
}

async function beginWay(name: string, from: Host, to: Host, address: string): Promise<Way> {
  return { name, ...(await beginBeacon(from, to, { address, port: PORT, everyMs: EVERY_MS })) };
}
