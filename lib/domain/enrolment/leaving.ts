// A person has left: everything that lets them in ends with one write. The user stays, disabled, so
// that history and audit trail keep a name, and an administrator can undo it step by step.
// docs/api.md#disabled-users.

import type { Database, Transaction, User } from '../../../models/index.ts';
import { endSessions, switchedUser } from '../../auth/accounts.ts';
import type { Caller } from '../../kit/process/caller.ts';
import type { RecordContext } from '../../kit/records/collection.ts';
import { refuseErrors, saveChanges } from '../../kit/records/writes.ts';
import { switchValues } from '../devices/switches.ts';
import { disablingError, findUser } from '../users/users.ts';

/** What ended with a person who left. */
export interface Ended {
  readonly devices: number;
  readonly tokens: number;
  readonly sessions: number;
}

/**
 * Disables a user, which revokes one-time links too, switches all their devices off, and ends
 * sessions and API tokens.
 */
export function leave(context: RecordContext, caller: Caller, userId: string): Promise<Ended> {
  const { database } = context.services;
  return context.writes.run(caller, {
    // Else two administrators could disable each other at once.
    scopes: { configuration: true },
    check: async (transaction) => {
      const user = await findUser(database, userId, transaction);
      const error = await disablingError(context, user, caller, transaction);
      refuseErrors(error === null ? {} : { enabled: [error] });
      return user;
    },
    write: (transaction, user) => endAll(database, user, transaction),
  });
}

async function endAll(database: Database, user: User, transaction: Transaction): Promise<Ended> {
  const { ApiToken, Device } = database.models;
  const where = { user_id: user.id };
  const options = { order: [['id', 'ASC']] as [string, string][], lock: true, transaction };
  const sessions = await endSessions(database, user.id, {}, transaction);
  await saveChanges(user, switchedUser(user, false), transaction);
  const devices = await Device.findAll({ where: { ...where, disabled_at: null }, ...options });
  const now = new Date();
  for (const device of devices)
    await saveChanges(device, switchValues(device, { isOn: false }, now), transaction);
  const tokens = await ApiToken.findAll({ where, ...options });
  for (const token of tokens) await token.destroy({ transaction });
  return { devices: devices.length, tokens: tokens.length, sessions };
}
