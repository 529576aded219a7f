// The settings that the environment fixes, for commands. Most gateways fix none, and what validates
// them, with all that is known of identity providers, is loaded only where one is fixed.

import type { Config } from '../../../config/index.ts';
import type { FixedSettings } from '../../kit/records/effective-configuration.ts';

/** The settings that are fixed. Rejects if there are errors, which the start has checked before. */
export async function fixedIfAny(config: Config): Promise<FixedSettings> {
  if (Object.keys(config.configurationTexts).length === 0) return {};
  return (await import('./fixed-settings.ts')).fixedSettingsOf(config);
}
