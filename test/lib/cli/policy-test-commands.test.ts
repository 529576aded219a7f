// The commands of policy tests: what they make is what the API makes, and they say what fails. How
// tests hold up the making of rules: rule-commands.test.ts.

import test from 'ava';
import { readPolicyTests } from '../../../models/index.ts';
import { addDevice, addRule, addUser } from '../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { runTyped } from '../../support/gateway/typed-command.ts';

const runLine = runTyped;

const WIKI = 'policy-test create --name wiki --destination 10.0.0.5 --protocol tcp --port 443';

for (const kind of databaseKinds()) {
  test(`${kind}: tests are made, listed, run and removed`, async (t) => {
    const database = await openDatabase(t, kind);
    t.like(await runLine(database, 'policy-test run'), {
      text: '0 policy test(s): 0 pass, 0 fail.',
      data: { passed: 0, failed: 0, tests: [] },
    });
    const user = await addUser(database, { email: 'ann@b.example' });
    const device = await addDevice(database, user, { name: 'phone', ipv4: '100.64.0.7' });
    const made = await runLine(database, `${WIKI} --email ANN@b.example --expect accept`);
    t.is(made.note, undefined);
    t.like(made.data, { id: made.text, user_id: user.id, device_id: null, passes: true });
    const bad = await runLine(
      database,
      `policy-test create --name ping --destination 10.0.0.6 --protocol icmp --device ${device.id} --expect drop`,
    );
    t.regex(bad.note ?? '', /^It fails: No rule matches the packet, .* expects drop\.$/);
    const { text } = await runLine(database, 'policy-test list');
    t.regex(text, /wiki +ann@b\.example +10\.0\.0\.5 tcp\/443 +accept +passes/);
    t.regex(text, /ping +device phone +10\.0\.0\.6 icmp +drop +fails/);
    const ofAnn = await runLine(database, 'policy-test list --email ann@b.example');
    t.is((ofAnn.data as object[]).length, 1);
    const run = await runLine(database, 'policy-test run');
    t.true(run.isBad);
    t.like(run.data, { passed: 1, failed: 1 });
    t.regex(
      run.text,
      /^2 policy test\(s\): 1 pass, 1 fail\.\n\nID[^]*ping +device phone.*expects drop\.$/,
    );
    t.notRegex(run.text, /wiki/);
    const good = await runLine(database, 'policy-test run --email ann@b.example');
    t.is(good.isBad, undefined);
    const drop = { destination: '10.0.0.5', action: 'drop', description: 'no wiki' } as const;
    const rule = await addRule(database, drop);
    const failing = await runLine(database, 'policy-test run --email ann@b.example');
    t.true(failing.text.includes(`The rule ${rule.id} (“no wiki”) drops the packet, but the test`));
    t.deepEqual((await runLine(database, `policy-test delete --id ${bad.text}`)).data, {
      id: bad.text,
      removed: true,
    });
    t.is((await readPolicyTests(database)).length, 1);
  });

  test(`${kind}: what the API refuses is refused here, in words`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { email: 'ann@b.example' });
    for (const [line, message] of [
      [`${WIKI} --expect accept`, /^user_id: can't be blank; give --email/],
      [`${WIKI} --expect maybe --email ann@b.example`, /^expect: is invalid; give --expect/],
      [`${WIKI} --expect drop --device x`, /^device_id: does not exist$/],
      [`${WIKI} --expect drop --email x@y`, /^there is no user x@y/],
      ['policy-test delete --id 0190', /^there is no policy test 0190; see: .* policy-test list$/],
    ] as const)
      await t.throwsAsync(runLine(database, line), { message }, line);
  });
}
