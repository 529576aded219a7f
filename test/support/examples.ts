// The examples of documents: shell blocks after a line `<!-- example: … -->`, and how they run.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import process from 'node:process';

/** The marked shell blocks of a Markdown file. */
export function examplesOf(path: string): string[] {
  const text = readFileSync(path, 'utf8');
  return [...text.matchAll(/<!-- example: .* -->\n```sh\n([\s\S]*?)```/g)].map(
    (match) => match[1] ?? '',
  );
}

/** Runs commands in a shell that stops at the first failure; what they printed. */
export async function runShell(
  commands: string,
  environment: Record<string, string>,
): Promise<string> {
  const child = spawn('bash', ['-ec', commands], {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  const [code] = (await once(child, 'close')) as [number];
  if (code !== 0) throw new Error(`the shell ended with ${code}`);
  return Buffer.concat(chunks).toString('utf8');
}
