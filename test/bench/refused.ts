// How soon a device hears that a port is refused, where its packets leave by sockets of the gateway:
// `test/apart.sh node test/bench/refused.ts [--tries N --record]`.
//
// The client is wireguard-go. The gateway answers a SYN once the host has answered its own, so a
// refusal takes one round trip to the host. The bar: the slowest comes within the median round trip
// of a ping and 50 ms.

import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { enrol } from '../e2e/people.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import type { Host } from '../support/network/namespaces.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  LAN4,
  LAN6,
  letPing,
} from '../support/network/topology.ts';
import { reportHead } from './gateways.ts';
import { median } from './median.ts';
import { keepResult } from './results.ts';

const BAR_MS = 50;
const PORT = 9;

const { values } = parseArgs({
  options: {
    tries: { type: 'string', default: '200' },
    record: { type: 'boolean', default: false },
    from: { type: 'string', default: '' },
  },
});
const tries = Number(values.tries);

/** On the device: how many ms each refusal took; prints them as JSON. */
async function ask(address: string): Promise<void> {
  const took: number[] = [];
  for (let i = 0; i < tries; i++) {
    const at = performance.now();
    const code = await new Promise<string>((resolve) => {
      const socket = connect(PORT, address);
      socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
      socket.once('connect', () => resolve('connected'));
    });
    if (code !== 'ECONNREFUSED') throw new Error(code);
    took.push(performance.now() - at);
  }
  process.stdout.write(JSON.stringify(took));
}

/** The median of the round trips of pings to an address, in ms. */
async function roundTrip(host: Host, address: string): Promise<number> {
  const { stdout } = await host.run('ping', '-n', '-c', '50', '-i', '0.02', address);
  return median([...stdout.matchAll(/time=([\d.]+) ms/g)].map(([, ms]) => Number(ms)));
}

async function run(): Promise<void> {
  const { network, gateway, alice } = await buildTopology('rf');
  await letPing(gateway);
  const postern = new Postern(gateway, API_ADDRESS, { WIREGUARD_TUN: 'sockets' });
  try {
    await postern.start();
    const { client } = await enrol(postern, alice, 'a@example.test', `${GATEWAY4}:51820`);
    await until('the device is connected', () => canPing(client.host, LAN4), 15_000);
    const rows: string[] = [];
    let isMet = true;
    for (const address of [LAN4, LAN6]) {
      const pinged = await roundTrip(client.host, address);
      const words = [import.meta.filename, '--from', address, '--tries', String(tries)];
      const { stdout } = await client.host.run(process.execPath, ...words);
      const took = (JSON.parse(stdout) as number[]).toSorted((a, b) => a - b);
      const slowest = took.at(-1)!;
      isMet &&= slowest <= pinged + BAR_MS;
      const cells = [pinged, median(took), took[Math.floor(0.99 * took.length)]!, slowest];
      rows.push(`| ${address} | ${cells.map((ms) => ms.toFixed(2)).join(' | ')} |`);
    }
    const command = `test/apart.sh node test/bench/refused.ts --tries ${tries}`;
    const report = `
${reportHead('a refused port', command)}. Bar: the slowest within the round trip and ${BAR_MS} ms: ${isMet ? 'met' : 'missed'}.

| ms | ping | median | 99 % | slowest |
|---|---:|---:|---:|---:|
${rows.join('\n')}
`;
    process.stdout.write(report);
    if (values.record) keepResult('node test/bench/refused.ts', report);
    process.exitCode = isMet ? 0 : 1;
  } finally {
    await postern.stop();
    await network.remove();
  }
}

await (values.from === '' ? run() : ask(values.from));
