// The table of settings as Markdown: what docs/reference/settings.md shows. `npm run settings`
// writes it there, a test compares.

import { configurationVariables } from './configuration-variables.ts';
import { type Setting, settings } from './schema.ts';

/** The variables that fix a field of the API's configuration, a row each. */
export function configurationTable(): string {
  const rows = configurationVariables.map(
    ({ name, example, sentence }) => `| \`${name}\` | \`${example}\` | ${sentence} |`,
  );
  return ['| name | example | |', '|---|---|---|', ...rows].join('\n');
}

/** The settings that people choose, a row each. */
export function settingsTable(): string {
  const listed = (settings as readonly Setting[]).filter(({ isForErrors }) => isForErrors !== true);
  const rows = listed.map((setting) => {
    const names = [setting.name, ...(setting.aliases ?? [])];
    if (setting.secret) names.push(`${setting.name}_FILE`);
    const fallback = setting.fallback === null ? 'none' : `\`${String(setting.fallback)}\``;
    const shown = names.map((name) => `\`${name}\``).join(', ');
    return `| ${shown} | ${fallback} | ${setting.sentence} |`;
  });
  return ['| name | default | |', '|---|---|---|', ...rows].join('\n');
}
