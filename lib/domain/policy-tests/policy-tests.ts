// Policy tests: what may be sent, what is shown, and what the operations do. A test is shown with
// its result under the present rules. docs/api.md#policy-tests.

import {
  type Database,
  parseAddress,
  type PolicyTest,
  policyTestFields,
  type PolicyTestRow,
  readPolicyTests,
  readUserIds,
  type Selection,
  type SentOf,
  type Transaction,
} from '../../../models/index.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { idFilter, isUuid } from '../../kit/validation/fields.ts';
import {
  addError,
  type Errors,
  type Validated,
  validatorOf,
} from '../../kit/validation/validate.ts';
import { messages } from '../../kit/validation/messages.ts';
import {
  columnDefaults,
  columnsSent,
  schemaOf,
  type SentColumn,
} from '../../kit/validation/resource.ts';
import { reasonInWords } from '../policy/reason-words.ts';
import {
  type OwnedTest,
  ownersOf,
  type PolicyContext,
  PolicyTrial,
  type TestResult,
} from '../policy/trial.ts';
import type { Caller } from '../../kit/process/caller.ts';
import {
  type Collection,
  lockRecord,
  type RecordContext,
  selectOwner,
} from '../../kit/records/collection.ts';
import { showerOf, type Shown } from '../../kit/records/shown.ts';
import { refuseErrors, saveChanges } from '../../kit/records/writes.ts';

/** The most policy tests: each write of a rule may ask all of them. */
export const POLICY_TESTS_MAX = 1_000;

/** The values of the fields of a policy test. */
export type PolicyTestValues = SentOf<typeof policyTestFields>;

/** The columns of a policy test that a request writes. */
export type PolicyTestContent = Pick<PolicyTest, SentColumn<typeof policyTestFields>>;

/** The schema that validates a policy test and describes it. */
export const policyTestSchema = schemaOf(policyTestFields, {});

/** Validates the fields of a policy test by themselves. */
export const validatePolicyTest = validatorOf<PolicyTestValues>(policyTestSchema);

/** The filters of a list of policy tests. */
export const policyTestFilters = {
  user_id: { schema: idFilter('Only tests of this user.'), select: selectOwner },
};

const shownTest = showerOf(policyTestFields);

/** Policy tests as they are shown; one whose device is just being removed is left out. */
export async function showPolicyTests(
  context: PolicyContext,
  rows: readonly PolicyTestRow[],
): Promise<Shown[]> {
  const owned = await ownersOf(context.services.database, rows);
  const trial = await PolicyTrial.open(context, owned, { atMs: Date.now() });
  const judged = owned.map((test) => ({ test, result: trial.judge(test) }));
  const results = new Map(judged.map((one) => [one.test.id, one]));
  // Only a test that fails names what its rule is for.
  const failing = judged.filter(({ result }) => !result.passes);
  const descriptions = trial.descriptionsOf(new Set(failing.map(({ result }) => result.ruleId)));
  return rows.flatMap((row) => {
    const found = results.get(row.id);
    if (found === undefined) return [];
    const { test, result } = found;
    return [shownTest(row, shownResult(test, result, descriptions.get(result.ruleId ?? '')))];
  });
}

/** `description`: what the rule is for that decides, if it says so. */
function shownResult(test: OwnedTest, result: TestResult, description?: string | null) {
  const { passes, verdict, reason, ruleId: rule_id } = result;
  return { passes, verdict, reason, rule_id, text: resultInWords(test, result, description) };
}

/** The result of a test, in a sentence or two. */
function resultInWords(
  { expect }: OwnedTest,
  { passes, reason, ruleId }: TestResult,
  description?: string | null,
): string {
  const end = passes ? 'as the test expects' : `but the test expects ${expect}`;
  if (ruleId !== null) {
    const purpose = description ? ` (“${description}”)` : '';
    const rule = passes ? 'A rule' : `The rule ${ruleId}${purpose}`;
    return `${rule} ${reason === null ? 'accepts' : 'drops'} the packet, ${end}.`;
  }
  if (reason === null || reason === 'default_drop') {
    const action = reason === null ? 'accept' : 'drop';
    return `No rule matches the packet, and the default action is ${action}, ${end}.`;
  }
  return `The packet is dropped, ${end}. ${reasonInWords(reason)}`;
}

/** The policy tests of one server. */
export class PolicyTests implements Collection<PolicyTestValues> {
  readonly name = 'policy_tests';
  readonly sources = [
    { table: 'policy_tests' },
    { table: 'rules' },
    { table: 'group_memberships' },
    { table: 'configurations' },
  ] as const;
  readonly filters = policyTestFilters;
  readonly validate = validatePolicyTest;
  readonly #context: RecordContext;

  constructor(context: RecordContext) {
    this.#context = context;
  }

  async list(selection: Selection): Promise<Shown[]> {
    return showPolicyTests(this.#context, await readPolicyTests(this.#database, selection));
  }

  async show(id: string): Promise<Shown> {
    const ids = isUuid(id) ? [id.toLowerCase()] : [];
    const [test] = await this.list({ ids });
    if (test === undefined) throw new ApiError('not_found');
    return test;
  }

  async create(caller: Caller, input: Validated<PolicyTestValues>): Promise<Shown> {
    const test = await this.#context.writes.run(caller, {
      // All creations hold this scope, so that they cannot exceed the limit together.
      scopes: { configuration: true },
      check: (transaction) => validateNewPolicyTest(this.#database, input, transaction),
      write: (transaction, row) =>
        this.#database.models.PolicyTest.create(row, { transaction, validate: false }),
    });
    return this.show(test.id);
  }

  async update(caller: Caller, id: string, input: Validated<PolicyTestValues>): Promise<Shown> {
    const test = await this.#context.writes.run(caller, {
      check: async (transaction) => {
        const { PolicyTest: tests } = this.#database.models;
        const present = await lockRecord(tests, id, transaction, input.errors);
        const row = merge(input.values, present);
        refuseErrors(await validateContent(this.#database, { input, row }, transaction));
        return { present, row };
      },
      write: (transaction, { present, row }) => saveChanges(present, row, transaction),
    });
    return this.show(test.id);
  }

  async remove(caller: Caller, id: string): Promise<void> {
    await this.#context.writes.run(caller, {
      check: (transaction) => lockRecord(this.#database.models.PolicyTest, id, transaction),
      write: (transaction, test) => test.destroy({ transaction }),
    });
  }

  get #database(): Database {
    return this.#context.services.database;
  }
}

/** Checks a new test; the scope of the configuration must be locked. Throws its errors. */
export async function validateNewPolicyTest(
  database: Database,
  input: Validated<PolicyTestValues>,
  transaction: Transaction,
): Promise<PolicyTestContent> {
  const row = merge(input.values, null);
  const errors = await validateContent(database, { input, row }, transaction);
  const count = await database.models.PolicyTest.count({ transaction });
  if (count >= POLICY_TESTS_MAX)
    addError(errors, 'base', { code: 'tooManyPolicyTests', values: { most: POLICY_TESTS_MAX } });
  refuseErrors(errors);
  return row;
}

/** A test that was sent, and the row that it would become. */
interface Sent {
  readonly input: Validated<PolicyTestValues>;
  readonly row: PolicyTestContent;
}

/** All errors; they are about the test as it would become. */
async function validateContent(
  database: Database,
  { input, row }: Sent,
  transaction: Transaction,
): Promise<Errors> {
  // The errors are copied, because the transaction may run again with another state.
  const errors = { ...input.errors };
  validatePort(row, errors);
  if (errors['user_id'] !== undefined || errors['device_id'] !== undefined) return errors;
  const { user_id: userId, device_id: deviceId } = row;
  if (userId === null && deviceId === null) addError(errors, 'user_id', messages.blank);
  else if (userId !== null && deviceId !== null) addError(errors, 'device_id', messages.notPresent);
  else if (userId !== null) {
    const existing = await readUserIds(database, [userId], { transaction, lock: true });
    if (!existing.has(userId)) addError(errors, 'user_id', messages.absent);
  } else await validateDevice(database, row, errors, transaction);
  return errors;
}

function validatePort({ protocol, port }: PolicyTestContent, errors: Errors): void {
  if (errors['protocol'] !== undefined || errors['port'] !== undefined) return;
  if (protocol === 'icmp' && port !== null) addError(errors, 'port', messages.notPresent);
  if (protocol !== 'icmp' && port === null) addError(errors, 'port', messages.blank);
}

async function validateDevice(
  { models }: Database,
  { device_id: id, destination }: PolicyTestContent,
  errors: Errors,
  transaction: Transaction,
): Promise<void> {
  const device = await models.Device.findByPk(id ?? '', { transaction, lock: true });
  if (device === null) addError(errors, 'device_id', messages.absent);
  const family = errors['destination'] === undefined ? parseAddress(destination)?.family : null;
  if (device === null || family === null || family === undefined) return;
  if ((family === 4 ? device.ipv4 : device.ipv6) === null)
    addError(errors, 'destination', messages.otherFamilyThanDevice);
}

/** A test of which nothing is said yet; a creation must send what is empty here. */
const UNSAID: PolicyTestContent = {
  ...columnDefaults(policyTestFields),
  name: '',
  destination: '',
  protocol: 'tcp',
  expect: 'accept',
};

/** The row that a test would become: what was sent, else the present values, else the defaults. */
function merge(values: PolicyTestValues, present: PolicyTest | null): PolicyTestContent {
  const base: PolicyTestContent = { ...UNSAID };
  if (present !== null)
    for (const name of Object.keys(base) as (keyof PolicyTestContent)[])
      Object.assign(base, { [name]: present[name] });
  return { ...base, ...columnsSent(policyTestFields, values) };
}
