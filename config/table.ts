// The table of settings as Markdown: what config/README.md shows. `npm run settings` writes it
// there, a test compares.

import { type Setting, settings } from './schema.ts';

/** All settings, a row each. */
export function settingsTable(): string {
  const rows = (settings as readonly Setting[]).map((setting) => {
    const names = [setting.name, ...(setting.aliases ?? []).map((alias) => `${alias}`)];
    if (setting.secret) names.push(`${setting.name}_FILE`);
    const fallback = setting.fallback === null ? 'none' : `\`${String(setting.fallback)}\``;
    const shown = names.map((name) => `\`${name}\``).join(', ');
    return `| ${shown} | ${fallback} | ${setting.sentence} |`;
  });
  return ['| name | default | |', '|---|---|---|', ...rows].join('\n');
}
