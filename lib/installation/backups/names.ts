// The names of backups that are made again and again: they end in their time, so that they sort by
// it, and what a process that was killed left of one has the process's id behind.

import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

const TIME = String.raw`\d{8}T\d{6}\.\d{3}Z`;

/** What finds backups of one kind by their names. */
export interface Names {
  /** A whole one; its group `time` sorts. */
  readonly whole: RegExp;
  /** What is left of one; its group `pid` is the process that wrote it. */
  readonly part: RegExp;
}

/** The name of a backup that begins so: `postern-20261130T021500.123Z.backup`. */
export const backupName = (beginning: string, made: Date): string =>
  `${beginning}-${made.toISOString().replaceAll(/[-:]/g, '')}.backup`;

/** Finds the names that begin with what this pattern finds. */
export function namesOf(beginning: string): Names {
  const name = `^${beginning}-(?<time>${TIME})\\.backup`;
  return { whole: new RegExp(`${name}$`), part: new RegExp(`${name}\\.(?<pid>\\d+)\\.part$`) };
}

/**
 * Deletes what processes that were killed left of backups. It comes first, because it takes the
 * room that the next backup needs.
 */
export function forgetParts(folder: string, { part }: Names): void {
  // The backup itself says what is wrong with it.
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const pid = Number(part.exec(name)?.groups?.['pid'] ?? 0);
    // In a container the killed process had the id that this one has.
    if (pid > 0 && (pid === process.pid || !existsSync(`/proc/${pid}`)))
      rmSync(join(folder, name), { force: true });
  }
}
