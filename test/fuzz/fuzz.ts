// The fuzzer: `npm run fuzz -- <target> [--seconds N] [--seed N]`. It changes inputs of the corpus,
// keeps those that reach ways through the data plane that no other took, and writes them, and any
// input that makes its target fail, to the corpus, which the suite tries in every run. With
// --minimize it only throws out of the corpus what reaches nothing that others do not; inputs with a
// name were made by hand, for what they mean, and stay.

import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { Coverage } from './coverage.ts';
import { Chance, mutate } from './mutate.ts';
import { targets } from './targets/index.ts';

const CORPUS = join(import.meta.dirname, 'corpus');
const SAY_MS = 5_000;
/** Inputs that the fuzzer found are named after their bytes. */
const FOUND = /^[0-9a-f]{16}$/;

/** One target and its corpus. */
class Fuzzer {
  readonly #name: string;
  readonly #run: (input: Uint8Array) => string | void;
  readonly #folder: string;
  readonly #coverage = new Coverage();
  readonly #seen = new Set<string>();
  #pool: Uint8Array[];
  /** What the target said of the last input. */
  #outcome = '';

  constructor(name: string, run: (input: Uint8Array) => string | void) {
    this.#name = name;
    this.#run = run;
    this.#folder = join(CORPUS, name);
    mkdirSync(this.#folder, { recursive: true });
    this.#pool = this.#read(() => true);
  }

  /** Searches for so long; throws what a target threw. */
  search(seconds: number, seed: number): void {
    const chance = new Chance(seed);
    this.#say(`seed ${seed}, ${this.#pool.length} inputs to begin with`);
    for (const input of this.#pool) this.#try(input);
    for (const way of this.#coverage.take()) this.#seen.add(way);
    this.#pool.push(new Uint8Array(0));
    const end = performance.now() + seconds * 1_000;
    let runs = 0;
    for (let saidAt = performance.now(); performance.now() < end; runs++) {
      const input = mutate(this.#pool, chance);
      if (this.#look(input)) {
        this.#pool.push(input);
        this.#save(input);
      }
      if (performance.now() - saidAt < SAY_MS) continue;
      saidAt = performance.now();
      this.#say(`${runs} runs, ${this.#seen.size} ways, ${this.#pool.length} inputs`);
    }
    this.#say(`${runs} runs, ${this.#seen.size} ways; nothing failed`);
    this.#coverage.close();
  }

  /** Leaves of what was found the shortest inputs that together reach what all of them reach. */
  minimize(): void {
    const [found, made] = [true, false].map((isFound) =>
      this.#read((file) => FOUND.test(file) === isFound),
    ) as [Uint8Array[], Uint8Array[]];
    for (const input of made) this.#look(input);
    const left = found.sort((a, b) => a.length - b.length).filter((input) => this.#look(input));
    this.#coverage.close();
    for (const file of readdirSync(this.#folder))
      if (FOUND.test(file)) rmSync(join(this.#folder, file));
    for (const input of left) this.#save(input);
    this.#say(`${left.length} inputs are left, and ${made.length} made by hand`);
  }

  /** Tries an input; says whether it reaches anything new. */
  #look(input: Uint8Array): boolean {
    this.#try(input);
    const news = this.#news();
    for (const way of news) this.#seen.add(way);
    return news.length > 0;
  }

  #read(isMeant: (file: string) => boolean): Uint8Array[] {
    const files = readdirSync(this.#folder).filter(isMeant).sort();
    return files.map((file) => new Uint8Array(readFileSync(join(this.#folder, file))));
  }

  #news(): string[] {
    return [...this.#coverage.take(), `outcome ${this.#outcome}`].filter(
      (way) => !this.#seen.has(way),
    );
  }

  #try(input: Uint8Array): void {
    try {
      this.#outcome = this.#run(input) ?? '';
    } catch (error) {
      this.#say(`fails on ${this.#save(input)}`);
      throw error;
    }
  }

  #save(input: Uint8Array): string {
    const name = createHash('sha256').update(input).digest('hex').slice(0, 16);
    const path = join(this.#folder, name);
    writeFileSync(path, input);
    return path;
  }

  #say(text: string): void {
    process.stdout.write(`${this.#name}: ${text}\n`);
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    minimize: { type: 'boolean', default: false },
  },
});
const [name = ''] = positionals;
const target = targets[name];
if (target === undefined) {
  process.stderr.write(
    `usage: npm run fuzz -- <${Object.keys(targets).join('|')}> [--seconds N] [--seed N] [--minimize]\n`,
  );
  process.exitCode = 2;
} else {
  const fuzzer = new Fuzzer(name, target);
  if (values.minimize) fuzzer.minimize();
  else fuzzer.search(Number(values.seconds), Number(values.seed));
}
