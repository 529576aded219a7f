// Captures as a way to take memory and disk: more of them than may run, clients that never read, and
// clients that begin one after the other and go away. Two run, what nobody reads is lost and counted
// instead of kept, the packets of others pass, and the one who goes away ends theirs at once.

import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import { MAX_CAPTURES } from '../../dataplane/constants.ts';
import { createGateway, type TestDevice, type TestGateway } from '../../lib/testing/index.ts';
import { RunningCapture, untilHolds } from '../support/api/running-capture.ts';
import { keptBytes } from '../support/suite/kept-memory.ts';
import { measureSlowness } from '../support/suite/slowness.ts';

const HOST = '198.51.100.9';
/** Requests at once. */
const CROWD = 60;
/** Datagrams that are asked and answered: four times what two rings and all sockets hold. */
const DATAGRAMS = 40_000;
const DATA = 'x'.repeat(1_200);
const MIB = 1024 * 1024;
/** What waits in two streams and their sockets; the rings are there before. */
const GROWTH_MAX = MAX_CAPTURES * 4 * MIB;
/** On a quiet machine. */
const SOON_MS = 2_000;

interface Scene {
  readonly gateway: TestGateway;
  readonly laptop: TestDevice;
  readonly url: string;
}

async function open(t: ExecutionContext): Promise<Scene> {
  t.timeout(120_000);
  const gateway = await createGateway({ settings: { API_RATE_LIMIT: '0' } });
  t.teardown(() => gateway.close());
  const laptop = await gateway.addDevice({ name: 'laptop' });
  gateway.host(HOST);
  return { gateway, laptop, url: await gateway.listen() };
}

async function metric({ gateway }: Scene, name: string): Promise<number> {
  const { text } = await gateway.inject('GET', '/metrics');
  return Number(new RegExp(`^wg_gateway_${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

/** Waits until so many captures run; the milliseconds that it took. */
async function untilRunning(scene: Scene, count: number): Promise<number> {
  const begun = performance.now();
  await untilHolds(async () => (await metric(scene, 'captures_running')) === count);
  return performance.now() - begun;
}

/** A client that asks for a capture and reads nothing of it. */
async function deafClient(t: ExecutionContext, { url, gateway, laptop }: Scene): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  t.teardown(() => socket.destroy());
  await once(socket, 'connect');
  socket.pause();
  const path = `/v0/devices/${laptop.id}/capture?payload=true&duration=3600`;
  const lines = [`GET ${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${gateway.token}`];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  return socket;
}

test.serial('of a crowd of captures two run, and who goes away makes room at once', async (t) => {
  const scene = await open(t);
  const begin = (): Promise<RunningCapture> => RunningCapture.begin(scene, '', scene.gateway.token);
  for (let round = 0; round < 3; round++) {
    const all = await Promise.all(Array.from({ length: CROWD }, begin));
    const [running = [], refused = []] = [200, 429].map((status) =>
      all.filter(({ response }) => response.statusCode === status),
    );
    t.is(running.length, MAX_CAPTURES);
    t.is(refused.length, CROWD - MAX_CAPTURES);
    t.is(await metric(scene, 'captures_running'), MAX_CAPTURES);
    for (const { response } of all) response.destroy();
    const tookMs = await untilRunning(scene, 0);
    t.true(tookMs < SOON_MS * (await measureSlowness()), `${tookMs} ms`);
  }
});

test.serial(
  'what nobody reads is lost and counted, and takes no memory; others pass',
  async (t) => {
    const scene = await open(t);
    const { gateway, laptop } = scene;
    const phone = await gateway.addDevice({ name: 'phone' });
    const deaf = await Promise.all([deafClient(t, scene), deafClient(t, scene)]);
    await untilRunning(scene, MAX_CAPTURES);
    const before = keptBytes();
    for (let i = 0; i < DATAGRAMS; i++) {
      // It throws where an answer is missing.
      await laptop.udp(HOST, 7, DATA);
      if (i % 1_000 === 0) {
        await phone.ping(HOST);
        // Captures are taken from their rings by timers.
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
    const growth = keptBytes() - before;
    const sum = MAX_CAPTURES * 2 * DATAGRAMS;
    await untilHolds(async () => (await metric(scene, 'capture_lost_packets_total')) > sum / 2);
    t.log({ growthMiB: growth / MIB, lost: await metric(scene, 'capture_lost_packets_total') });
    t.true(growth < GROWTH_MAX, `grew by ${growth / MIB} MiB`);
    for (const socket of deaf) socket.destroy();
    t.true((await untilRunning(scene, 0)) < SOON_MS * (await measureSlowness()));
    const [taken, lost] = [
      await metric(scene, 'captured_packets_total'),
      await metric(scene, 'capture_lost_packets_total'),
    ];
    t.true(taken + lost <= sum, `${taken} were handed on and ${lost} lost`);
  },
);
