// How long a gateway takes from its start until it serves, in a system of its own or in this one.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freeUdpPort } from '../network/free-port.ts';
import { PATH_TO_NODE } from './launcher.ts';

/** Starts a gateway without a TUN by a launcher, and stops it; `root` is the root that it sees. */
export async function readyMs(launcher: readonly string[], root: string): Promise<number> {
  const data = mkdtempSync(join(root === '' ? tmpdir() : join(root, 'tmp'), 'postern-ready-'));
  const [program = '', ...words] = launcher;
  const begun = performance.now();
  const child = spawn(program, [...words, 'serve'], {
    env: {
      PATH: PATH_TO_NODE,
      DATA_DIR: data.slice(root.length),
      HTTP_PORT: '0',
      EXTERNAL_URL: 'http://localhost/',
      WIREGUARD_TUN: 'off',
      WIREGUARD_PORT: String(await freeUdpPort()),
      WIREGUARD_UAPI: 'off',
      LOG_FORMAT: 'json',
    },
  });
  let output = '';
  try {
    return await new Promise<number>((done, fail) => {
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => {
          output += chunk.toString();
          if (output.includes('"msg":"Postern serves"')) done(performance.now() - begun);
        });
      child.on('exit', () => fail(new Error(output)));
      child.on('error', fail);
    });
  } finally {
    const ended = child.exitCode === null ? once(child, 'exit') : null;
    child.kill('SIGTERM');
    await ended;
    rmSync(data, { recursive: true, force: true });
  }
}

/** The middle one of some numbers. */
export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}
