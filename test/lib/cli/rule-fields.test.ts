// The fields of a rule: what is typed goes to the rules of the API as it is, the rest is left out.

import test from 'ava';
import { ruleFields } from '../../../lib/cli/rule-fields.ts';
import type { Options } from '../../../lib/cli/run.ts';

test('what was typed is sent, and what was not is left out', (t) => {
  const typed = { destination: '10.0.0.1', action: 'accept', portType: 'tcp', portRange: 'x' };
  t.deepEqual(ruleFields(typed as unknown as Options, { user_id: 'u1', group_id: null }), {
    destination: '10.0.0.1',
    action: 'accept',
    port_type: 'tcp',
    port_range: 'x',
    user_id: 'u1',
    group_id: null,
  });
  const less = { destination: '10.0.0.1' } as unknown as Options;
  t.deepEqual(ruleFields(less, { user_id: null, group_id: 'g1' }), {
    destination: '10.0.0.1',
    user_id: null,
    group_id: 'g1',
  });
});
