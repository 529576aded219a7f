// What the pages of the settings share: the tabs between them, which fields the environment fixes,
// and the one way by which they change the configuration, that of the API.

import type { Request } from '@hapi/hapi';
import { readAdministration, type SignInSettings } from '../../auth/administrators.ts';
import type { Caller } from '../../kit/process/caller.ts';
import {
  shownConfiguration,
  type Unless,
  updateConfiguration,
  validateConfiguration,
} from '../../domain/configuration/configuration.ts';
import { effectiveConfiguration } from '../../kit/records/effective-configuration.ts';
import type { Shown } from '../../kit/records/shown.ts';
import type { RoomWrite } from './effect.ts';
import type { Web } from '../kit/web.ts';

const tabs = [
  ['/settings/client_defaults', 'Client defaults'],
  ['/settings/security', 'Security'],
  ['/settings/default_action', 'Default action'],
  ['/settings/limits', 'Limits'],
  ['/settings/providers', 'Identity providers'],
  ['/settings/customization', 'Logo'],
] as const;

/** The tabs, and which of them shows. */
export function settingTabs({
  path,
}: Pick<Request, 'path'>): { href: string; label: string; isCurrent: boolean }[] {
  return tabs.map(([href, label]) => ({
    href,
    label,
    isCurrent: path === href || path.startsWith(`${href}/`),
  }));
}

/** Why a field cannot be changed here: the variable that fixes it; null where it can. */
export function fixedSentence({ fixed }: Pick<Web, 'fixed'>, name: string): string | null {
  return Object.hasOwn(fixed, name)
    ? `Fixed by the environment variable ${name.toUpperCase()}; change it there.`
    : null;
}

/** The configuration as it serves, as the API shows it. */
export async function readSettings(web: Web): Promise<Shown> {
  await web.recall.refresh();
  return shownConfiguration(web, await web.recall.configuration());
}

/**
 * Whether an administrator can sign in now, and none could with other settings. It looks under the
 * lock of the write: two changes at once may each leave a way, and together none.
 */
export async function locksOut(
  { services: { database }, fixed }: Web,
  change: Partial<SignInSettings>,
  ...[present, transaction]: Parameters<Unless>
): Promise<boolean> {
  const settings = effectiveConfiguration(present, fixed);
  const later = await readAdministration(database, { ...settings, ...change }, transaction);
  if (later.canSignIn) return false;
  return (await readAdministration(database, settings, transaction)).canSignIn;
}

/** The write that changes the configuration as the API does, unless the row says why not. */
export function changesSettings(
  caller: Caller,
  input: Record<string, unknown>,
  unless?: Unless,
): RoomWrite<Shown> {
  return async ({ configuration }) => {
    await configuration.recall.refresh();
    const validated = validateConfiguration(input, 'update');
    return updateConfiguration(configuration, caller, validated, unless);
  };
}
