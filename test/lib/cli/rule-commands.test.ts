// The commands of rules: what they make is what the API makes, by the same rules, and policy tests
// hold them up.

import test from 'ava';
import type { Outcome } from '../../../lib/cli/run.ts';
import { readAuditEntries } from '../../../models/index.ts';
import { addUser } from '../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { runTyped } from '../../support/gateway/typed-command.ts';

/** As the command line calls it: with the standard input too. */
const runLine = runTyped;

const WIKI = 'policy-test create --name wiki --destination 10.0.0.5 --protocol tcp --port 443';

for (const kind of databaseKinds()) {
  test(`${kind}: rules are made, listed and removed as over the API`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id: owner } = await addUser(database, { email: 'ann@b.example' });
    const all = await runLine(database, 'rule create --destination 10.0.0.0/8');
    const line = 'rule create --destination 10.1.0.0/16 --action accept --email ann@b.example';
    const own = await runLine(database, `${line} --port-type tcp --port-range 80-443`);
    t.like(all.data, { id: all.text, action: 'drop', user_id: null, port_range: null });
    t.like(own.data, { action: 'accept', user_id: owner, port_range: '80 - 443' });
    const { text } = await runLine(database, 'rule list');
    t.regex(text, /^ID +ACTION +DESTINATION +TRAFFIC +WHOSE +STATE +DESCRIPTION\n/);
    t.regex(text, / drop +10\.0\.0\.0\/8 +all +everyone +enabled *\n/);
    t.regex(text, / accept +10\.1\.0\.0\/16 +tcp 80 - 443 +ann@b\.example +enabled *$/);
    const ping = await runLine(database, 'rule create --destination fd00::/8 --protocol icmp');
    t.like(ping.data, { protocol: 'icmp', port_type: null });
    t.regex((await runLine(database, 'rule list')).text, / drop +fd00::\/8 +icmp +everyone /);
    await runLine(database, `rule delete --id ${ping.text}`);
    const staged = await runLine(database, 'rule create --destination 10.0.0.0/8 --staged');
    t.like(staged.data, { enforced: false });
    t.regex((await runLine(database, 'rule list')).text, / everyone +staged *$/);
    await runLine(database, `rule disable --id ${staged.text}`);
    t.regex((await runLine(database, 'rule list')).text, / everyone +disabled, staged *$/);
    await runLine(database, `rule delete --id ${staged.text}`);
    const later = await runLine(
      database,
      'rule create --destination 10.0.0.0/8 --staged --starts-at 2999-01-01T08:00:00Z',
    );
    const waits = / from 2999-01-01T08:00:00\.000Z, staged *$/;
    t.regex((await runLine(database, 'rule list')).text, waits);
    await runLine(database, `rule delete --id ${later.text}`);
    const ofAnn = await runLine(database, 'rule list --email ann@b.example');
    t.is((ofAnn.data as unknown[]).length, 1);
    const errors: [line: string, message: RegExp][] = [
      [
        'rule create --destination nowhere',
        /^destination: is invalid; give --destination 10\.0\.0\.5 or .*names of hosts are not possible$/,
      ],
      ['rule create --destination 10.0.0.0/8', /^destination overlaps|overlaps with an existing/],
      [
        'rule create --destination 10.9.0.1 --port-type tcp',
        /^port_range: can't be blank; give --port-range 443 or 8000-8080$/,
      ],
      [
        'rule create --destination 10.9.0.1 --port-type tcp --port-range 80 --protocol icmp',
        /^protocol: must be null where port_type or port_range is set/,
      ],
      ['rule create --destination 10.9.0.1 --email x@y', /^there is no user x@y/],
      ['rule delete --id 0190', /^there is no rule 0190; see: .* rule list$/],
    ];
    for (const [bad, message] of errors) await t.throwsAsync(runLine(database, bad), { message });
    t.deepEqual((await runLine(database, `rule delete --id ${all.text}`)).data, {
      id: all.text,
      removed: true,
    });
    t.is(await database.models.Rule.count(), 1);
  });

  test(`${kind}: what a destination with the bits of a host means is said`, async (t) => {
    const database = await openDatabase(t, kind);
    const made = await runLine(database, 'rule create --destination 192.168.50.20/24');
    t.is(made.note, '192.168.50.20/24 means 192.168.50.0/24; leave /24 out for one host.');
    const { text } = await runLine(database, 'rule list');
    t.true(text.includes('192.168.50.20/24 (192.168.50.0/24)'));
    const host = await runLine(database, 'rule create --destination 10.0.0.5');
    t.is(host.note, undefined);
  });

  test(`${kind}: a rule begins and ends at the times that are given`, async (t) => {
    const database = await openDatabase(t, kind);
    const line = 'rule create --destination 10.0.0.0/8';
    const states = async (): Promise<string[]> =>
      (await runLine(database, 'rule list')).text
        .split('\n')
        .slice(1)
        .map((row) => row.split('everyone')[1]?.trim() ?? '');
    await runLine(database, `${line} --ends-at 2026-01-01`);
    const { data } = await runLine(database, `${line} --starts-at 2999-01-01T08:00+01:00`);
    t.like(data, { starts_at: '2999-01-01T07:00:00.000000Z', ends_at: null });
    await runLine(database, `${line} --starts-at 2026-01-01 --ends-at 2998-01-01`);
    t.deepEqual(await states(), [
      'over',
      'from 2999-01-01T07:00:00.000Z',
      'enabled until 2998-01-01T00:00:00.000Z',
    ]);
    await t.throwsAsync(runLine(database, `${line} --starts-at 2997-01-01`), {
      message: /overlap/,
    });
    await t.throwsAsync(runLine(database, `${line} --starts-at 2997-01-01 --ends-at 2996-01-01`), {
      message: /^ends_at: must be after starts_at$/,
    });
  });

  test(`${kind}: a rule is switched on as it is made, and off as it is removed`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { email: 'ann@b.example' });
    await runLine(database, `${WIKI} --email ann@b.example --expect accept`);
    const line = 'rule create --destination 10.0.0.0/8 --description wiki --disabled';
    const { text: id, data } = await runLine(database, line);
    t.like(data, { description: 'wiki', enabled: false });
    t.regex((await runLine(database, 'rule list')).text, / everyone +disabled +wiki$/);
    await t.throwsAsync(runLine(database, `rule enable --id ${id}`), {
      message: /this rule would drop the packet; with --force the rule is enabled anyway$/,
    });
    const on = await runLine(database, `rule enable --id ${id} --force`);
    t.deepEqual(on.data, { id, enabled: true });
    t.regex(on.note ?? '', /^1 policy test\(s\) fail now/);
    t.is((await runLine(database, `rule disable --id ${id}`)).text, `${id} is disabled.`);
    const accept = 'rule create --destination 10.0.0.5 --action accept';
    const { text: other } = await runLine(database, accept);
    await runLine(database, `rule enable --id ${id}`);
    const off = await runLine(database, `rule disable --id ${other}`);
    t.regex(off.note ?? '', /^1 policy test\(s\) fail now/, 'it is never held up');
    await runLine(database, accept);
    await t.throwsAsync(runLine(database, `rule enable --id ${other}`), { message: /overlaps/ });
    await t.throwsAsync(runLine(database, 'rule enable --id x'), {
      message: /^there is no rule x/,
    });
  });

  test(`${kind}: a rule is changed where an option says so, validated as over the API`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { email: 'ann@b.example' });
    await runLine(database, `${WIKI} --email ann@b.example --expect accept`);
    const line = 'rule create --destination 10.0.0.0/8 --description wiki --staged';
    const { text: id } = await runLine(database, `${line} --ends-at 2999-01-01`);
    const update = (options: string): Promise<Outcome> =>
      runLine(database, `rule update --id ${id} ${options}`);
    const { text, data } = await update('--starts-at 2998-01-01 --ends-at none');
    t.is(text, `${id} is changed.`);
    const starts_at = '2998-01-01T00:00:00.000000Z';
    t.like(data, { starts_at, ends_at: null, description: 'wiki', enforced: false });
    t.like((await update('--description web')).data, { starts_at, description: 'web' });
    await t.throwsAsync(update('--enforced --starts-at none'), {
      message: /this rule would drop the packet; with --force the rule is changed anyway$/,
    });
    const enforced = await update('--enforced --starts-at none --force');
    t.like(enforced.data, { starts_at: null, enforced: true });
    t.regex(enforced.note ?? '', /^1 policy test\(s\) fail now/);
    t.like((await update('--staged')).data, { enforced: false });
    const reversed = '--starts-at 2999-01-01 --ends-at 2998-01-01';
    await t.throwsAsync(update(reversed), { message: /^ends_at: must be after starts_at$/ });
    await t.throwsAsync(runLine(database, `rule update --id ${id}`), {
      message: /^nothing to change was given; for example: /,
    });
  });

  test(`${kind}: a rule is held up by a test, unless --force is typed`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { email: 'ann@b.example' });
    const { text: id } = await runLine(database, `${WIKI} --email ann@b.example --expect accept`);
    const line = 'rule create --destination 10.0.0.0/8';
    await t.throwsAsync(runLine(database, line), {
      message:
        'policy test "wiki" would fail: it expects accept, but this rule would drop the packet; with --force the rule is made anyway',
    });
    const { text: ruleId } = await runLine(database, `${line} --force`);
    const [entry] = await readAuditEntries(database, { limit: 1, action: 'fail' });
    t.like(entry, { record_id: id, actor: 'command line' });
    t.deepEqual(entry?.changes, { rule_id: { to: ruleId }, forced: { to: true } });
    t.is((await runLine(database, `rule delete --id ${ruleId}`)).note, undefined);
    const { text: other } = await runLine(
      database,
      'rule create --destination 10.0.0.5 --action accept',
    );
    await runLine(database, `rule create --destination 10.0.0.0/8`);
    const { note } = await runLine(database, `rule delete --id ${other}`);
    t.regex(note ?? '', /^1 policy test\(s\) fail now; see: .* policy-test run$/);
  });
}
