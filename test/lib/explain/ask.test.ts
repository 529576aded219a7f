// Explanations where there is no data plane. With one: explain.test.ts.

import test from 'ava';
import { askExplanation } from '../../../lib/explain/ask.ts';
import { judgeQuestion, readQuestion } from '../../../lib/explain/question.ts';
import { fixedSettingsOf } from '../../../lib/configuration/fixed-settings.ts';
import { Recall } from '../../../lib/records/recall.ts';
import { openDatabase } from '../../support/database/databases.ts';
import { addDevice, addUser } from '../../support/database/records.ts';
import { configOf } from '../../support/api/server.ts';
import { fakeExplaining } from '../../support/observe/fake-gateway.ts';

test('without a data plane nobody can say it; without a doctor the host is not spoken of', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const config = configOf();
  const recall = new Recall(database, fixedSettingsOf(config));
  const device = await addDevice(database, (await addUser(database)).id);
  const question = { device_id: device.id, destination: '192.0.2.1', protocol: 'icmp' };
  const { asked } = await readQuestion(database, judgeQuestion(question, 'create'));
  if (asked === null) return t.fail();
  await t.throwsAsync(askExplanation({ config, database }, recall, asked), {
    message: 'service_unavailable',
  });
  const explaining = fakeExplaining();
  const answer = await askExplanation({ config, database, explaining }, recall, asked);
  t.like(answer, { verdict: 'accept', host: [] });
  return undefined;
});
