// The examples of documents: blocks of code after a line `<!-- example: … -->`, and how they run.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import process from 'node:process';

/** The marked shell blocks of a Markdown file, or those of another language. */
export function examplesOf(path: string, language: 'sh' | 'ts' | 'json' | 'yaml' = 'sh'): string[] {
  const text = readFileSync(path, 'utf8');
  const block = new RegExp(`<!-- example: .* -->\\n+ *\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g');
  return [...text.matchAll(block)].map((match) => match[1] ?? '');
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
