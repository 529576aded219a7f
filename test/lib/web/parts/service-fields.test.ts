// The questions for a service: what can be chosen is what a packet can be asked about.

import test from 'ava';
import { validateQuestion } from '../../../../lib/observe/explain/question.ts';
import { serviceFields } from '../../../../lib/web/parts/service-fields.ts';

test('each protocol that can be chosen is one of a question', (t) => {
  const [protocol, port] = serviceFields;
  t.is(port?.name, 'port');
  const values = (protocol?.choices ?? []).map(([value]) => value);
  t.is(values.length, 3);
  for (const value of values) {
    const { errors } = validateQuestion({ destination: '10.0.0.1', protocol: value }, 'create');
    t.is(errors['protocol'], undefined, value);
  }
});
