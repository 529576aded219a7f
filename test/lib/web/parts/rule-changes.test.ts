// What the menu and the bar of the list of rules do.

import test from 'ava';
import { addRule } from '../../../models/fixtures.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { openConsole } from '../../../support/web/console.ts';

for (const kind of firstKind()) {
  test(`${kind}: rules are disabled, enabled, staged and enforced from their list, and undone`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    const ids: string[] = [];
    for (const destination of ['10.1.0.0/16', '10.2.0.0/16'])
      ids.push((await addRule(database, { destination })).id);
    const [id = ''] = ids;
    const states = async () => {
      const rules = await database.models.Rule.findAll({ order: ['destination'] });
      return rules.map(({ enabled, enforced }) => `${enabled} ${enforced}`);
    };
    const menu = async () => {
      const { text } = await admin.get(`/rules?menu=${id}`);
      return [...text.matchAll(/<button form="row" name="do" value="(\w+)"/g)].map(
        ([, name]) => name,
      );
    };
    const press = async (name: string) => {
      const { location } = await admin.post('/rules/many', { do: name, id, back: '/rules' });
      t.is(location, '/rules', name);
    };
    t.deepEqual(await menu(), ['stage', 'disable', 'remove']);
    await press('stage');
    t.true((await admin.get('/rules')).text.includes('1 rule is staged'));
    t.deepEqual(await states(), ['true false', 'true true']);
    t.deepEqual(await menu(), ['enforce', 'disable', 'remove']);
    await press('enforce');
    await press('disable');
    t.deepEqual(await states(), ['false true', 'true true']);
    t.deepEqual(await menu(), ['enable', 'remove']);
    const { text } = await admin.get('/rules');
    for (const name of ['disable', 'enable', 'stage', 'enforce', 'remove'])
      t.regex(text, new RegExp(`type="submit" name="do" value="${name}"`), 'in the bar');
    await press('enable');
    const undo = /action="(\/undo[^"]*)"/.exec((await admin.get('/rules')).text)?.[1] ?? '';
    await admin.post(undo, {});
    t.deepEqual(await states(), ['false true', 'true true']);
  });
}
