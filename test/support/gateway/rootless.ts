// A gateway as `npm run start:rootless` starts it, for a user who has no rights.

import type { ExecutionContext } from 'ava';
import type { Host } from '../network/namespaces.ts';
import {
  addDefaultRoutes,
  API_ADDRESS,
  buildTopology,
  letPing,
  type Topology,
} from '../network/topology.ts';
import { type RootlessStart, WITHOUT_WARM_UP, withoutRoot } from './launcher.ts';
import { Postern } from './postern.ts';

/**
 * Prepares a host, which needs a default route, and a folder for the user. Nobody is asked for
 * rights later.
 */
export async function prepareRootless(host: Host): Promise<RootlessStart> {
  await letPing(host);
  return withoutRoot();
}

/**
 * Builds a host with a way out, and a gateway on it that is not started yet. `limit`: a program and
 * its arguments that take something away from the gateway.
 */
export async function buildRootless(
  t: ExecutionContext,
  prefix: string,
  { settings = {}, limit = [] }: { settings?: Record<string, string>; limit?: string[] } = {},
): Promise<{ topology: Topology; postern: Postern }> {
  t.timeout(120_000);
  const topology = await buildTopology(prefix);
  t.teardown(() => topology.network.remove());
  const { gateway, lan } = topology;
  await addDefaultRoutes(gateway);
  // The networks of both clients.
  await lan.ip('route', 'add', '192.0.2.0/23', 'via', '198.51.100.1');
  const { settings: own, wrapper } = await prepareRootless(gateway);
  const environment = { ...WITHOUT_WARM_UP, ...own, ...settings };
  const postern = new Postern(gateway, API_ADDRESS, environment, [...limit, ...wrapper]);
  return { topology, postern };
}

/** The process id of pasta, which holds the TCP port of a gateway on a host. */
export async function pidOfPasta(host: Host): Promise<number> {
  const { stdout } = await host.run('ss', '-Hltnp', 'sport = :13000');
  const pid = /pid=(\d+)/.exec(stdout)?.[1];
  if (pid === undefined) throw new Error(`pasta holds no port: ${stdout}`);
  return Number(pid);
}
