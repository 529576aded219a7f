// The CPU seconds that each phase of test/all.sh and each room in it may take (test/budget.json;
// `npm run budget` writes it from the last run). Machines differ, and the same machine from day to day,
// so a run is compared with the budget at its own speed: growth of one room is seen, a slow day is not.

import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';

const FILE = resolve(import.meta.dirname, '../../budget.json');
/** Growth by more than a tenth is a decision. */
const GROWTH = 1.1;
/** Two runs of one tree differ by this much in a small room. */
const NOISE_SECONDS = 5;
/** Rooms that say how fast a run was. */
const LARGE_SECONDS = 5;

/** CPU seconds by phase, or by phase and room with a space between. */
export type RoomSeconds = ReadonlyMap<string, number>;

/** The committed budget. */
export function readBudget(): RoomSeconds {
  return new Map(Object.entries(JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, number>));
}

/** Makes what a run took the budget. */
export function writeBudget(measured: RoomSeconds): void {
  const rows = [...measured].map(([room, seconds]) => [room, Math.ceil(seconds)] as const);
  const sorted = Object.fromEntries(rows.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(FILE, `${JSON.stringify(sorted, null, 2)}\n`);
}

/** A line for each room that took more than a tenth above its budget, and for each without one. */
export function whatGrew(measured: RoomSeconds, budget: RoomSeconds): string[] {
  const speed = speedOf(measured, budget);
  return [...measured].flatMap(([room, seconds]) => {
    if (seconds < NOISE_SECONDS) return [];
    const allowed = budget.get(room);
    const took = `${room}: ${seconds.toFixed(0)} s of CPU`;
    if (allowed === undefined) return [`${took}, and test/budget.json has no line for it`];
    const expected = allowed * speed;
    if (seconds <= expected * GROWTH || seconds - expected <= NOISE_SECONDS) return [];
    return [`${took}, grown from ${expected.toFixed(0)} (budget ${allowed}, at this run's speed)`];
  });
}

/** How many times longer than its budget the middle one of the large rooms took. */
function speedOf(measured: RoomSeconds, budget: RoomSeconds): number {
  const ratios = [...budget]
    .filter(([room, allowed]) => allowed >= LARGE_SECONDS && measured.has(room))
    .map(([room, allowed]) => (measured.get(room) ?? 0) / allowed)
    .toSorted((a, b) => a - b);
  return ratios[Math.floor(ratios.length / 2)] ?? 1;
}
