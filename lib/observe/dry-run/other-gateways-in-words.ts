// The other gateways that run beside the one that answers a dry run, in words: for the command line
// too, which loads no database.

import type { OtherGateway } from './fields.ts';

/** So many gateways are named in a sentence. */
const NAMED_MAX = 5;

/** What people read of other gateways; null: none runs. */
export function othersInWords(others: readonly OtherGateway[]): string | null {
  if (others.length === 0) return null;
  const [verb, it] = others.length === 1 ? ['runs', 'it'] : ['run', 'each of them'];
  const more = others.length - NAMED_MAX;
  const names = others.slice(0, NAMED_MAX).map(({ name }) => name);
  const named = `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  const cutOff = others
    .filter(({ cut_off_device_count: count }) => count > 0)
    .map(({ name, cut_off_device_count: n }) => ` It cuts off ${devices(n)} connected to ${name}.`);
  return `Only flows at this gateway are counted. ${named} ${verb} too: ask ${it} what ends there.${cutOff.join('')}`;
}

/** Whether a change would cut off devices that are connected to other gateways. */
export function cutsOffElsewhere(others: readonly OtherGateway[]): boolean {
  return others.some(({ cut_off_device_count: count }) => count > 0);
}

function devices(count: number): string {
  return count === 1 ? '1 device that is' : `${count} devices that are`;
}
