// What whoever starts a gateway may ask of it beside the settings.

import test from 'ava';
import { describeConfig, openSettings, parseConfig } from '../../config/index.ts';
import { WARM_UP } from '../../config/launch.ts';

test('workers warm up, unless whoever starts them says `off`; it is no setting', (t) => {
  const none = () => '';
  for (const [environment, warmsUp] of [
    [{}, true],
    [{ [WARM_UP]: 'on' }, true],
    [{ [WARM_UP]: 'off' }, false],
  ] as const) {
    const { config, warnings } = parseConfig(environment, none);
    t.is(config?.warmsUp, warmsUp);
    t.deepEqual(warnings, []);
    if (config === null) continue;
    t.false(describeConfig(config).some((line) => line.includes('WARM')));
    t.false(JSON.stringify(openSettings(config)).includes('arm'));
  }
});
