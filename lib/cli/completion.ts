// `postern completion`: scripts by which shells complete commands and options. They are made of the
// grammar, and hold all that they offer: a key in a shell asks no gateway and starts no program.

import { type CommandName, commands, type Entry } from './grammar.ts';
import { wordsOfOption } from './help.ts';
import { type OptionName, optionTypes } from './options.ts';
import type { Command, Outcome } from './run.ts';

/**
 * The few words that an option takes. Here and not from the fields of operations, because the
 * grammar loads no models; the test compares both.
 */
export const CHOICES: Partial<Record<OptionName, readonly string[]>> = {
  role: ['unprivileged', 'admin'],
  action: ['drop', 'accept'],
  expect: ['accept', 'drop'],
  'port-type': ['tcp', 'udp'],
  protocol: ['tcp', 'udp', 'icmp'],
  scopes: ['admin', 'read', 'metrics', 'capture'],
  step: ['600', '3600', '86400'],
  sort: ['name', 'owner', 'address', 'handshake', 'traffic'],
};

/** What is typed behind something: one of a few words, a file, or what no script can know. */
type Value = readonly string[] | 'file' | null;

/** An option of a command; the value is undefined where it takes none. */
interface Option {
  readonly name: string;
  readonly sentence: string;
  readonly label: string;
  readonly value: Value | undefined;
}

/** A command. */
interface Verb {
  readonly name: string;
  readonly line: string;
  readonly options: readonly Option[];
  readonly operand: Value;
}

const HELP: Option = { name: 'help', sentence: 'Prints help.', label: '', value: undefined };
const VERSION: Option = { ...HELP, name: 'version', sentence: 'Says which version this is.' };

const verbs: readonly Verb[] = (Object.keys(commands) as CommandName[]).map((name) => {
  const entry: Entry = commands[name];
  const { line, usage, takes, choices } = entry;
  const options = takes.map((option) => {
    const [label, sentence] = wordsOfOption(name, option, entry);
    return { name: option, sentence, label, value: valueOf(option) };
  });
  const operand = usage.startsWith('FILE') ? 'file' : (choices ?? null);
  return { name, line, options: [...options, HELP], operand };
});

function valueOf(option: OptionName): Value | undefined {
  if (optionTypes[option].type === 'boolean') return undefined;
  return option === 'file' ? 'file' : (CHOICES[option] ?? null);
}

/** The first words of commands, with what they are or which words may follow. */
const firsts: ReadonlyMap<string, string> = new Map([
  ...verbs.map(({ name, line }) => {
    const [first = ''] = name.split(' ');
    return [first, first === name ? line : verbsOf(first).join(', ')] as const;
  }),
  ['help', 'Prints help.'] as const,
]);
const nouns = [...firsts.keys()].filter((first) => verbsOf(first).length > 0);

function verbsOf(noun: string): string[] {
  return verbs.flatMap(({ name }) =>
    name.startsWith(`${noun} `) ? [name.split(' ')[1] ?? ''] : [],
  );
}

/** Options that take a value, each once, with the values that a script can know. */
const valued: ReadonlyMap<string, Value> = new Map(
  verbs.flatMap(({ options }) =>
    options.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const])),
  ),
);

const scripts: Readonly<Record<string, () => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** The shells that there is a script for. */
export const shells: readonly string[] = Object.keys(scripts);

/** The script of a shell. */
export function completionOf(shell: string): string {
  const made = scripts[shell];
  if (made === undefined) throw new Error(`there is no completion for ${shell}`);
  return made();
}

/** Prints the script of the shell that was named. */
export function printCompletion({ operand }: Command): Outcome {
  // Whoever prints it ends the last line.
  return { text: completionOf(operand ?? '').trimEnd(), data: null };
}

const HEADER = (shell: string): string =>
  `# Completion of postern for ${shell}, made by \`postern completion ${shell}\`.`;

/** A text in single quotes, for bash and zsh. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function dashed(options: readonly { readonly name: string }[]): string {
  return options.map(({ name }) => `--${name}`).join(' ');
}

// ---- bash ----------------------------------------------------------------------------------

function bashScript(): string {
  const known = [...valued].filter(([, value]) => value !== null);
  const unknown = [...valued].filter(([, value]) => value === null);
  const offer = (value: Value): string =>
    value === 'file' ? 'files=yes' : `words=${quoted((value ?? []).join(' '))}`;
  const cases = [
    `' ') words=${quoted([...firsts.keys()].join(' '))} options=${quoted(dashed([HELP, VERSION]))} ;;`,
    ...nouns.map((noun) => `${quoted(`${noun} `)}) words=${quoted(verbsOf(noun).join(' '))} ;;`),
    ...verbs.map(({ name, options, operand }) => {
      const typed = name.includes(' ') ? quoted(name) : `${quoted(`${name} `)}*`;
      return `${typed}) ${offer(operand)} options=${quoted(dashed(options))} ;;`;
    }),
  ];
  return `${HEADER('bash')}

_postern() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]}
  local i noun='' verb='' words='' options='' files='' isValue=''
  COMPREPLY=()
  case $prev in
    ${known.map(([name, value]) => `--${name}) ${offer(value)} isValue=yes ;;`).join('\n    ')}
    ${unknown.map(([name]) => `--${name}`).join(' | ')}) return ;;
  esac
  if [[ -z $isValue ]]; then
    for ((i = 1; i < COMP_CWORD; i++)); do
      case \${COMP_WORDS[i]} in
        ${[...valued.keys()].map((name) => `--${name}`).join(' | ')}) ((i++)) ;;
        -* | help) ;;
        *)
          if [[ -z $noun ]]; then noun=\${COMP_WORDS[i]}
          else verb=\${verb:-\${COMP_WORDS[i]}}; fi
          ;;
      esac
    done
    case "$noun $verb" in
      ${cases.join('\n      ')}
    esac
    if [[ $cur == -* || -z $words$files ]]; then words=$options files=; fi
  fi
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  fi
}

complete -F _postern postern
`;
}

// ---- zsh -----------------------------------------------------------------------------------

function zshScript(): string {
  const described = (word: string, says: string): string =>
    quoted(`${word}:${says.replaceAll(':', '\\:')}`);
  const list = (words: readonly string[]): string => words.join(' \\\n        ');
  const ofNoun = (noun: string): string[] =>
    verbs.flatMap(({ name, line }) =>
      name.startsWith(`${noun} `) ? [described(name.split(' ')[1] ?? '', line)] : [],
    );
  const cases = verbs.map(({ name, options, operand }) => {
    const specs = [...options.map(zshOption), quoted(`*:${zshAction(operand)}`)];
    return `${quoted(name)})
      _arguments -s \\
        ${list(specs)}
      ;;`;
  });
  return `#compdef postern
${HEADER('zsh')}

_postern() {
  local -a found
  local name
  [[ \${words[2]} == help ]] && (( CURRENT > 2 )) && { words[2]=(); (( CURRENT -= 1 )) }
  if (( CURRENT == 2 )); then
    if [[ $PREFIX == -* ]]; then
      _arguments ${[HELP, VERSION].map(zshOption).join(' ')}
      return
    fi
    found=(
        ${list([...firsts].map(([first, says]) => described(first, says)))}
    )
    _describe command found
    return
  fi
  name=\${words[2]}
  case $name in
    ${nouns.map((noun) => quoted(noun)).join(' | ')})
      if (( CURRENT > 3 )); then
        name+=" \${words[3]}"
        words[2]=()
        (( CURRENT -= 1 ))
      fi
      ;;
  esac
  words[1]=()
  (( CURRENT -= 1 ))
  case $name in
    ${nouns.map((noun) => `${quoted(noun)})\n      found=(\n        ${list(ofNoun(noun))}\n      )\n      _describe command found\n      ;;`).join('\n    ')}
    ${cases.join('\n    ')}
  esac
}

if [[ $funcstack[1] == _postern ]]; then
  _postern "$@"
else
  compdef _postern postern
fi
`;
}

function zshOption({ name, sentence, label, value }: Option): string {
  const says = sentence.replaceAll(/[\\[\]:]/g, String.raw`\$&`);
  const takes = value === undefined ? '' : `:${label}:${zshAction(value, '')}`;
  return quoted(`--${name}[${says}]${takes}`);
}

function zshAction(value: Value, label = ' :'): string {
  if (value === 'file') return `${label}_files`;
  return value === null ? `${label} ` : `${label}(${value.join(' ')})`;
}

// ---- fish ----------------------------------------------------------------------------------

/** A text in single quotes, for fish. */
function fishText(says: string): string {
  return `'${says.replaceAll(/[\\']/g, String.raw`\$&`)}'`;
}

function fishOption({ name, sentence, value }: Option): string {
  const known = value === 'file' || value == null ? '' : ` -a ${fishText(value.join(' '))}`;
  const takes = value === undefined ? '' : value === 'file' ? ' -rF' : ` -x${known}`;
  return `-l ${name}${takes} -d ${fishText(sentence)}`;
}

function fishScript(): string {
  const when = (words: string): string =>
    `complete -c postern -n ${fishText(`__postern_at ${words}`)}`;
  const lines = [
    ...[...firsts].map(([first, says]) => `${when('')} -a ${first} -d ${fishText(says)}`),
    ...[HELP, VERSION].map((one) => `${when('')} ${fishOption(one)}`),
    ...verbs.flatMap(({ name, line, options, operand }) => {
      const [noun = '', verb] = name.split(' ');
      const isIn = `complete -c postern -n ${fishText(`__postern_in ${name}`)}`;
      const operands =
        operand === 'file'
          ? [`${isIn} -F`]
          : operand === null
            ? []
            : [`${when(name)} -a ${fishText(operand.join(' '))}`];
      return [
        ...(verb === undefined ? [] : [`${when(noun)} -a ${verb} -d ${fishText(line)}`]),
        ...operands,
        ...options.map((one) => `${isIn} ${fishOption(one)}`),
      ];
    }),
  ];
  return `${HEADER('fish')}

# The words that were typed before the cursor, without options and their values.
function __postern_words
  set -l tokens (commandline -opc)
  set -e tokens[1]
  set -l isValue no
  for token in $tokens
    if test $isValue = yes
      set isValue no
      continue
    end
    switch $token
      case ${[...valued.keys()].map((name) => `--${name}`).join(' ')}
        set isValue yes
      case '-*' help
      case '*'
        printf '%s\\n' $token
    end
  end
end

# These words were typed, and no others.
function __postern_at
  set -l words (__postern_words)
  test "$words" = "$argv"
end

# These words were typed first.
function __postern_in
  set -l words (__postern_words)
  test (count $words) -ge (count $argv); or return 1
  set words $words[1..(count $argv)]
  test "$words" = "$argv"
end

complete -c postern -f
${lines.join('\n')}
`;
}
