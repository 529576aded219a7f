// The commands that ask the gateway that runs on this host. They need no database.

import { setTimeout } from 'node:timers/promises';
import type { Config } from '../../config/index.ts';
import { isOutputLost } from '../kit/process/lost-output.ts';
import type { LocalGateway } from './ask-gateway.ts';
import type { CommandName } from './grammar.ts';
import { rowOf } from './rows.ts';
import type { Command, Following, Outcome } from './run.ts';

/** What a command that asks the gateway does. */
export type RunLive = (
  gateway: LocalGateway,
  command: Command,
  following: Following,
) => Promise<Outcome>;

/** How often a command that goes on looks again. */
const LOOK_MS = 2_000;

/** Each is loaded when it is typed. */
const liveCommands: Partial<Record<CommandName, () => Promise<RunLive>>> = {
  capture: async () => {
    const { captureDevice } = await import('./capture-command.ts');
    return (gateway, command) => captureDevice(gateway, command);
  },
  explain: async () => (await import('./explain-command.ts')).explainPacket,
  who: async () => (await import('./who-command.ts')).whoMayReach,
  diagnose: async () => (await import('./diagnose-command.ts')).diagnose,
  flows: async () => (await import('./flow-commands.ts')).listFlows,
  refusals: async () => (await import('./flow-commands.ts')).listRefusals,
  traffic: async () => (await import('./traffic-command.ts')).showTraffic,
};

/** Obeys a command that asks the gateway; null: it is another one. */
export async function outcomeOfLive(
  command: Command,
  config: Config,
  say: Following['say'],
  pause: Following['pause'] = untilNextLook,
): Promise<Outcome | null> {
  const run = await runOf(command);
  if (run === null) return null;
  const { LocalGateway } = await import('./ask-gateway.ts');
  return run(new LocalGateway(config), command, { say, pause });
}

/** False once nobody reads what a command goes on to print. */
async function untilNextLook(): Promise<boolean> {
  await setTimeout(LOOK_MS);
  return !isOutputLost();
}

async function runOf(command: Command): Promise<RunLive | null> {
  const row = command.options.dryRun ? await rowOf(command.words) : null;
  if (row !== null) {
    const { dryRun } = await import('./dry-run-command.ts');
    return (gateway) => dryRun(gateway, row, command);
  }
  return (await liveCommands[command.words]?.()) ?? null;
}
