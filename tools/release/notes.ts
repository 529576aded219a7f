// What a release says of itself: its version, its time, and the notes of the changelog.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';

const ROOT = resolve(import.meta.dirname, '../..');
/** Where a publisher fills in addresses. */
const FILLED = 'tools/publisher.ts';
const VERSION = /^\d+\.\d+\.\d+(-[0-9a-z.]+)?$/;
/** Addresses that nobody reads: RFC 2606 keeps these names for examples. */
const PLACEHOLDER = /[\w.-]+@[\w.-]*\bexample(\.(com|net|org|test))?\b/;

/** Refuses what is no version, such as `v1.1`. */
export function checkVersion(version: string): void {
  if (!VERSION.test(version))
    throw new Error(`${version} is no version; one is 1.1.0, or 1.1.0-rc.1 for a trial`);
}

/** Whether it is a trial of a release, such as 1.1.0-rc.1, which nobody is to keep. */
export const isTrial = (version: string): boolean => version.includes('-');

/**
 * The notes of a version: its section of the changelog, or for a trial what is not released yet.
 * Refused if nothing is there.
 */
export function notesOf(changelog: string, version: string): string {
  const sections = changelog.split(/^## /m).slice(1);
  const sectionOf = (title: string) => sections.find((section) => section.split(/\s/)[0] === title);
  // On the day of a release the notes of its trials have its title already.
  const titles = isTrial(version) ? ['Unreleased', version.replace(/-.*/, '')] : [version];
  const [title] = titles.filter((one) => sectionOf(one) !== undefined);
  const own = title === undefined ? undefined : sectionOf(title);
  if (own === undefined) throw new Error(`CHANGELOG.md has no section “${titles[0]}”`);
  const notes = own.slice(own.indexOf('\n')).trim();
  if (!/^[-*] /m.test(notes))
    throw new Error(`the section “${title}” of CHANGELOG.md has no entry`);
  return `# Postern ${version}\n\n${notes}\n`;
}

/** Refuses a page that names an address at which nobody reads. */
export function refusePlaceholders(page: string, text: string): void {
  // What a block of code shows is an example.
  const [found] = PLACEHOLDER.exec(text.replaceAll(/^```.*?^```/gms, '')) ?? [];
  if (found !== undefined)
    throw new Error(
      `${page} says ${found}, which nobody reads: write a real address into ${FILLED}, then: npm run docs`,
    );
}

/** Seconds since 1970 that all files get: SOURCE_DATE_EPOCH, else the time of the last commit. */
export function sourceEpoch({ SOURCE_DATE_EPOCH: given } = process.env): number {
  if (given !== undefined && !/^\d+$/.test(given))
    throw new Error(`SOURCE_DATE_EPOCH is “${given}”, and no number of seconds`);
  if (given !== undefined) return Number(given);
  try {
    const words = ['-C', ROOT, 'log', '-1', '--format=%ct'];
    return Number(
      execFileSync('git', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    );
  } catch {
    throw new Error('this is no clone with git: set SOURCE_DATE_EPOCH to the time of its sources');
  }
}

/** A page of the repository. */
export const readPage = (name: string): string => readFileSync(join(ROOT, name), 'utf8');
