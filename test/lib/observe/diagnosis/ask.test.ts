// Who is asked for a diagnosis. A gateway that does not answer: ../../start/asked-gateway.test.ts.

import test from 'ava';
import { askDiagnosis, askUnknownSenders } from '../../../../lib/observe/diagnosis/ask.ts';
import { Recall } from '../../../../lib/kit/records/recall.ts';
import { openServer } from '../../../support/api/server.ts';
import { addDevice, addUser } from '../../../support/database/records.ts';
import { fakeDiagnosing } from '../../../support/observe/fake-gateway.ts';

test('a gateway that is not there is unavailable', async (t) => {
  const { database, services } = await openServer(t, 'sqlite');
  const { config } = services;
  const recall = new Recall(database);
  const user = await addUser(database);
  const { id } = await addDevice(database, user.id);
  const device = (await database.models.Device.findByPk(id))!;
  const unavailable = { message: 'service_unavailable' };
  await t.throwsAsync(askDiagnosis({ config, database }, recall, device), unavailable);
  await t.throwsAsync(askUnknownSenders({ database }), unavailable);
  const well = { config, database, diagnosing: fakeDiagnosing('g') };
  t.like(await askDiagnosis(well, recall, device), { code: 'nothing_arrived', gateway_id: 'g' });
  t.deepEqual(await askUnknownSenders(well), { keys: [], other_gateway: [], gateway_id: 'g' });
});
