// Floors: which file may import which. Nothing here reads the tree, so that floors.test.ts can try
// it on imports that are made up.

import { posix } from 'node:path';

/** A folder, ending in `/`, or files that belong together. */
export type Room = readonly string[];
/** Rooms from the highest floor to the lowest. */
export type Floors = readonly (readonly Room[])[];
/** What each file imports. */
export type Imports = ReadonlyMap<string, readonly string[]>;

/** Ways to name another file in TypeScript and JavaScript; threads are started by address. */
const FORMS = [
  /\b(?:import|export)\b[^'"`;]*?\bfrom\s*(['"])(?<name>[^'"]+)\1/g,
  /\bimport\s*(['"])(?<name>[^'"]+)\1/g,
  /\b(?:import|require)\s*\(\s*(['"`])(?<name>[^'"`]+)\1/g,
  /\bnew URL\(\s*(['"`])(?<name>\.[^'"`]+\.[jt]s)\1,\s*import\.meta\.url/g,
];

/** The names of files and packages that a text imports, for types too, in the order of `FORMS`. */
export function importsIn(text: string): string[] {
  const names = FORMS.flatMap((form) =>
    [...text.matchAll(form)].map(({ groups }) => groups?.['name'] ?? ''),
  );
  return [...new Set(names)];
}

/** The path of a file that is imported by a relative name; null for a package. */
export function pathOf(from: string, name: string): string | null {
  return name.startsWith('.') ? posix.normalize(posix.join(posix.dirname(from), name)) : null;
}

/** The floors of a table with the columns floor, place and what: each row is a room of `folder`. */
export function floorsOf(page: string, folder: string): Floors {
  const floors = new Map<number, Room[]>();
  for (const [, floor, cell = ''] of page.matchAll(/^\| (\d+) +\| ([^|]+) \|/gm)) {
    const places = [...cell.matchAll(/`([^`]+)`/g)].map(([, place]) => `${folder}/${place}`);
    const number = Number(floor);
    floors.set(number, [...(floors.get(number) ?? []), places]);
  }
  return [...floors].toSorted(([a], [b]) => b - a).map(([, rooms]) => rooms);
}

/** Why one file must not import another one of the same floors; null where it may. */
export function floorError(floors: Floors, from: string, to: string): string | null {
  const [upper, lower] = [placeOf(floors, from), placeOf(floors, to)];
  if (upper === null) return `${from} is on no floor`;
  if (lower === null) return `${to} is on no floor`;
  if (upper.room === lower.room) return null;
  if (upper.floor === lower.floor) return 'rooms of one floor are strangers';
  return upper.floor < lower.floor ? null : 'it goes upward';
}

/** Where a file is, floors counted from the highest; null where no room holds it. */
export function placeOf(floors: Floors, path: string): { floor: number; room: Room } | null {
  for (const [floor, rooms] of floors.entries())
    for (const room of rooms)
      if (room.some((place) => (place.endsWith('/') ? path.startsWith(place) : path === place)))
        return { floor, room };
  return null;
}

/** Files that reach themselves by imports; null when none does. */
export function circleAmong(imports: Imports): string[] | null {
  const done = new Set<string>();
  const search = (file: string, trail: readonly string[]): string[] | null => {
    const from = trail.indexOf(file);
    if (from !== -1) return [...trail.slice(from), file];
    if (done.has(file)) return null;
    for (const target of imports.get(file) ?? []) {
      const circle = search(target, [...trail, file]);
      if (circle !== null) return circle;
    }
    done.add(file);
    return null;
  };
  for (const file of imports.keys()) {
    const circle = search(file, []);
    if (circle !== null) return circle;
  }
  return null;
}
