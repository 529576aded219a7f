// Every command comes to what was recorded of it, on every database and over every transport, but for
// what a committed list means: output, errors, exit code and audit trail.

import test from 'ava';
import { parseCommandLine } from '../../lib/cli/cli.ts';
import { whereWritten } from '../../lib/cli/where-written.ts';
import { databaseKinds } from '../support/database/databases.ts';
import { lineDifferences } from './compare-lines.ts';
import { expected, type Meant, readMeant } from './meant-differences.ts';
import { sceneNames, sceneText } from './record-scenes.ts';
import { readScene, type Typed, wordsOf, writeScene } from './scene.ts';
import { isFor, type PlayedLine, playScene } from './scene-world.ts';
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
        const hasGateway = transport.hasGateway || (scene.world['gateway'] ?? 'none') !== 'none';
        for await (const line of playScene(scene, kind, transport)) {
          const { typed, result, bindings } = line;
          const { end, meant: one } = expected(typed, before, ofScene);
          if (one !== null) unused.delete(one);
          const found =
            end === null
              ? ['is not recorded']
              : lineDifferences(typed.line, end, result, bindings).map(({ says }) => says);
          if (!(await isWrittenWhereItShould(line, hasGateway)))
            found.push('was written elsewhere');
          differences.push(...found.map((says) => `${name}: $ ${typed.line}: ${says}`));
          before.push(typed);
        }
      }
      t.deepEqual(differences, []);
      t.deepEqual([...unused], [], 'differences.txt names lines that are in no scene');
    });

/** Whether the gateway wrote what it is to write, and the command everything else. */
async function isWrittenWhereItShould(
  { typed: { line }, result: { audit }, ofRequests }: PlayedLine,
  hasGateway: boolean,
): Promise<boolean> {
  const parsed = await parseCommandLine(wordsOf(line).slice(1));
  const place = 'command' in parsed ? whereWritten(parsed.command.words) : null;
  const isAsked = place === 'gateway' || place === 'urgent';
  // A command that prints the file of a device makes the key of a gateway that has none yet.
  const ofCommands = audit.filter((entry) => /^command_line: (?!secret create )/.test(entry));
  return ofRequests === (isAsked && hasGateway ? ofCommands.length : 0);
}

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
