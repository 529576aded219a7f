// A gateway without a TUN holds many connections: what an idle one costs, and what connections cost
// that nobody reads, with the memory of the kernel. docs/guides/where-it-runs.md

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import { Postern, until } from '../support/gateway/postern.ts';
import type { Host } from '../support/network/namespaces.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  GATEWAY4_BOB,
  LAN4,
  TUNNEL4,
} from '../support/network/topology.ts';
import { enrol } from './people.ts';

const MIB = 1_048_576;
const IDLE_PORT = 7_400;
const SENDING_PORT = 7_401;
const IDLE = 4_096;
const UNREAD = 512;
/** Devices read so much of each, so that it has what a fast connection has; 1 MiB leaves no more. */
const READ = MIB / 4;
const IDLE_BYTES_MAX = 24 * MIB;
const UNREAD_BYTES_MAX = 128 * MIB;

/** Takes connections, and sends more than anybody keeps to those of one port. */
const SERVER = `
  const { createServer } = require('node:net');
  const bytes = Buffer.alloc(${32 * MIB});
  const take = (socket) => socket.on('error', () => undefined);
  createServer(take).listen(${IDLE_PORT}, '::');
  createServer((socket) => {
    take(socket);
    socket.write(bytes);
  }).listen(${SENDING_PORT}, '::', () => console.log('ready'));
`;

/** Opens connections, 64 at a time; of each it reads some bytes, and then nothing more. */
const CLIENT = `
  const { connect } = require('node:net');
  const [port, count, bytes] = process.argv.slice(1).map(Number);
  let begun = 0, open = 0;
  const next = () => {
    if (begun === count) return;
    begun++;
    const socket = connect({ port, host: '${LAN4}' });
    socket.on('error', (error) => console.log('failed ' + error.code));
    const done = () => {
      socket.removeAllListeners('data');
      socket.pause();
      if (++open === count) console.log('ready');
      else next();
    };
    let left = bytes;
    if (bytes === 0) socket.on('connect', done);
    else socket.on('data', (data) => (left -= data.length) <= 0 && done());
  };
  for (let i = 0; i < 64; i++) next();
  setInterval(() => undefined, 1000);
`;

async function run(host: Host, source: string, ...args: number[]): Promise<ChildProcess> {
  const child = host.start(process.execPath, ['-e', source, ...args.map(String)]);
  const [first] = (await once(child.stdout!, 'data')) as [Buffer];
  if (String(first).trim() !== 'ready') throw new Error(String(first));
  return child;
}

function residentBytes(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+)/m.exec(text)![1]) * 1_024;
}

/** The memory that the kernel has of the TCP sockets of a host. */
async function kernelBytes(host: Host): Promise<number> {
  const { stdout } = await host.run('ss', '-Htmn');
  const memory = [...stdout.matchAll(/skmem:\(r(\d+),rb\d+,t(\d+),tb\d+,f(\d+),w(\d+),/g)];
  return memory.flatMap((parts) => parts.slice(1, 5)).reduce((sum, text) => sum + Number(text), 0);
}

test.serial('idle connections cost little, and those that nobody reads are bounded', async (t) => {
  t.timeout(150_000);
  const topology = await buildTopology('sm');
  t.teardown(() => topology.network.remove());
  const { gateway, lan } = topology;
  const settings = { WIREGUARD_TUN: 'sockets', DATAPLANE_WORKERS: '1' };
  const postern = new Postern(gateway, API_ADDRESS, settings);
  await postern.start();
  t.teardown(() => postern.stop());
  const people = [
    await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`),
    await enrol(postern, topology.bob, 'b@example.test', `${GATEWAY4_BOB}:51820`),
  ];
  const hosts = people.map(({ client }) => client.host);
  for (const host of hosts) await until('it is connected', () => canPing(host, TUNNEL4), 15_000);
  await run(lan, SERVER);
  const open = (port: number, count: number, bytes = 0): Promise<ChildProcess[]> =>
    Promise.all(hosts.map((host) => run(host, CLIENT, port, count / hosts.length, bytes)));
  // What the first connections cost, they cost once.
  for (const child of await open(SENDING_PORT, 64, READ)) child.kill('SIGKILL');
  await until('they are gone', async () => (await kernelBytes(gateway)) < MIB);

  const before = residentBytes(postern.pid);
  const idle = await open(IDLE_PORT, IDLE);
  const idleBytes = residentBytes(postern.pid) - before;
  t.log(`${IDLE} idle connections: ${(idleBytes / MIB).toFixed(1)} MiB`);
  t.true(idleBytes <= IDLE_BYTES_MAX, `${idleBytes}`);
  for (const child of idle) child.kill('SIGKILL');

  const unread = await open(SENDING_PORT, UNREAD, READ);
  let most = 0;
  for (let i = 0; i < 20; i++) {
    const ofKernel = await kernelBytes(gateway);
    most = Math.max(most, ofKernel + residentBytes(postern.pid) - before);
    await pause(100);
  }
  const ofKernel = await kernelBytes(gateway);
  t.log(
    `${UNREAD} unread connections: ${(most / MIB).toFixed(1)} MiB, ` +
      `${(ofKernel / MIB).toFixed(1)} MiB of them in the kernel`,
  );
  t.true(ofKernel > MIB, 'hosts have sent more than the gateway has taken');
  t.true(most <= UNREAD_BYTES_MAX, `${most}`);
  for (const child of unread) child.kill('SIGKILL');
  await until('all sockets are closed', async () => (await kernelBytes(gateway)) < MIB, 120_000);
});
