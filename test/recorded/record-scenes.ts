// Records scenes: runs their lines and writes down what those came to that have no recording yet.
// What is recorded stays as it is: where it differs now, nothing of its file is written.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lineDifferences } from './compare-lines.ts';
import { LineGeneraliser } from './generalise-lines.ts';
import { expected, readMeant } from './meant-differences.ts';
import { readScene, type Typed, writeScene } from './scene.ts';
import { playScene } from './scene-world.ts';
import { transports } from './transports.ts';

/** Where scenes are. */
export const SCENES = join(import.meta.dirname, 'commands');
const SUFFIX = '.scene';

/** The names of all scenes. */
export function sceneNames(): string[] {
  return readdirSync(SCENES)
    .filter((file) => file.endsWith(SUFFIX))
    .map((file) => file.slice(0, -SUFFIX.length))
    .toSorted();
}

/** The text of a scene. */
export function sceneText(name: string): string {
  return readFileSync(join(SCENES, `${name}${SUFFIX}`), 'utf8');
}

/** Records one scene; the differences from what is recorded, and nothing is written where any is. */
export async function recordScene(name: string): Promise<string[]> {
  const before = sceneText(name);
  const scene = readScene(before);
  const meant = readMeant().filter((one) => one.scene === name);
  const [transport] = transports;
  if (transport === undefined) throw new Error('there is no way to run a command');
  const typed: Typed[] = [];
  const differences: string[] = [];
  const files = documentTexts();
  let generaliser: LineGeneraliser | null = null;
  for await (const played of playScene(scene, 'sqlite', transport)) {
    const { typed: one, result, bindings, folder } = played;
    generaliser ??= new LineGeneraliser(bindings, folder);
    generaliser.types({ ...one, line: bindings.fill(one.line) }, files);
    if (one.end !== null) {
      const { end } = expected(one, typed, meant);
      for (const { says } of lineDifferences(one.line, end ?? one.end, result, bindings))
        differences.push(`commands/${name}: $ ${one.line}: ${says}`);
    }
    typed.push(one.end === null ? { ...one, end: generaliser.record(result) } : one);
  }
  const after = writeScene({ ...scene, typed });
  if (differences.length === 0 && after !== before)
    writeFileSync(join(SCENES, `${name}${SUFFIX}`), after);
  return differences;
}

/** The files that scenes read: what is in them is not made up. */
function documentTexts(): string {
  const folder = join(import.meta.dirname, 'documents');
  return readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n');
}
