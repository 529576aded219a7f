// Runs the program nft, which shows the rules of other programs to doctor. It is searched in the
// folders of system programs, not in the PATH of this process.

import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

/** The output of nft, or what is wrong. */
export type NftAnswer = { readonly output: string } | { readonly error: string };

/** The error where nft is not installed. */
export const NFT_MISSING = 'the program nft is not installed';

/** How to fix an error of nft. */
export function fixOfNft(failure: string): string {
  return failure === NFT_MISSING
    ? 'apt-get install nftables'
    : 'run as root or with CAP_NET_ADMIN; where the kernel lacks it: modprobe nf_tables nft_masq';
}

/** Runs nft with a script on its standard input. */
export async function runNft(args: readonly string[], script = ''): Promise<NftAnswer> {
  const child = spawn('nft', args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin' },
  });
  const ended = new Promise<string | null>((resolve) => {
    child.on('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code === 'ENOENT' ? NFT_MISSING : error.message),
    );
    child.on('close', (status) => resolve(status === 0 ? null : `nft ended with ${status}`));
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(script);
  const [failure, output, errors] = await Promise.all([
    ended,
    text(child.stdout),
    text(child.stderr),
  ]);
  if (failure === null) return { output };
  const [said = ''] = errors.trim().split('\n');
  return { error: said === '' ? failure : said };
}
