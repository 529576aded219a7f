// A gateway without a TUN, and devices that send it more than people do: for attacks that measure
// what one device costs the others.

import { readFileSync } from 'node:fs';
import type { ExecutionContext } from 'ava';
import { RawDevice } from '../network/raw-device.ts';
import { type GatewayProcess, startGateway } from './gateway-process.ts';
import type { Data, Postern } from './postern.ts';

/** The gateway, and how devices come to it. */
export interface FloodedGateway {
  readonly call: GatewayProcess['call'];
  /** Makes a user with a device, which is connected. */
  readonly enrol: (name: string) => Promise<RawDevice>;
  /** What the process has in memory, in MiB. */
  readonly memoryMb: () => number;
}

/** Starts a gateway that judges packets without rules by `defaultAction`. */
export async function startFloodedGateway(
  t: ExecutionContext,
  defaultAction: 'accept' | 'drop',
): Promise<FloodedGateway> {
  const { call, environment, pid } = await startGateway(t, {
    DEFAULT_ACTION: defaultAction,
    API_RATE_LIMIT: '0',
    LOG_LEVEL: 'info',
  });
  const create: Postern['create'] = async (kind, fields) =>
    (await call('POST', `/v0/${kind}s`, { [kind]: fields })).body.data as Data;
  const endpoint = { address: '127.0.0.1', port: Number(environment['WIREGUARD_PORT']) };
  return {
    call,
    enrol: async (name) => {
      const device = await RawDevice.enrol({ create }, `${name}@example.test`, endpoint);
      t.teardown(() => device.close());
      return device;
    },
    memoryMb: () =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024,
  };
}
