// The table of what a run of test/all.sh took: of each phase, and of its slowest files. All files
// are in test/artefacts/seconds.txt.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { FileSeconds } from '../suite/seconds.ts';

const SLOWEST = 5;

/** What one phase took, in seconds; `user` and `sys` are of processors. */
export interface Phase {
  phase: string;
  wall: number;
  user: number;
  sys: number;
  /** The exit code of its command. */
  status: number;
}

/** The phases that left a line in a folder, in the order of their ends. */
export function readPhases(folder: string): Phase[] {
  return readLines<Phase>(join(folder, 'phases.jsonl'));
}

/** Writes the whole table to a file, and returns the part that people want to see at once. */
export function secondsTable(folder: string, whole: string): string {
  const phases = readPhases(folder);
  const files = readFiles(folder);
  const rows = phases.map((phase) => row(phase.phase, phase.wall, phase.user + phase.sys));
  const all = phases.reduce((sum, { user, sys }) => sum + user + sys, 0);
  const head = [row('phase', 'wall s', 'cpu s'), ...rows, row('all phases', '', all)];
  const parts = [...files].map(([phase, ofPhase]) => ({
    title: row(`${phase}: files`, ofPhase.length, sum(ofPhase)),
    lines: ofPhase
      .toSorted((a, b) => b.wall - a.wall)
      .map(({ file, wall, cpu }) => row(`  ${file}`, wall, cpu)),
  }));
  const text = (linesMax: number): string =>
    [...head, ...parts.flatMap(({ title, lines }) => [title, ...lines.slice(0, linesMax)])].join(
      '\n',
    );
  writeFileSync(whole, `${text(Infinity)}\n`);
  return `${text(SLOWEST)}\n`;
}

/** CPU seconds by phase and room: of the phase itself those that no file has. */
export function readRooms(folder: string): Map<string, number> {
  const rooms = new Map<string, number>();
  const files = readFiles(folder);
  for (const { phase, user, sys } of readPhases(folder)) {
    let rest = user + sys;
    for (const { file, cpu } of files.get(phase) ?? []) {
      const room = `${phase} ${roomOf(file)}`;
      rooms.set(room, (rooms.get(room) ?? 0) + cpu);
      rest -= cpu;
    }
    rooms.set(phase, Math.max(0, rest));
  }
  return rooms;
}

/** The folder of a test file below `test`: three parts of it in `lib`, two in `dataplane`, else one. */
export function roomOf(file: string): string {
  const folders = file.split('/').slice(1, -1);
  const depth = { lib: 3, dataplane: 2 }[folders[0] ?? ''] ?? 1;
  return folders.slice(0, depth).join('/') || 'test';
}

function readFiles(folder: string): Map<string, FileSeconds[]> {
  const names = readdirSync(folder).filter(
    (name) => name.endsWith('.jsonl') && name !== 'phases.jsonl',
  );
  return new Map(
    names
      .toSorted()
      .map((name) => [basename(name, '.jsonl'), readLines<FileSeconds>(join(folder, name))]),
  );
}

/** The lines of a file of JSON lines; none where there is no file. */
export function readLines<Line>(path: string): Line[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Line);
}

function sum(files: readonly FileSeconds[]): number {
  return files.reduce((total, { cpu }) => total + cpu, 0);
}

function row(name: string, wall: number | string, cpu: number | string): string {
  const cell = (value: number | string): string =>
    (typeof value === 'number' && !Number.isInteger(value)
      ? value.toFixed(1)
      : `${value}`
    ).padStart(9);
  return `${name.padEnd(62)}${cell(wall)}${cell(cpu)}`;
}
