// Loads the running part of the data plane only when it is called: most commands of the command
// line import the door for a key or an address alone.

import type { createGateway as create } from './gateway.ts';
import type { openUdpSockets as openSockets } from '../host/descriptors.ts';
import type { inspectHost as inspect } from '../io/inspect.ts';

/** See `createGateway` in gateway.ts. */
export const createGateway: typeof create = async (...given) =>
  (await import('./gateway.ts')).createGateway(...given);

/** Loads what `createGateway` needs, while something else is waited for. */
export const loadGateway = async (): Promise<void> => {
  await import('./gateway.ts');
};

/** See `inspectHost` in io/inspect.ts. */
export const inspectHost: typeof inspect = async (...given) =>
  (await import('../io/inspect.ts')).inspectHost(...given);

/** See `openUdpSockets` in descriptors.ts. */
export const openUdpSockets = async (
  ...given: Parameters<typeof openSockets>
): Promise<ReturnType<typeof openSockets>> =>
  (await import('../host/descriptors.ts')).openUdpSockets(...given);

/** See `defaultSignals` in descriptors.ts. */
export const defaultSignals = async (): Promise<void> =>
  (await import('../host/descriptors.ts')).defaultSignals();
