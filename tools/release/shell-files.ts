// What shells and `man` read of a release: in `share/` of its folder, at the places below
// /usr/share where Debian looks.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { completionOf } from '../../lib/cli/completion.ts';
import { manualPage } from '../../lib/cli/manual.ts';

/** The manual page, which the Debian package compresses. */
export const MANUAL = 'share/man/man1/postern.1';

const COMPLETIONS = {
  bash: 'share/bash-completion/completions/postern',
  zsh: 'share/zsh/vendor-completions/_postern',
  fish: 'share/fish/vendor_completions.d/postern.fish',
} as const;

/** Writes them; `epoch` is the day that the page names, in seconds since 1970. */
export function addShellFiles(folder: string, version: string, epoch: number): void {
  const page = manualPage(version, new Date(epoch * 1_000));
  const scripts = Object.entries(COMPLETIONS).map(
    ([shell, path]) => [path, completionOf(shell)] as const,
  );
  for (const [path, text] of [[MANUAL, page] as const, ...scripts]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}
