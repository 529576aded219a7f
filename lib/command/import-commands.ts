// The commands `import …`: they read a file or standard input, and say what came of it.

import { type Config, withOpenSettings } from '../../config/index.ts';
import { derivePublicKey } from '../../dataplane/index.ts';
import {
  type Database,
  emailKey,
  newId,
  readOrCreateConfiguration,
  readUsers,
} from '../../models/index.ts';
import { effectiveConfiguration } from '../records/effective-configuration.ts';
import { fixedSettingsOf } from '../configuration/fixed-settings.ts';
import { letInCommand, readAdministration } from '../auth/administrators.ts';
import type { CommandName } from './grammar.ts';
import type { Command, Outcome } from './run.ts';
import { textOfFile } from './text-file.ts';
import { knownServerPrivateKey } from '../installation/first-start.ts';
import { runningGateway } from '../installation/running-gateway.ts';
import type { DeviceImport } from '../imports/devices.ts';
import { importFirezone } from '../imports/firezone.ts';
import { type Imported, indented } from '../imports/run.ts';
import { importWgQuick, type Owner } from '../imports/wg-quick.ts';

type Run = (
  config: Config,
  database: Database,
  command: Command,
  readStdin: () => Promise<string>,
) => Promise<Outcome>;

/** The commands. */
export const importCommands: Partial<Record<CommandName, Run>> = {
  'import wg-quick': async (config, database, command, readStdin) => {
    const text = await textOfFile(command.operand ?? '', readStdin);
    const { email = '', createUser, dryRun: isTrial } = command.options;
    const owner = await ownerOf(database, email, createUser);
    const services = await servicesOf(config, database);
    return outcomeOf(services, await importWgQuick(services, text, { owner, isTrial }), isTrial);
  },
  'import firezone': async (config, database, command, readStdin) => {
    const text = await textOfFile(command.operand ?? '', readStdin);
    const isTrial = command.options.dryRun;
    const services = await servicesOf(config, database);
    return outcomeOf(services, await importFirezone(services, text, isTrial), isTrial);
  },
};

/** Whose the devices will be: a user who is there, or one whom the import makes. */
async function ownerOf(database: Database, email: string, mayCreate: boolean): Promise<Owner> {
  const [present] = await readUsers(database, { emailKey: emailKey(email.trim()) });
  if (present !== undefined) return { id: present.id, newEmail: null };
  if (mayCreate) return { id: newId(), newEmail: email.trim() };
  throw new Error(`there is no user ${email}; with --create-user the import makes this user`);
}

/** A key of the server that is not there yet is left for the start: an import may write nothing. */
async function servicesOf(config: Config, database: Database): Promise<DeviceImport> {
  const running = await runningGateway(database);
  if (running !== null) {
    const { settings, publicKey: serverPublicKey } = running;
    return { config: withOpenSettings(config, settings), database, serverPublicKey };
  }
  const privateKey = await knownServerPrivateKey(config, database);
  const publicKey = privateKey === null ? new Uint8Array() : derivePublicKey(privateKey);
  return { config, database, serverPublicKey: Buffer.from(publicKey).toString('base64') };
}

async function outcomeOf(
  services: DeviceImport,
  { counts, notes: found, present }: Imported,
  isTrial: boolean,
): Promise<Outcome> {
  const notes = [...found, ...(isTrial ? [] : await administrationNotes(services))];
  const said = Object.entries(counts).map(([what, count]) =>
    count === 1 ? `1 ${what.replace(/s\b/, '')}` : `${count} ${what}`,
  );
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

/** Passwords are in no file that is imported, so it may be that nobody can sign in afterwards. */
async function administrationNotes({ config, database }: DeviceImport): Promise<string[]> {
  const stored = await readOrCreateConfiguration(database);
  const settings = effectiveConfiguration(stored, fixedSettingsOf(config));
  const { canSignIn, email } = await readAdministration(database, settings);
  if (canSignIn) return [];
  return email === null
    ? [
        'there is no administrator yet; the next start of the gateway makes one and shows the password',
      ]
    : [`no administrator can sign in yet; this command makes a password: ${letInCommand(email)}`];
}
