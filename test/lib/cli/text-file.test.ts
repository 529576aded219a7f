// Text that a command is given.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { textOfBytes, textOfFile } from '../../../lib/cli/text-file.ts';
import { scratchFolder } from '../../support/database/full-database.ts';

const nothing = async (): Promise<string> => '';

test('a file is read, without the mark that some editors put before its text', async (t) => {
  const file = join(scratchFolder(t), 'list.csv');
  writeFileSync(file, '\uFEFFJürgen');
  t.is(await textOfFile(file, nothing), 'Jürgen');
  t.is(await textOfFile('-', async () => 'typed'), 'typed');
});

test('a file in another encoding is refused', async (t) => {
  const file = join(scratchFolder(t), 'wg0.conf');
  for (const encoding of ['latin1', 'utf16le'] as const) {
    writeFileSync(file, Buffer.from('\u{FEFF}# Jürgen', encoding));
    await t.throwsAsync(textOfFile(file, nothing), {
      message: `${file} is not valid UTF-8; save it as UTF-8 (iconv can convert it)`,
    });
  }
  // Without its mark, UTF-16 of ASCII is valid UTF-8.
  writeFileSync(file, Buffer.from('[Interface]\n[Peer]\n', 'utf16le'));
  await t.throwsAsync(textOfFile(file, nothing), { message: /^.* is not valid UTF-8; save it/ });
  t.throws(() => textOfBytes(Buffer.from([0xff]), 'standard input'), {
    message: /^standard input is not valid UTF-8/,
  });
});

test('a file that is not there is named', async (t) => {
  const file = join(scratchFolder(t), 'nowhere');
  await t.throwsAsync(textOfFile(file, nothing), { message: /nowhere cannot be read \(ENOENT/ });
});
