// The commands that ask the gateway that runs on this host. They need no database.

import type { Config } from '../../config/index.ts';
import { LocalGateway } from './ask-gateway.ts';
import { diagnose } from './diagnose-command.ts';
import { captureDevice } from './capture-command.ts';
import { explainPacket } from './explain-command.ts';
import type { CommandName } from './grammar.ts';
import type { Command, Outcome } from './run.ts';

/** What a command that asks the gateway does. */
export type RunLive = (gateway: LocalGateway, command: Command) => Promise<Outcome>;

const liveCommands: Partial<Record<CommandName, RunLive>> = {
  capture: captureDevice,
  explain: explainPacket,
  diagnose,
};

/** Obeys a command that asks the gateway; null: it is another one. */
export function outcomeOfLive(command: Command, config: Config): Promise<Outcome> | null {
  const run = liveCommands[command.words];
  return run === undefined ? null : run(new LocalGateway(config), command);
}
