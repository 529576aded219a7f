// The commands of limits: what they set is what the API shows, and what it refuses they refuse.

import test from 'ava';
import { parseCommandLine } from '../../../lib/command/cli.ts';
import { databaseCommands } from '../../../lib/command/commands.ts';
import type { Outcome } from '../../../lib/command/run.ts';
import { type Database, readAuditEntries, readDevices, readUsers } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addUser } from '../../support/database/records.ts';

async function runLine(database: Database, line: string): Promise<Outcome> {
  const parsed = parseCommandLine(line.split(' '));
  if (!('command' in parsed)) throw new Error(`not understood: ${line}`);
  return databaseCommands[parsed.command.words]!(database, parsed.command, async () => '');
}

for (const kind of databaseKinds()) {
  test(`${kind}: a device and a user get limits, and lose them`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database, { email: 'ann@b.example' });
    const { id } = await addDevice(database, user.id, { name: 'laptop' });
    const made = await runLine(database, `device limit --id ${id} --down 10000000 --up 64000`);
    t.is(made.text, 'laptop gets 10000000 bits per second and sends 64000 bits per second.');
    t.deepEqual(made.data, { id, limit_down: 10_000_000, limit_up: 64_000 });
    const less = await runLine(database, `device limit --id ${id} --down none`);
    t.regex(less.text, /^laptop gets what its owner or the settings say and sends 64000 bits/);
    const of = await runLine(database, 'user limit --email Ann@b.example --up 100000000000');
    t.regex(of.text, /^Each device of ann@b.example gets what the settings say and sends 1000000/);
    t.like((await readDevices(database))[0], { limit_down: null, limit_up: 64_000 });
    t.like((await readUsers(database))[0], { limit_down: null, limit_up: 100_000_000_000 });
    const [latest] = await readAuditEntries(database, { limit: 1 });
    t.true(JSON.stringify(latest).includes('limit_up'), JSON.stringify(latest));
  });

  test(`${kind}: what is no limit is refused, and says what to give`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database, { email: 'ann@b.example' });
    const { id } = await addDevice(database, user.id);
    for (const [line, message] of [
      [`device limit --id ${id}`, /^give --down, --up or both: bits per second, or none$/],
      [`device limit --id ${id} --down 10M`, /^limit_down is invalid; give --down 10000000\|none$/],
      [`device limit --id ${id} --up 1`, /^limit_up must be greater than or equal to 64000$/],
      ['device limit --id 0190 --up none', /^there is no device 0190; see: .*device list$/],
      ['user limit --email nobody@b.example --up none', /nobody@b\.example/],
    ] as const)
      await t.throwsAsync(runLine(database, line), { message }, line);
    t.like((await readDevices(database))[0], { limit_down: null, limit_up: null });
  });
}
