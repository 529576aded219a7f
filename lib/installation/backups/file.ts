// Writes a file that is either complete or absent: it is written under another name, and gets its
// own name when it is on the disk. Only its owner can read it, and it never replaces an existing
// file.

import { existsSync, rmSync } from 'node:fs';
import { type FileHandle, link, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import process from 'node:process';
import { messageOf } from '../../kit/process/message.ts';

/** Text that is gathered before it goes to the disk. */
const CHUNK_CHARACTERS = 64 * 1024;
/** What a file system says that knows no second name of a file. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/** Writes through `write`, then gives the file its name; throws with a sentence for a person. */
export async function writeNewFile<T>(
  path: string,
  write: (out: (text: string) => Promise<void>) => Promise<T>,
): Promise<T> {
  if (existsSync(path)) throw new Error(standing(path));
  const folder = dirname(path);
  if (!existsSync(folder))
    throw new Error(`the folder ${folder} does not exist; make it, or name a file in another one`);
  const draft = `${path}.${process.pid}.part`;
  // Whoever interrupts the work is left with nothing either.
  const discard = (): void => rmSync(draft, { force: true });
  const stop = (signal: NodeJS.Signals): void => {
    discard();
    process.kill(process.pid, signal);
  };
  for (const signal of SIGNALS) process.once(signal, stop);
  try {
    const result = await fill(draft, path, write);
    await giveName(draft, path);
    await flushFolder(folder);
    return result;
  } finally {
    discard();
    for (const signal of SIGNALS) process.off(signal, stop);
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

async function fill<T>(
  draft: string,
  path: string,
  write: (out: (text: string) => Promise<void>) => Promise<T>,
): Promise<T> {
  const file = await onDisk(path, () => open(draft, 'wx', 0o600));
  try {
    let waiting = '';
    const result = await write(async (text) => {
      waiting += text;
      if (waiting.length < CHUNK_CHARACTERS) return;
      const chunk = waiting;
      waiting = '';
      await onDisk(path, () => writeAll(file, chunk));
    });
    await onDisk(path, async () => {
      await writeAll(file, waiting);
      await file.sync();
    });
    return result;
  } finally {
    // A disk that is full may say so once more.
    await file.close().catch(() => undefined);
  }
}

async function writeAll(file: FileHandle, text: string): Promise<void> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += (await file.write(bytes, at)).bytesWritten);
}

/** Unlike rename, link never replaces what somebody else made first. */
async function giveName(draft: string, path: string): Promise<void> {
  try {
    await link(draft, path);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw new Error(standing(path), { cause: error });
    if (!NO_LINKS.has(code)) throw error;
    if (existsSync(path)) throw new Error(standing(path), { cause: error });
    await rename(draft, path);
  }
  await rm(draft, { force: true });
}

async function flushFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } catch {
    // Some file systems cannot; the file itself is on the disk.
  } finally {
    await folder.close();
  }
}

async function onDisk<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const message = messageOf(error);
    const advice =
      (error as NodeJS.ErrnoException).code === 'ENOSPC'
        ? 'free some space, or name a file on another disk'
        : 'name a file in a folder that this user may write';
    throw new Error(`${path} cannot be written (${message}); ${advice}`, { cause: error });
  }
}

function standing(path: string): string {
  return `${path} is there already, and nothing was written; name another file, or remove it`;
}
