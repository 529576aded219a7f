// The commands of limits: how much a device, or each device of a user, may get and send, and how
// much a user may carry in a month. They are judged as the API judges them.

import { lockUserOf } from '../auth/named-user.ts';
import { deviceSchema } from '../devices/devices.ts';
import type { DeviceValues } from '../devices/judge.ts';
import { lockDevice } from '../devices/switches.ts';
import { type Faults, isFaultless, judgeOf } from '../judge/judge.ts';
import { judgeUser } from '../users/users.ts';
import { type Database, type Device, type User, writeTransaction } from '../../models/index.ts';
import { noDevice } from '../process/absent.ts';
import { UsageError } from '../process/usage-error.ts';
import { type Hints, refusalOf } from './fault-words.ts';
import type { CommandName } from './grammar.ts';
import type { Command, Outcome, Run } from './run.ts';
import { printable } from './text-table.ts';

/** What takes a limit away. */
const NONE = 'none';

/** What a command takes for the fields that are typed as options. */
const HINTS: Hints = {
  limit_down: `--down 10000000|${NONE}`,
  limit_up: `--up 10000000|${NONE}`,
  quota: `--quota 100000000000|${NONE}`,
};

const judgeDevice = judgeOf<DeviceValues>(deviceSchema);

/** The commands. */
export const limitCommands: Partial<Record<CommandName, Run>> = {
  'device limit': limitDevice,
  'user limit': limitUser,
};

async function limitDevice(database: Database, { options }: Command): Promise<Outcome> {
  const { id = '' } = options;
  const typed = typedIn(options, '--down, --up or both: bits per second');
  const { values, faults } = judgeDevice(typed, 'update');
  refuse(faults);
  const { result: device } = await writeTransaction(database, async (transaction) => {
    const found = await lockDevice(database, id, transaction);
    if (found === null) throw noDevice(id);
    return found.update(values, { transaction });
  });
  return said(device, printable(device.name), 'its owner or the settings say');
}

async function limitUser(database: Database, { options }: Command): Promise<Outcome> {
  const { email = '' } = options;
  const typed = typedIn(options, '--down or --up: bits per second; or --quota: bytes in a month');
  const { values, faults } = judgeUser(typed, 'update');
  refuse(faults);
  const { result: user } = await writeTransaction(database, async (transaction) =>
    (await lockUserOf(database, email, transaction)).update(values, { transaction }),
  );
  const outcome = said(user, `Each device of ${user.email}`, 'the settings say');
  const { quota } = user;
  const bytes = quota === null ? 'what the settings say' : `${quota} bytes`;
  return {
    text: `${outcome.text} All of them together carry ${bytes} in a month.`,
    data: { ...(outcome.data as object), quota },
  };
}

/** The fields that were typed; at least one is. `wanted`: what to type, and what it means. */
function typedIn({ down, up, quota }: Command['options'], wanted: string): Record<string, unknown> {
  const typed = Object.entries({ limit_down: down, limit_up: up, quota });
  const given = typed.filter(([, text]) => text !== undefined);
  if (given.length === 0) throw new UsageError(`give ${wanted}, or ${NONE}`);
  return Object.fromEntries(given.map(([name, text]) => [name, text === NONE ? null : text]));
}

function said(
  { id, limit_down, limit_up }: Device | User,
  who: string,
  otherwise: string,
): Outcome {
  const words = (limit: number | null): string =>
    limit === null ? `what ${otherwise}` : `${limit} bits per second`;
  return {
    text: `${who} gets ${words(limit_down)} and sends ${words(limit_up)}.`,
    data: { id, limit_down, limit_up },
  };
}

function refuse(faults: Faults): void {
  if (!isFaultless(faults)) throw refusalOf(faults, HINTS);
}
