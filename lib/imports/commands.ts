// The commands `import …`: they read a file or standard input, and say what came of it.

import { readFileSync } from 'node:fs';
import type { Config } from '../../config/index.ts';
import { derivePublicKey } from '../../dataplane/index.ts';
import type { Database } from '../../models/index.ts';
import type { Command, CommandName } from '../cli.ts';
import type { Outcome } from '../commands.ts';
import { findUser } from '../device-commands.ts';
import { knownServerPrivateKey } from '../first-start.ts';
import { messageOf } from '../observe/log.ts';
import type { DeviceImport } from './devices.ts';
import { importFirezone } from './firezone.ts';
import { type Imported, indented } from './run.ts';
import { importWgQuick } from './wg-quick.ts';

type Run = (
  config: Config,
  database: Database,
  command: Command,
  readStdin: () => Promise<string>,
) => Promise<Outcome>;

/** The commands. */
export const importCommands: Partial<Record<CommandName, Run>> = {
  'import wg-quick': async (config, database, command, readStdin) => {
    const text = await textOf(command, readStdin);
    const owner = await findUser(database, command.options.email ?? '');
    const isTrial = command.options.dryRun;
    const services = await servicesOf(config, database);
    return outcomeOf(await importWgQuick(services, text, { owner, isTrial }), isTrial);
  },
  'import firezone': async (config, database, command, readStdin) => {
    const text = await textOf(command, readStdin);
    const isTrial = command.options.dryRun;
    const services = await servicesOf(config, database);
    return outcomeOf(await importFirezone(services, text, isTrial), isTrial);
  },
};

/** A key of the server that is not there yet is left for the start: an import may write nothing. */
async function servicesOf(config: Config, database: Database): Promise<DeviceImport> {
  const privateKey = await knownServerPrivateKey(config, database);
  const publicKey = privateKey === null ? new Uint8Array() : derivePublicKey(privateKey);
  return { config, database, serverPublicKey: Buffer.from(publicKey).toString('base64') };
}

async function textOf({ operand }: Command, readStdin: () => Promise<string>): Promise<string> {
  const file = operand ?? '';
  if (file === '-') return readStdin();
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`${file} cannot be read (${messageOf(error)})`, { cause: error });
  }
}

function outcomeOf({ counts, notes, present }: Imported, isTrial: boolean): Outcome {
  const said = Object.entries(counts).map(([what, count]) => `${count} ${what}`);
  const verb = isTrial ? 'could be taken over; nothing was written' : 'taken over';
  return {
    text: [`${said.join(', ')}: ${verb}.`, ...indented(notes)].join('\n'),
    data: {
      dry_run: isTrial,
      counts,
      notes,
      ...(present === undefined ? {} : { users_present: present }),
    },
  };
}
