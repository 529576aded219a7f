// The commands of policy tests that list them, and run them for scripts that must know whether one
// fails.

import { readDevices, readPolicyTests, readUsers } from '../../models/index.ts';
import { showPolicyTests } from '../domain/policy-tests/policy-tests.ts';
import type { PolicyContext } from '../domain/policy/trial.ts';
import type { Shown } from '../kit/records/shown.ts';
import { findUser } from './finds.ts';
import type { CommandName } from './grammar.ts';
import type { Command, Given, Outcome, Run } from './run.ts';
import { below, listed } from './screen.ts';

/** The commands. */
export const policyTestCommands: Partial<Record<CommandName, Run>> = {
  'policy-test list': listTests,
  'policy-test run': runTests,
};

async function listTests(given: Given, command: Command): Promise<Outcome> {
  const { tests, rows } = await readTests(await (await given.rooms()).context(), command);
  const columns = [
    ['id', 'id'],
    ['name', 'text'],
    ['whose', 'text'],
    ['packet', 'fixed'],
    ['expect', 'fixed'],
    ['result', 'state'],
  ] as const;
  return { ...listed(columns, rows), data: tests };
}

async function runTests(given: Given, command: Command): Promise<Outcome> {
  const { tests, rows } = await readTests(await (await given.rooms()).context(), command);
  const failing = rows.filter((_, i) => tests[i]?.['passes'] !== true);
  const reasons = tests.filter(({ passes }) => passes !== true).map(({ text }) => String(text));
  const data = { passed: tests.length - failing.length, failed: failing.length, tests };
  const said = `${tests.length} policy test(s): ${data.passed} pass, ${data.failed} fail.`;
  if (failing.length === 0) return { text: said, data };
  const lines = failing.map((row, i) => [...row.slice(0, 4), reasons[i] ?? '']);
  const columns = [
    ['id', 'id'],
    ['name', 'text'],
    ['whose', 'text'],
    ['packet', 'fixed'],
    ['why it fails', 'text'],
  ] as const;
  return { ...below(said, '', listed(columns, lines)), data, isBad: true };
}

/** Tests as they are shown, and as cells of a table. */
async function readTests(
  context: PolicyContext,
  { options: { email } }: Command,
): Promise<{ tests: Shown[]; rows: string[][] }> {
  const { database } = context.services;
  const owner = email === undefined ? null : await findUser(database, email);
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
