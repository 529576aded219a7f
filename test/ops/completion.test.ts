// The shells of Debian complete every command and every option, by the scripts that the grammar
// makes. They ask no gateway: none runs, and no program is called postern. And mandoc reads the manual
// page.

import test from 'ava';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { completionOf } from '../../lib/cli/completion.ts';
import { commands, type Entry } from '../../lib/cli/grammar.ts';
import { manualPage } from '../../lib/cli/manual.ts';

const entries = Object.entries(commands) as [string, Entry][];
const firsts = [...new Set(entries.map(([name]) => name.split(' ')[0]!)), 'help'];
const verbsOf = (noun: string): string[] =>
  entries.flatMap(([name]) => (name.startsWith(`${noun} `) ? [name.split(' ')[1]!] : []));
const nouns = firsts.filter((first) => verbsOf(first).length > 0);

/** What is typed before the key, and all that a shell offers then. */
const offers: readonly (readonly [typed: string, words: readonly string[]])[] = [
  ['', firsts],
  ['--', ['--help', '--version']],
  ...nouns.flatMap((noun) => [
    [`${noun} `, verbsOf(noun)] as const,
    [`help ${noun} `, verbsOf(noun)] as const,
  ]),
  ...entries.map(
    ([name, { takes }]) =>
      [`${name} --`, [...takes, 'help'].map((option) => `--${option}`)] as const,
  ),
  ['devi', ['device']],
  ['device lis', ['list']],
  ['completion ', ['bash', 'zsh', 'fish']],
  ['user create --email ann@example.com --role ', ['unprivileged', 'admin']],
  ['rule create --action ', ['drop', 'accept']],
  // The value of an option is no verb.
  ['user create --email device --ro', ['--role']],
  ['user create --email ', []],
  ['restore b', ['backup.db']],
  ['user enrol --file b', ['backup.db']],
];

/** Runs a shell's own program in a folder with the script and one other file; a line for each. */
function answersOf(shell: string, program: string, args: readonly string[]): string[][] {
  const folder = mkdtempSync(join(tmpdir(), 'postern-completion-'));
  try {
    writeFileSync(join(folder, 'backup.db'), '');
    writeFileSync(join(folder, '.script'), completionOf(shell));
    writeFileSync(join(folder, '.driver'), program);
    writeFileSync(join(folder, '.inside'), INSIDE);
    const { stdout, stderr } = spawnSync(shell, [...args, join(folder, '.driver')], {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: '/usr/bin:/bin', HOME: folder, TERM: 'dumb', LC_ALL: 'C.UTF-8' },
      input: offers.map(([typed]) => `postern ${typed}\n`).join(''),
      timeout: 200_000,
    });
    if (stderr !== '') throw new Error(stderr);
    const lines = stdout.split('\n').slice(0, -1);
    return lines.map((line) => line.split('\t').filter((word) => word !== ''));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const BASH = `
source ./.script
while IFS= read -r line; do
  read -ra COMP_WORDS <<<"$line"
  [[ $line == *' ' ]] && COMP_WORDS+=('')
  COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
  _postern
  (IFS=$'\\t'; printf '%s\\n' "\${COMPREPLY[*]}")
done
`;

const FISH = `
source ./.script
while read -l line
  echo (complete -C $line | string replace -r '\\t.*' '' | string join \\t)
end
`;

/**
 * A zsh at a terminal of its own, in which the key is pressed. Its compadd prints what it would
 * offer, by -O, which leaves only what matches.
 */
const ZSH = `
zmodload zsh/zpty
zpty terminal zsh -f -i
zpty -w terminal 'source ./.inside'
zpty -r terminal got '*IT IS READY*'
while IFS= read -r line; do
  zpty -w -n terminal "$line"$'\\t'
  zpty -r terminal got '*<*>'
  got=\${\${got##*<}%>}
  print -r -- "\${got//$'\\r'/}"
  zpty -w -n terminal $'\\025'
done
zpty -d terminal
`;

const INSIDE = `
PS1= PS2= COLUMNS=1000
stty -echo -opost
setopt extendedglob
autoload -Uz compinit
compinit -D -u
source ./.script
compadd() {
  local -a hits
  if [[ " \${@[1,(i)(-|--)]} " == *' -'[[:alpha:]]#[OAD]' '* ]]; then builtin compadd "$@"; return; fi
  builtin compadd -O hits "$@"
  print -rn -- "\${(pj:\\t:)hits}"$'\\t'
}
answer() {
  print -n '<'
  _main_complete
  print -n '>'
}
zle -C answer complete-word answer
bindkey '^I' answer
print IT IS READY
`;

const shells: readonly (readonly [shell: string, program: string, args: readonly string[]])[] = [
  ['bash', BASH, ['--norc']],
  ['fish', FISH, ['--no-config']],
  ['zsh', ZSH, ['-f']],
];
for (const [shell, program, args] of shells)
  test(`${shell} completes every command and every option`, (t) => {
    const answers = answersOf(shell, program, args);
    t.is(answers.length, offers.length);
    for (const [i, [typed, words]] of offers.entries())
      t.deepEqual(answers[i]?.toSorted(), words.toSorted(), `postern ${typed}`);
  });

test('mandoc has nothing to say of the manual page, and shows it', (t) => {
  const page = manualPage('7.8.9', new Date());
  const lint = spawnSync('mandoc', ['-T', 'lint', '-W', 'all'], { input: page, encoding: 'utf8' });
  t.is(lint.stdout + lint.stderr, '');
  t.is(lint.status, 0);
  const shown = spawnSync('mandoc', ['-T', 'utf8'], { input: page, encoding: 'utf8' }).stdout;
  // Bold letters are struck twice.
  const struck = shown.split('\b');
  const text = struck.map((part, i) => (i + 1 < struck.length ? part.slice(0, -1) : part)).join('');
  for (const [name] of entries) t.true(text.includes(`postern ${name}`), name);
  t.true(text.includes('rule_drop, default_drop, …'));
});
