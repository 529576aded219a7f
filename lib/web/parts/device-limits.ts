// The limits of a device, and whether they are its own, its owner's or the default, for the pages
// of a device.

import type { DeviceRow, UserRow } from '../../../models/index.ts';
import type { EffectiveConfiguration } from '../../kit/records/effective-configuration.ts';
import { say, type TextKey } from '../kit/texts.ts';

/** A line of a page. */
export interface LimitLine {
  readonly label: string;
  readonly text: string;
  /** Who sets the limit; null: the device itself, or there is no limit. */
  readonly from: string | null;
}

const UNITS = [
  [1_000_000_000, 'Gbit/s'],
  [1_000_000, 'Mbit/s'],
  [1_000, 'kbit/s'],
] as const;

/** The limits of a device each way: its own, else those of its owner, else those of all. */
export function limitLines(
  device: Pick<DeviceRow, 'limit_down' | 'limit_up'>,
  owner: Pick<UserRow, 'limit_down' | 'limit_up'> | undefined,
  all: Pick<EffectiveConfiguration, 'default_limit_down' | 'default_limit_up'>,
): LimitLine[] {
  return [
    line('limit.down', device.limit_down, owner?.limit_down ?? null, all.default_limit_down),
    line('limit.up', device.limit_up, owner?.limit_up ?? null, all.default_limit_up),
  ];
}

function line(
  key: TextKey,
  own: number | null,
  ofOwner: number | null,
  ofAll: number | null,
): LimitLine {
  const label = say(key);
  if (own !== null) return { label, text: speed(own), from: null };
  if (ofOwner !== null) return { label, text: speed(ofOwner), from: say('limit.of_user') };
  if (ofAll !== null) return { label, text: speed(ofAll), from: say('device.by_default') };
  return { label, text: say('device.none'), from: null };
}

/** What an empty limit of a device means: `10 Mbit/s · of the user`. */
export function inheritedLimits(
  owner: Parameters<typeof limitLines>[1],
  all: Parameters<typeof limitLines>[2],
): Readonly<Record<'limit_down' | 'limit_up', string>> {
  const none = { limit_down: null, limit_up: null };
  const [down, up] = limitLines(none, owner, all).map(({ text, from }) =>
    from === null ? say('limit.none') : `${text} · ${from}`,
  );
  return { limit_down: down ?? '', limit_up: up ?? '' };
}

/** Bits per second as people say them; nothing is rounded. */
function speed(bits: number): string {
  const [size, unit] = UNITS.find(([each]) => bits >= each) ?? [1, 'bit/s'];
  return `${bits / size} ${unit}`;
}
