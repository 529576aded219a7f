// Which packet paths are compiled before the first packet.

import test from 'ava';
import { workersWarmUp } from '../../../../lib/kit/process/warm-up.ts';
import { configOf } from '../../../support/api/server.ts';

for (const [environment, warmsUp] of [
  [{}, true],
  [{ DATAPLANE_ENGINE: 'native' }, true],
  [{ DATAPLANE_ENGINE: 'typescript' }, false],
  [{ POSTERN_WARM_UP: 'off' }, false],
] as const)
  test(`${JSON.stringify(environment)}: ${warmsUp}`, (t) => {
    t.is(workersWarmUp(configOf(environment)), warmsUp);
  });
