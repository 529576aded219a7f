// The commands `import …`: they read a file or standard input, and print the result. Names that
// were read from comments are shown to the person at the terminal before they are taken over.

import { type Config, withOpenSettings } from '../../config/index.ts';
import { derivePublicKey } from '../../dataplane/index.ts';
import {
  type Database,
  emailKey,
  newId,
  readForeignTables,
  readOrCreateConfiguration,
  readUsers,
  SQLITE_MARK,
} from '../../models/index.ts';
import { effectiveConfiguration } from '../kit/records/effective-configuration.ts';
import { fixedSettingsOf } from '../domain/configuration/fixed-settings.ts';
import { letInCommand, readAdministration } from '../auth/administrators.ts';
import { type AskPerson, personAtTerminal } from './ask-person.ts';
import { findUser } from './finds.ts';
import type { CommandName } from './grammar.ts';
import { isIdOrEnd } from './naming.ts';
import type { Command, Outcome } from './run.ts';
import { bytesOfFile, textOfBytes, textOfFile } from './text-file.ts';
import { knownServerPrivateKey } from '../installation/setup/first-start.ts';
import { runningGateway } from '../installation/setup/running-gateway.ts';
import type { DeviceImport } from '../installation/imports/devices.ts';
import { importFirezone } from '../installation/imports/firezone.ts';
import { type Imported, indented } from '../installation/imports/run.ts';
import {
  parseWgEasyJson,
  readWgEasyTables,
  WG_EASY_TABLES,
  type WgEasy,
} from '../installation/imports/wg-easy-file.ts';
import { importWgEasy } from '../installation/imports/wg-easy.ts';
import { importWgQuick, type Owner } from '../installation/imports/wg-quick.ts';

type Run = (
  config: Config,
  database: Database,
  command: Command,
  readStdin: () => Promise<string>,
  /** Null: nobody sits at a terminal. */
  person?: AskPerson | null,
) => Promise<Outcome>;

/** The commands. */
export const importCommands: Partial<Record<CommandName, Run>> = {
  'import wg-quick': async (config, database, command, readStdin, person) => {
    const text = await textOfFile(command.operand ?? '', readStdin);
    const run: Import = (services, how) => importWgQuick(services, text, how);
    return importFor(config, database, command, run, person);
  },
  'import wg-easy': async (config, database, command, readStdin, person) => {
    const kept = await readWgEasy(command.operand ?? '', readStdin);
    const run: Import = (services, how) => importWgEasy(services, kept, how);
    return importFor(config, database, command, run, person);
  },
  'import firezone': async (config, database, command, readStdin) => {
    const text = await textOfFile(command.operand ?? '', readStdin);
    const isTrial = command.options.dryRun;
    const services = await servicesOf(config, database);
    return outcomeOf(services, await importFirezone(services, text, isTrial), isTrial);
  },
};

/** What wg-easy keeps: JSON, or a database with the files beside it. */
async function readWgEasy(file: string, readStdin: () => Promise<string>): Promise<WgEasy> {
  if (file === '-') return parseWgEasyJson(await readStdin());
  const bytes = bytesOfFile(file);
  if (!bytes.subarray(0, SQLITE_MARK.length).equals(SQLITE_MARK))
    return parseWgEasyJson(textOfBytes(bytes, file));
  return readWgEasyTables(await readForeignTables(file, WG_EASY_TABLES));
}

type Import = (
  services: DeviceImport,
  how: { readonly owner: Owner; readonly isTrial: boolean },
) => Promise<Imported>;

/** Imports devices of one user. At a terminal they are tried first, and the person is asked. */
async function importFor(
  config: Config,
  database: Database,
  { options }: Command,
  run: Import,
  person: AskPerson | null = personAtTerminal(),
): Promise<Outcome> {
  const { email = '', createUser, dryRun: isTrial } = options;
  const owner = await ownerOf(database, email, createUser);
  const services = await servicesOf(config, database);
  if (person !== null && !isTrial && options.yes !== true) {
    const tried = await run(services, { owner, isTrial: true });
    const lines = [...deviceLines(tried), ...tried.notes];
    const count = tried.counts['devices'] ?? 0;
    const what = count === 1 ? 'this device' : `these ${count} devices`;
    if (!(await person([...indented(lines), `Make ${what} for ${email}?`].join('\n'))))
      throw new Error('nothing was taken over, because the answer was no');
  }
  return outcomeOf(services, await run(services, { owner, isTrial }), isTrial);
}

/** The owner of the devices: an existing user, or a user whom the import makes. */
async function ownerOf(database: Database, email: string, mayCreate: boolean): Promise<Owner> {
  const [present] = await readUsers(database, { emailKey: emailKey(email.trim()) });
  if (present !== undefined) return { id: present.id, newEmail: null };
  if (mayCreate) return { id: newId(), newEmail: email.trim() };
  if (isIdOrEnd(email)) return { id: (await findUser(database, email)).id, newEmail: null };
  throw new Error(`there is no user ${email}; with --create-user the import makes this user`);
}

/**
 * A key of the server that does not exist yet is left for the start: an import may write nothing.
 */
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
  imported: Imported,
  isTrial: boolean,
): Promise<Outcome> {
  const { counts, notes: found, present, devices } = imported;
  const notes = [...found, ...(isTrial ? [] : await administrationNotes(services))];
  const said = Object.entries(counts).map(([what, count]) =>
    count === 1 ? `1 ${what.replace(/s\b/, '')}` : `${count} ${what}`,
  );
  const verb = isTrial ? 'could be taken over; nothing was written' : 'taken over';
  return {
    text: [`${said.join(', ')}: ${verb}.`, ...indented([...deviceLines(imported), ...notes])].join(
      '\n',
    ),
    data: {
      dry_run: isTrial,
      counts,
      ...(devices === undefined
        ? {}
        : {
            devices: devices.map(({ name, isNamed, place }) => ({
              place,
              name: isTrial && !isNamed ? null : name,
            })),
          }),
      notes,
      ...(present === undefined ? {} : { users_present: present }),
    },
  };
}

/**
 * What devices are called by the file, where their place does not say it; those that it names not
 * get another name at each try.
 */
function deviceLines({ devices = [] }: Imported): string[] {
  return devices
    .filter(({ isNamed, name, place }) => isNamed && !place.endsWith(`(${name})`))
    .map(({ name, place }) => `${place} is named ${name}`);
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
