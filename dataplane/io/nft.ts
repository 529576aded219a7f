// The program nft, which speaks for us to the kernel's packet filter. It is found where systems
// keep their own programs, not by the path that the process was given.

import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

/** What nft said: its output, or what is wrong. */
export type NftAnswer = { readonly output: string } | { readonly fault: string };

/** Runs nft with a script on its standard input. */
export async function runNft(args: readonly string[], script = ''): Promise<NftAnswer> {
  const child = spawn('nft', args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin' },
  });
  const ended = new Promise<string | null>((resolve) => {
    child.on('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code === 'ENOENT' ? 'the program nft is not installed' : error.message),
    );
    child.on('close', (status) => resolve(status === 0 ? null : `nft ended with ${status}`));
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(script);
  const [fault, output, complaint] = await Promise.all([
    ended,
    text(child.stdout),
    text(child.stderr),
  ]);
  if (fault === null) return { output };
  const [said = ''] = complaint.trim().split('\n');
  return { fault: said === '' ? fault : said };
}
