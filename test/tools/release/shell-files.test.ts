// What shells and `man` read of a release.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { completionOf } from '../../../lib/cli/completion.ts';
import { addShellFiles } from '../../../tools/release/shell-files.ts';
import { temporaryFolder } from '../../support/suite/temporary-folder.ts';

test('each file is what a command prints, and the page is of the version and of the day', (t) => {
  const folder = temporaryFolder('postern-shells-');
  addShellFiles(folder, '7.8.9', 86_400);
  const read = (name: string): string => readFileSync(join(folder, 'share', name), 'utf8');
  t.is(read('bash-completion/completions/postern'), completionOf('bash'));
  t.is(read('zsh/vendor-completions/_postern'), completionOf('zsh'));
  t.is(read('fish/vendor_completions.d/postern.fish'), completionOf('fish'));
  t.regex(read('man/man1/postern.1'), /^\.TH POSTERN 1 1970-01-02 "Postern 7\.8\.9" "Postern"\n/);
});
