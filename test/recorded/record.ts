// The recorder (npm run record): sends the requests of every recording and writes down the answers
// of those that have none yet, and likewise runs the commands of every scene. What is recorded stays
// as it is: where it differs now, nothing of its file is written. With --widen, fields and headers
// that came are added to answers.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import type { ExecutionContext } from 'ava';
import { differenceOf } from './compare.ts';
import { Generaliser } from './generalise.ts';
import { type Exchange, readRecording, writeRecording } from './recording.ts';
import { recordScene, sceneNames } from './record-scenes.ts';
import { openWorld, play, type World } from './world.ts';

const FOLDER = join(import.meta.dirname, 'answers');

/** Records one file; the differences from what is recorded, and nothing is written where any is. */
async function record(world: World, file: string, isWiden: boolean): Promise<string[]> {
  const path = join(FOLDER, file);
  const before = readFileSync(path, 'utf8');
  const recording = readRecording(before);
  const unrecorded = (recording.world['unrecorded'] ?? '').split(' ');
  const exchanges: Exchange[] = [];
  const differences: string[] = [];
  let generaliser: Generaliser | null = null;
  for await (const { exchange, answer, bindings } of play(world, recording)) {
    generaliser ??= new Generaliser(bindings, unrecorded);
    generaliser.sends(bindings.fill(exchange.body));
    const { answer: recorded } = exchange;
    const error = recorded === null ? null : differenceOf(recorded, answer, bindings);
    if (error !== null) differences.push(`${file}: ${exchange.says}: ${error}`);
    const written =
      recorded === null
        ? generaliser.record(exchange, answer)
        : isWiden && error === null
          ? generaliser.widen(exchange, recorded, answer)
          : recorded;
    exchanges.push({ ...exchange, answer: written });
  }
  const after = writeRecording({ ...recording, exchanges });
  if (differences.length === 0 && after !== before) writeFileSync(path, after);
  return differences;
}

const ends: (() => unknown)[] = [];
const t = { teardown: (end: () => unknown) => void ends.unshift(end) } as ExecutionContext;
const [isWiden, names] = [
  process.argv.includes('--widen'),
  process.argv.slice(2).filter((word) => !word.startsWith('--')),
];
const world = await openWorld(t, 'sqlite');
const differences: string[] = [];
const isNamed = (name: string): boolean => names.length === 0 || names.includes(name);
for (const file of readdirSync(FOLDER).toSorted())
  if (isNamed(file.replace(/\.http$/, '')))
    differences.push(...(await record(world, file, isWiden)));
for (const end of ends) await end();
for (const name of sceneNames())
  if (isNamed(`commands/${name}`)) differences.push(...(await recordScene(name)));
for (const difference of differences) process.stderr.write(`${difference}\n`);
process.exitCode = differences.length === 0 ? 0 : 1;
