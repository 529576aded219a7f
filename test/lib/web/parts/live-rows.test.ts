// Rows of flows and refused packets: names in place of ids, and what is said where there is none.
// The pages that show them: ../pages/live.test.ts.

import test from 'ava';
import { showFlow } from '../../../../lib/observe/live/flows.ts';
import { showRefusal } from '../../../../lib/observe/live/refusals.ts';
import { flowRow, namesOf, refusalRow } from '../../../../lib/web/parts/live-rows.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';
import { addDevice, addRule, addUser } from '../../../support/database/records.ts';
import { fakeLive, flowOf, refusalOf } from '../../../support/observe/fake-gateway.ts';

for (const kind of databaseKinds())
  test(`${kind}: a row has the names of devices and rules`, async (t) => {
    const database = await openDatabase(t, kind);
    const owner = await addUser(database, { email: 'ann@a.example' });
    const device = await addDevice(database, owner.id, { name: 'laptop' });
    const rule = await addRule(database, { destination: '10.0.0.0/8' });
    const live = fakeLive('g', { deviceIdOf: () => device.id });
    const flow = showFlow(live, flowOf('key', { by: 'rule', rule: rule.id }));
    const refusal = showRefusal(live, refusalOf('key', { rule: rule.id }));
    const names = await namesOf(database, [flow, refusal]);
    const laptop = { text: 'laptop', href: `/devices/${device.id}` };
    const drop = { text: 'Drop 10.0.0.0/8', href: `/rules/${rule.id}` };
    const [from, , by] = flowRow(flow, names);
    t.like(from as object, laptop);
    const place = `${flow.source}:${flow.source_port}`;
    t.like(from as object, { help: `ann@a.example · ${place}` }, 'whose laptop');
    t.like(by as object, drop);
    const [, who, , why] = refusalRow(refusal, names);
    t.like(who as object, { ...laptop, help: 'ann@a.example' });
    t.like(why as object, drop);
    const none = await namesOf(database, []);
    t.like(flowRow(flow, none)[2] as object, { text: 'a rule that is gone' });
    t.is(flowRow({ ...flow, rule_id: null, decided_by: 'default' }, none)[2], 'the default action');
    t.like(refusalRow({ ...refusal, device_id: null }, none)[1] as object, { text: 'removed' });
  });
