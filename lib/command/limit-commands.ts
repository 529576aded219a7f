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
import { refusalOf } from './fault-words.ts';
import type { CommandName } from './grammar.ts';
import { deviceLimits, LIMIT_HINTS, userLimits } from './limit-fields.ts';
import type { Command, Outcome, Run } from './run.ts';
import { printable } from './text-table.ts';

const judgeDevice = judgeOf<DeviceValues>(deviceSchema);

/** The commands. */
export const limitCommands: Partial<Record<CommandName, Run>> = {
  'device limit': limitDevice,
  'user limit': limitUser,
};

async function limitDevice(database: Database, { options }: Command): Promise<Outcome> {
  const { id = '' } = options;
  const typed = deviceLimits(options);
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
  const typed = userLimits(options);
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
  if (!isFaultless(faults)) throw refusalOf(faults, LIMIT_HINTS);
}
