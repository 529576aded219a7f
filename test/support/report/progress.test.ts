// The progress of a run: a line a file, or one line that changes on a terminal.

import test from 'ava';
import { Progress, type Screen } from './progress.ts';

const FILE = { file: 'test/lib/auth/tokens.test.ts', wall: 3.25, cpu: 2 };

function screenOf(isTTY: boolean): { screen: Screen; written: string[] } {
  const written: string[] = [];
  return { screen: { isTTY, columns: 60, write: (text) => written.push(text) }, written };
}

test('without a terminal each file that ended and each failure has a line', (t) => {
  const { screen, written } = screenOf(false);
  const progress = new Progress(screen, 120);
  progress.pass();
  progress.fail('lib › auth › tokens › a token ends');
  progress.endFile(FILE);
  progress.show(65);
  progress.clear();
  t.deepEqual(written, [
    'failed: lib › auth › tokens › a token ends\n',
    '  1/120 test/lib/auth/tokens.test.ts 3.3 s, 1 tests passed so far\n',
  ]);
});

test('on a terminal one line changes, is no longer than the terminal, and goes for a failure', (t) => {
  const { screen, written } = screenOf(true);
  const progress = new Progress(screen, 120);
  progress.pass();
  progress.endFile(FILE);
  progress.show(65);
  progress.fail('a title');
  progress.clear();
  t.is(
    written[0],
    '\r\x1b[K1:05   1/120 files, 1 passed, 0 failed test/lib/auth/tokens'.slice(0, 63),
  );
  t.deepEqual(written.slice(1), ['\r\x1b[K', 'failed: a title\n', '\r\x1b[K']);
});
