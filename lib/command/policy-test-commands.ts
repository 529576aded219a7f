// The commands of policy tests: they make what the API makes, judged by the same functions, and run
// the tests for scripts that must know whether one fails.

import type { Config } from '../../config/index.ts';
import {
  type Database,
  lockScopes,
  readDevices,
  readPolicyTests,
  readUsers,
  writeTransaction,
} from '../../models/index.ts';
import { ApiError } from '../http/errors.ts';
import { isUuid } from '../judge/fields.ts';
import {
  judgeNewPolicyTest,
  judgePolicyTest,
  showPolicyTests,
} from '../policy-tests/policy-tests.ts';
import type { PolicyContext } from '../policy/trial.ts';
import { commandLine } from '../process/command-line.ts';
import type { Shown } from '../records/shown.ts';
import { type Hints, refusalOf } from './fault-words.ts';
import type { CommandName } from './grammar.ts';
import { findOwner, policyContextOf } from './rule-commands.ts';
import type { Command, Outcome } from './run.ts';
import { table } from './text-table.ts';

/** What a command takes for the fields that are typed as options. */
const HINTS: Hints = {
  user_id: '--email ann@example.com, or --device with the id of a device',
  device_id: '--device with the id of a device; see device list',
  destination: '--destination 10.0.0.5; networks and names of hosts are not possible',
  protocol: '--protocol tcp|udp|icmp',
  port: '--port 443',
  expect: '--expect accept|drop',
};

type Run = (config: Config, database: Database, command: Command) => Promise<Outcome>;

/** The commands. */
export const policyTestCommands: Partial<Record<CommandName, Run>> = {
  'policy-test list': listTests,
  'policy-test create': createTest,
  'policy-test delete': deleteTest,
  'policy-test run': runTests,
};

async function listTests(config: Config, database: Database, command: Command): Promise<Outcome> {
  const context = await policyContextOf(config, database);
  const { tests, rows } = await readTests(context, command);
  const labels = ['id', 'name', 'whose', 'packet', 'expect', 'result'];
  return { text: table(labels, rows), data: tests };
}

async function runTests(config: Config, database: Database, command: Command): Promise<Outcome> {
  const context = await policyContextOf(config, database);
  const { tests, rows } = await readTests(context, command);
  const failing = rows.filter((_, i) => tests[i]?.['passes'] !== true);
  const reasons = tests.filter(({ passes }) => passes !== true).map(({ text }) => String(text));
  const data = { passed: tests.length - failing.length, failed: failing.length, tests };
  const said = `${tests.length} policy test(s): ${data.passed} pass, ${data.failed} fail.`;
  if (failing.length === 0) return { text: said, data };
  const lines = failing.map((row, i) => [...row.slice(0, 4), reasons[i] ?? '']);
  const failures = table(['id', 'name', 'whose', 'packet', 'why it fails'], lines);
  return { text: `${said}\n\n${failures}`, data, isBad: true };
}

/** Tests as they are shown, and as cells of a table. */
async function readTests(
  context: PolicyContext,
  { options: { email } }: Command,
): Promise<{ tests: Shown[]; rows: string[][] }> {
  const { database } = context.services;
  const owner = email === undefined ? null : await findOwner(database, email);
  const found = await readPolicyTests(database, owner === null ? {} : { userId: owner.id });
  const tests = await showPolicyTests(context, found);
  const idsOf = (name: string): string[] =>
    tests.map((one) => one[name]).filter((id) => typeof id === 'string');
  const users = await readUsers(database, { ids: idsOf('user_id') });
  const devices = await readDevices(database, { ids: idsOf('device_id') });
  const names = new Map<unknown, string>([
    ...users.map(({ id, email: text }) => [id, text] as const),
    ...devices.map(({ id, name }) => [id, `device ${name}`] as const),
  ]);
  const passing = new Map(tests.map(({ id, passes }) => [id, passes === true]));
  const rows = found
    .filter(({ id }) => passing.has(id))
    .map(({ id, name, user_id, device_id, destination, protocol, port, expect }) => {
      const packet = `${destination} ${protocol}${port === null ? '' : `/${port}`}`;
      const whose = names.get(user_id ?? device_id) ?? '';
      return [id, name, whose, packet, expect, passing.get(id) === true ? 'passes' : 'fails'];
    });
  return { tests, rows };
}

async function createTest(
  config: Config,
  database: Database,
  { options }: Command,
): Promise<Outcome> {
  const { name, email, device, destination, protocol, port, expect } = options;
  const owner = email === undefined ? null : await findOwner(database, email);
  const context = await policyContextOf(config, database);
  const fields = {
    name,
    user_id: owner?.id ?? null,
    device_id: device ?? null,
    destination,
    protocol,
    port: port ?? null,
    expect,
  };
  const input = judgePolicyTest(fields, 'create');
  const { result: made } = await writeTransaction(database, async (transaction) => {
    await lockScopes(database, transaction, { configuration: true });
    const judged = await inWords(() => judgeNewPolicyTest(database, input, transaction));
    return database.models.PolicyTest.create(judged, { transaction, validate: false });
  });
  const rows = await readPolicyTests(database, { ids: [made.id] });
  const [shown] = await showPolicyTests(context, rows);
  const note = shown?.['passes'] === true ? {} : { note: `It fails: ${String(shown?.['text'])}` };
  return { text: made.id, data: shown, ...note };
}

/** Turns a refusal into a sentence. */
async function inWords<Result>(judging: () => Promise<Result>): Promise<Result> {
  try {
    return await judging();
  } catch (error) {
    if (error instanceof ApiError) throw refusalOf(error.faults ?? {}, HINTS);
    throw error;
  }
}

async function deleteTest(
  _config: Config,
  database: Database,
  { options: { id = '' } }: Command,
): Promise<Outcome> {
  await writeTransaction(database, async (transaction) => {
    const found = isUuid(id)
      ? await database.models.PolicyTest.findByPk(id.toLowerCase(), { transaction, lock: true })
      : null;
    if (found === null)
      throw new Error(`there is no policy test ${id}; see: ${commandLine('policy-test list')}`);
    await found.destroy({ transaction });
  });
  return { text: `${id} is removed.`, data: { id, removed: true } };
}
