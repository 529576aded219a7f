// The addon over a kernel that refuses what a test chooses. Such failures of system calls otherwise
// need root, other hardware, another kernel, or luck. failing-kernel.cc replaces the calls; the
// addon around it consists of the very objects that `npm run build:native` made.

import { execFileSync } from 'node:child_process';
import {
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import type { ExecutionContext } from 'ava';
import type { Addon } from '../../../dataplane/native/index.ts';
import { nativeTest } from './native-test.ts';

/** Kinds of calls, in the order of their rules: sendmmsg and sendmsg; recvmmsg; read; writev. */
const CALLS = ['send', 'receive', 'read', 'write'] as const;
type Call = (typeof CALLS)[number];
const WRAPPED = ['sendmmsg', 'sendmsg', 'recvmmsg', 'read', 'writev'];
/** Node does not name the error of a TUN that is gone. */
const ERRORS = { ...constants.errno, EBADFD: 77 };
const RULE_WORDS = 9;
const [COUNTED, TRIED] = [7, 8];

/** What happens to calls of one kind; what is left out happens as usual. */
export interface Rule {
  /** Name of the error, EIO for instance. */
  readonly error?: keyof typeof ERRORS;
  /** How often it is refused; left out: always. */
  readonly times?: number;
  /** Only joined datagrams (UDP_SEGMENT) are refused. */
  readonly trainsOnly?: boolean;
  /** Only what has more bytes is refused, or marked. */
  readonly largerThan?: number;
  /** Messages that one call takes, or bytes that one read gives. */
  readonly most?: number;
  /** Flags on what is received. */
  readonly flags?: number;
  /** After `times` refusals, one more of whatever comes next. */
  readonly afterwards?: keyof typeof ERRORS;
}

/** The rules for the calls of the addon, until the test ends. */
export class FailingKernel {
  readonly #file: number;

  constructor(file: number) {
    this.#file = file;
  }

  /** Sets the rule for calls of one kind, and counts them from zero. */
  set(call: Call, rule: Rule): void {
    const words = [
      errnoOf(rule.error),
      rule.times ?? -1,
      rule.trainsOnly === true ? 1 : 0,
      rule.largerThan ?? 0,
      rule.most ?? 0,
      rule.flags ?? 0,
      errnoOf(rule.afterwards),
      0,
      0,
    ];
    writeSync(this.#file, Int32Array.from(words), 0, 4 * RULE_WORDS, placeOf(call));
  }

  /** Removes all rules. */
  heal(): void {
    for (const call of CALLS) this.set(call, {});
  }

  /** Calls of a kind since their rule was set. */
  calls(call: Call): number {
    return this.#word(call, COUNTED);
  }

  /** Joined datagrams that the kernel was asked to send since the rule was set. */
  get trains(): number {
    return this.#word('send', TRIED);
  }

  #word(call: Call, word: number): number {
    const words = new Int32Array(RULE_WORDS);
    readSync(this.#file, words, 0, 4 * RULE_WORDS, placeOf(call));
    return words[word]!;
  }
}

function errnoOf(name: Rule['error']): number {
  return name === undefined ? 0 : ERRORS[name];
}

function placeOf(call: Call): number {
  return CALLS.indexOf(call) * 4 * RULE_WORDS;
}

let made: { addon: Addon; kernel: FailingKernel } | null = null;

/** Links the addon again and loads it, once in a process. */
function failingAddon(): { addon: Addon; kernel: FailingKernel } {
  if (made !== null) return made;
  const folder = mkdtempSync(join(tmpdir(), 'postern-failing-'));
  try {
    const file = join(folder, 'rules');
    writeFileSync(file, new Uint8Array(CALLS.length * 4 * RULE_WORDS));
    const kernel = new FailingKernel(openSync(file, 'r+'));
    const library = join(folder, 'failing.node');
    link(library);
    process.env['FAILING_KERNEL'] = file;
    const addon = createRequire(import.meta.url)(library) as Addon;
    made = { addon, kernel };
    return made;
  } finally {
    // What is open and mapped is kept.
    rmSync(folder, { recursive: true });
  }
}

function link(library: string): void {
  const built = join(import.meta.dirname, '../../../dataplane/native/build/objects');
  const objects = readdirSync(built).filter((name) => name.endsWith('.o'));
  execFileSync('g++', [
    '-shared',
    '-fPIC',
    '-O1',
    '-pthread',
    '-o',
    library,
    join(import.meta.dirname, 'failing-kernel.cc'),
    ...objects.map((name) => join(built, name)),
    ...WRAPPED.map((name) => `-Wl,--wrap=${name}`),
  ]);
}

/** A test of the addon over a kernel that refuses what the test chooses. It must not wait. */
export function failingKernelTest(
  title: string,
  body: (t: ExecutionContext, native: Addon, kernel: FailingKernel) => void,
): void {
  nativeTest(title, (t) => {
    const { addon, kernel } = failingAddon();
    kernel.heal();
    try {
      body(t, addon, kernel);
    } finally {
      kernel.heal();
    }
  });
}
