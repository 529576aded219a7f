// What a change would do to the present flows and to the packets that were refused lately, for
// people who ask before they make it. Each worker judges its own flows by the rules as they would
// be after the change, part by part; here the parts are added up. Nothing changes.

import type { TriedChange } from '../diff.ts';
import type { EndedPart, LiveFlow } from './flow-list.ts';
import type { Listed } from './listed.ts';
import { allRefusals, type SeenRefusal } from './refusal-list.ts';

/** What a change would do. */
export interface ChangeEffect {
  /** Flows that would end. */
  readonly ended: EndedFlows;
  /** Packets that the rules refused lately and would let pass; the latest ones are listed. */
  readonly passed: { readonly count: number; readonly found: readonly SeenRefusal[] };
}

/** The flows that a change would end. */
export type EndedFlows = Omit<EndedPart, 'next'>;

/** How a worker is asked for a part; null: it gives none, because it is being started. */
export interface AskedForEffect {
  /** Flows that would end, from the flow of that number on; at most `limit` are listed. */
  ended(
    worker: number,
    change: TriedChange,
    from: number,
    limit: number,
  ): Promise<EndedPart | null>;
  /** Refused packets that would pass, from the record of that number on. */
  passed(worker: number, change: TriedChange, from: number): Promise<Listed<SeenRefusal> | null>;
}

/**
 * Asks so many workers for the effect of a change. All flows and packets are counted, at most
 * `limit` are listed. `tried` gives the change as it is at the moment at which a worker is asked.
 */
export async function effectAmong(
  workers: number,
  ask: AskedForEffect,
  tried: () => TriedChange,
  limit: number,
): Promise<ChangeEffect> {
  const found: LiveFlow[] = [];
  const devices = new Set<string>();
  let count = 0;
  for (let worker = 0; worker < workers; worker++)
    for (let flow: number | null = 1; flow !== null;) {
      const part: EndedPart | null = await ask.ended(worker, tried(), flow, limit - found.length);
      count += part?.count ?? 0;
      found.push(...(part?.found ?? []));
      for (const device of part?.devices ?? []) devices.add(device);
      flow = part?.next ?? null;
    }
  const passed = await allRefusals(workers, (worker, from) => ask.passed(worker, tried(), from));
  return {
    ended: { count, found, devices: [...devices] },
    passed: { count: passed.length, found: passed.slice(0, limit) },
  };
}
