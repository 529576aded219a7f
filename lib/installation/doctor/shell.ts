// The doctor on the settings of its own shell, which may differ from the settings with which the
// gateway runs.

import { type Config, type OpenSettings, openSettings } from '../../../config/index.ts';
import type { Database } from '../../../models/index.ts';
import { runningGateway } from '../setup/running-gateway.ts';
import { type Finding, ok, warning } from './finding.ts';

/** Settings in which a shell may differ, and nothing that the doctor says is wrong. */
const OF_NO_WEIGHT = new Set(['LOG_FORMAT', 'LOG_LEVEL']);

/** Compares the settings with those of the gateway that runs; nothing is said where none does. */
export async function shell(opened: Database, config: Config): Promise<Finding[]> {
  const check = 'settings';
  const running = await runningGateway(opened);
  if (running === null) return [];
  const differing = Object.entries(openSettings(config)).filter(
    ([name, value]) => !OF_NO_WEIGHT.has(name) && (running.settings[name] ?? null) !== value,
  );
  if (differing.length === 0)
    return [ok(check, 'this shell has the settings of the gateway that runs')];
  const words = differing.map(
    ([name, value]) => `${name} (${shown(running.settings[name])} there, ${shown(value)} here)`,
  );
  return [
    warning(
      check,
      `the doctor looks at the settings of this shell, and the gateway that runs on ${running.name} has other ones: ${words.join(', ')}`,
      'run the doctor with the environment of that gateway; or, if that was changed, restart the gateway',
    ),
  ];
}

function shown(value: OpenSettings[string] | undefined): string {
  return String(value ?? 'none');
}
