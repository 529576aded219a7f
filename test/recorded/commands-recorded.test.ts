// Every command of the command line is recorded: what it does as text and as JSON, what it refuses, its
// help, and each option that it needs when that is missing.

import test from 'ava';
import { type CommandName, commands, type Entry } from '../../lib/cli/grammar.ts';
import { nameOfNeeded } from '../../lib/cli/options.ts';
import { sceneNames, sceneText } from './record-scenes.ts';
import { readScene, wordsOf } from './scene.ts';

/** Commands that no scene runs to a good end, and why. */
const WITHOUT_SUCCESS: Partial<Record<CommandName, string>> = {
  serve: 'goes on until it is stopped; test/lib/start/serve.test.ts',
  'serve-rootless': 'becomes a gateway; test/lib/start/serve-rootless.test.ts',
  doctor: 'finds what the host is like; test/lib/installation/doctor',
  completion: 'is made of the whole grammar; test/ops/completion.test.ts',
  man: 'is made of the whole grammar; test/lib/cli/manual.test.ts',
  capture: 'writes packets with times; test/lib/cli/capture-command.test.ts',
};
/** Commands that have nothing to fail at. */
const WITHOUT_FAILURE: readonly CommandName[] = [
  'serve',
  'version',
  'completion',
  'man',
  'token make-bootstrap',
];
interface Line {
  readonly words: readonly string[];
  readonly status: number;
  readonly stderr: string;
}

const lines: Line[] = sceneNames()
  .flatMap((name) => readScene(sceneText(name)).typed)
  .map(({ line, end }) => ({
    words: wordsOf(line).slice(1),
    status: end?.status ?? -1,
    stderr: end?.stderr ?? '',
  }));
const names = Object.keys(commands) as CommandName[];

function linesOf(name: CommandName): Line[] {
  const words = name.split(' ');
  return lines.filter((line) => words.every((word, i) => line.words[i] === word));
}

const isHelp = ({ words }: Line): boolean =>
  words.includes('--help') || words.includes('--version');
const isJson = ({ words }: Line): boolean => words.includes('--json');

function lacking(check: (name: CommandName, entry: Entry) => boolean): CommandName[] {
  return names.filter((name) => !check(name, commands[name]));
}

/** Of these kinds of lines each command has one, but for the commands that are named. */
const kinds: [says: string, isThere: (name: CommandName, entry: Entry) => boolean, but: object][] =
  [
    [
      'a good end, as text',
      (name) => linesOf(name).some((line) => line.status === 0 && !isHelp(line) && !isJson(line)),
      WITHOUT_SUCCESS,
    ],
    [
      'a good end, as JSON',
      (name, { takes }) =>
        !takes.includes('json') ||
        linesOf(name).some((line) => line.status === 0 && !isHelp(line) && isJson(line)),
      { doctor: WITHOUT_SUCCESS.doctor },
    ],
    [
      'a failure that is no wrong usage',
      (name) => linesOf(name).some(({ status }) => status === 1),
      Object.fromEntries(WITHOUT_FAILURE.map((name) => [name, true])),
    ],
    [
      'an option that it does not have',
      (name) => linesOf(name).some(({ stderr }) => stderr.includes('is not an option of')),
      {},
    ],
    [
      'each option that it needs, missing',
      (name, entry) =>
        (entry.needs ?? []).every((option) => {
          const called = [`--${option}`, nameOfNeeded(entry, option)];
          return linesOf(name).some(({ stderr }) =>
            called.some((one) => stderr.startsWith(`${one} is missing`)),
          );
        }),
      {},
    ],
    [
      'an operand that is missing',
      (name, { operand, operands = [operand === true ? 1 : 0, 0] }) =>
        operands[0] === 0 ||
        linesOf(name).some(
          ({ status, stderr }) => status === 2 && / is missing; usage/.test(stderr),
        ),
      {},
    ],
    ['help', (name) => linesOf(name).some(isHelp), {}],
    [
      'a trial, and its failure',
      (name, { takes }) =>
        !takes.includes('dry-run') ||
        [0, 1].every((status) =>
          linesOf(name).some((line) => line.status === status && line.words.includes('--dry-run')),
        ),
      {},
    ],
  ];
for (const [says, isThere, but] of kinds)
  test(`every command is recorded with ${says}`, (t) => {
    t.deepEqual(lacking(isThere), Object.keys(but) as CommandName[]);
  });

test('no line waits for its recording', (t) => {
  t.deepEqual(
    lines.filter(({ status }) => status < 0),
    [],
  );
});
