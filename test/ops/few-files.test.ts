// A gateway that may have few files open (`ulimit -n`), while somebody opens connections to the API
// and says nothing. It refuses connections before files run out: packets go on, `wg show` is
// answered, and who has a connection already reads and writes.

import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { enrol } from '../e2e/people.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  buildTopology,
  canPing,
  GATEWAY4,
  LAN4,
  type Topology,
} from '../support/network/topology.ts';
import { API_ADDRESS, API_NETWORK, MACHINE } from './lengths.ts';

const FILES_MAX = 200;
const CROWD = 400;
const AGAIN_MS = 500;
const ROUNDS = 5;

/** Connections that say nothing; where one is ended, another is opened. */
class Crowd {
  readonly #sockets = new Set<Socket>();
  #isOver = false;
  ended = 0;

  begin(): void {
    for (let i = 0; i < CROWD; i += 1) this.#open();
  }

  end(): void {
    this.#isOver = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  #open(): void {
    const socket = connect(13_000, API_ADDRESS);
    this.#sockets.add(socket);
    socket.on('error', () => undefined).resume();
    socket.once('close', () => {
      this.ended += 1;
      this.#sockets.delete(socket);
      setTimeout(() => void (this.#isOver || this.#open()), AGAIN_MS);
    });
  }
}

/** Asks over one connection, which stays open. */
function onOneConnection({ api, token }: Postern) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = (method: string, path: string, body?: object): Promise<string> =>
    new Promise((done, fail) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const asked = request(`${api}${path}`, { agent, method, headers }, (answer) => {
        let text = `${answer.statusCode} `;
        answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        answer.once('end', () => done(text));
      });
      asked.once('error', fail).end(body === undefined ? '' : JSON.stringify(body));
    });
  return { ask, close: () => agent.destroy() };
}

async function isServedBesideCrowd(t: ExecutionContext, topology: Topology): Promise<void> {
  const settings = {
    ...WITHOUT_WARM_UP,
    WIREGUARD_TUN: 'required',
    // A proxy stands for many, so that no share of one address holds the crowd up.
    TRUSTED_PROXIES: MACHINE,
  };
  const few = ['sh', '-c', `ulimit -n ${FILES_MAX} && exec "$0" "$@"`];
  const { gateway } = topology;
  const postern = new Postern(gateway, API_ADDRESS, settings, few);
  await postern.start();
  const alice = await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
  t.true(await canPing(alice.client.host, LAN4));
  const { ask, close } = onOneConnection(postern);
  t.regex(await ask('GET', '/v0/users'), /^200 /);
  const crowd = new Crowd();
  crowd.begin();
  try {
    await until('connections are refused', () => crowd.ended > 0, 5_000);
    for (let i = 0; i < ROUNDS; i += 1) {
      await gateway.run('wg', 'show', 'wg-postern', 'dump');
      const device = { description: `round ${i}` };
      t.regex(await ask('PATCH', `/v0/devices/${alice.device.id}`, { device }), /^200 /);
      t.true(await canPing(alice.client.host, LAN4));
      await sleep(500);
    }
    t.regex(
      await ask('GET', '/readyz'),
      /^200 .*"connections_max":\d+.*"nearly_full":\["requests"/,
    );
    const metrics = await ask('GET', '/metrics');
    const open = Number(/^process_open_fds (\d+)/m.exec(metrics)?.[1]);
    for (const name of ['wg_gateway_files', 'wg_gateway_files_max'])
      for (const part of ['requests', 'commands', 'own_address', 'sockets'])
        t.regex(metrics, new RegExp(`^${name}\\{part="${part}"\\} \\d+$`, 'm'));
    t.true(open < FILES_MAX - 20, `${open} files are open`);
    t.regex(metrics, /^wg_gateway_connections_refused_total\{reason="too_few_files"\} [1-9]/m);
  } finally {
    crowd.end();
    close();
  }
  const said = postern.logLines().filter(({ msg }) => /too few files/.test(String(msg)));
  t.is(said.length, 1, 'once, not for each connection');
  t.regex(String(said[0]?.['fix']), /LimitNOFILE=/);
  await until('a connection finds room', async () => (await postern.readiness()).code === 200);
  t.deepEqual(
    postern.logLines().filter(({ level }) => level === 'error'),
    [],
  );
  await alice.client.stop();
  t.is(await postern.stop(), 0);
}

test.serial('a gateway with few files serves who is there beside a crowd', async (t) => {
  t.timeout(120_000);
  const topology = await buildTopology('of', API_NETWORK);
  try {
    await isServedBesideCrowd(t, topology);
  } finally {
    await topology.network.remove();
  }
});
