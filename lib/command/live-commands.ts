// The commands that ask the gateway that runs on this host. They need no database.

import type { Config } from '../../config/index.ts';
import { LocalGateway } from './ask-gateway.ts';
import { diagnose } from './diagnose-command.ts';
import { captureDevice } from './capture-command.ts';
import { setTimeout } from 'node:timers/promises';
import { dryRun, isDryRun } from './dry-run-command.ts';
import { explainPacket } from './explain-command.ts';
import { listFlows, listRefusals } from './flow-commands.ts';
import { showTraffic } from './traffic-command.ts';
import type { CommandName } from './grammar.ts';
import type { Command, Following, Outcome } from './run.ts';

/** What a command that asks the gateway does. */
export type RunLive = (
  gateway: LocalGateway,
  command: Command,
  following: Following,
) => Promise<Outcome>;

/** How often a command that goes on looks again. */
const LOOK_MS = 2_000;

const liveCommands: Partial<Record<CommandName, RunLive>> = {
  capture: (gateway, command) => captureDevice(gateway, command),
  explain: explainPacket,
  diagnose,
  flows: listFlows,
  refusals: listRefusals,
  traffic: showTraffic,
};

/** Obeys a command that asks the gateway; null: it is another one. */
export function outcomeOfLive(
  command: Command,
  config: Config,
  say: Following['say'],
  pause: Following['pause'] = async () => setTimeout(LOOK_MS, true),
): Promise<Outcome> | null {
  const run = isDryRun(command) ? dryRun : liveCommands[command.words];
  return run === undefined ? null : run(new LocalGateway(config), command, { say, pause });
}
