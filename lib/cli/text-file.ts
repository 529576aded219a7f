// Text that a command is given: a file, or what is typed into it.

import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { messageOf } from '../kit/process/message.ts';

/** The text of a file; `-` is standard input. */
export async function textOfFile(file: string, readStdin: () => Promise<string>): Promise<string> {
  return file === '-' ? readStdin() : textOfBytes(bytesOfFile(file), file);
}

/** The bytes of a file. */
export function bytesOfFile(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new Error(`${file} cannot be read (${messageOf(error)})`, { cause: error });
  }
}

/**
 * The text of bytes. Bytes that are no UTF-8 are refused, because names in them would be stored
 * damaged.
 */
export function textOfBytes(bytes: Buffer, source: string): string {
  // UTF-16 without its mark is valid UTF-8, with a zero byte beside each letter.
  if (!isUtf8(bytes) || bytes.includes(0))
    throw new Error(`${source} is not valid UTF-8; save it as UTF-8 (iconv can convert it)`);
  // Some editors put a mark before the text, which is no part of it.
  return bytes.toString('utf8').replace(/^\uFEFF/, '');
}
