// Every command comes to what was recorded of it, on every database and over every transport, but for
// what a committed list means: output, errors, exit code and audit trail.

import test from 'ava';
import { databaseKinds } from '../support/database/databases.ts';
import { lineDifferences } from './compare-lines.ts';
import { expected, type Meant, readMeant } from './meant-differences.ts';
import { sceneNames, sceneText } from './record-scenes.ts';
import { readScene, type Typed, writeScene } from './scene.ts';
import { isFor, playScene } from './scene-world.ts';
import { transports } from './transports.ts';

const scenes = sceneNames().map((name) => {
  const text = sceneText(name);
  return { name, text, scene: readScene(text) };
});
const meant = readMeant();

// One after the other: the commands print into the streams of this process.
for (const transport of transports)
  for (const kind of databaseKinds())
    test.serial(`${kind}, ${transport.name}: every command is as it was recorded`, async (t) => {
      t.timeout(300_000);
      const differences: string[] = [];
      const unused = new Set<Meant>();
      const played = scenes.filter(
        ({ scene }) => isFor(scene, kind) && transport.plays(scene.world),
      );
      for (const { name, scene } of played) {
        const ofScene = meant.filter((one) => one.scene === name);
        for (const one of ofScene) unused.add(one);
        const before: Typed[] = [];
        for await (const { typed, result, bindings } of playScene(scene, kind, transport)) {
          const { end, meant: one } = expected(typed, before, ofScene);
          if (one !== null) unused.delete(one);
          const found =
            end === null
              ? ['is not recorded']
              : lineDifferences(typed.line, end, result, bindings).map(({ says }) => says);
          differences.push(...found.map((says) => `${name}: $ ${typed.line}: ${says}`));
          before.push(typed);
        }
      }
      t.deepEqual(differences, []);
      t.deepEqual([...unused], [], 'differences.txt names lines that are in no scene');
    });

test('differences are those of scenes that there are', (t) => {
  const names = new Set(scenes.map(({ name }) => name));
  t.deepEqual(
    meant.filter(({ scene }) => !names.has(scene)),
    [],
  );
});

test('scenes are written as the recorder writes them', (t) => {
  for (const { name, text, scene } of scenes) t.is(writeScene(scene), text, name);
});
