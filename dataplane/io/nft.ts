// Runs the program nft, which configures the packet filter of the kernel. It is searched in the
// folders of system programs, not in the PATH of this process. Counters are read without it.

import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { loadAddon } from '../native/index.ts';

/** The output of nft, or what is wrong. */
export type NftAnswer = { readonly output: string } | { readonly fault: string };

/** The fault where nft is not installed. */
export const NFT_MISSING = 'the program nft is not installed';

/** How to fix a fault of nft. */
export function fixOfNft(fault: string): string {
  return fault === NFT_MISSING
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
  const [fault, output, complaint] = await Promise.all([
    ended,
    text(child.stdout),
    text(child.stderr),
  ]);
  if (fault === null) return { output };
  const [said = ''] = complaint.trim().split('\n');
  return { fault: said === '' ? fault : said };
}

/** Runs one transaction; resolves to a fault or null. */
export async function nft(script: string): Promise<string | null> {
  const answer = await runNft(['-f', '-'], script);
  return 'fault' in answer ? answer.fault : null;
}

/**
 * The name of a table for an interface; no other interface or prefix has it. Names of nft have no =
 * and +, so these are written as their code after a dot, and the dot as well. A prefix has no
 * underscore, which ends it.
 */
export function tableName(interfaceName: string, prefix = 'postern'): string {
  const name = interfaceName.replaceAll(
    /[^A-Za-z0-9_-]/g,
    (sign) => `.${sign.charCodeAt(0).toString(16)}`,
  );
  return `${prefix}_${name}`;
}

/** The packets that a counter has counted; 'gone': there is no such table; null: not known. */
export function readCounter(table: string, name: string): number | 'gone' | null {
  const { addon } = loadAddon();
  if (addon === null) return null;
  try {
    return addon.readCounter(Buffer.from(table), Buffer.from(name));
  } catch (error) {
    return (error as { code?: string }).code === 'ENOENT' ? 'gone' : null;
  }
}
