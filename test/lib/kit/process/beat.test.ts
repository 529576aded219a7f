// One clock for all: who listens hears the same beats, and a process in which nobody listens ends.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import test from 'ava';
import { BEAT_MS, eachBeat } from '../../../../lib/kit/process/beat.ts';

const BEAT = new URL('../../../../lib/kit/process/beat.ts', import.meta.url).href;

/** Waits until `stop` was called by a beat; resolves to what the beats noted. */
async function noted(listen: (note: (what: string) => void, end: () => void) => void) {
  const notes: string[] = [];
  await new Promise<void>((resolve) => listen((what) => void notes.push(what), resolve));
  return notes;
}

test('all who listen are called in one turn of the loop, until each stops', async (t) => {
  const notes = await noted((note, end) => {
    const first = eachBeat(() => {
      note('first');
      setImmediate(() => note('turn'));
    });
    let beats = 0;
    const second = eachBeat(() => {
      note('second');
      beats += 1;
      if (beats === 1) first();
      else setImmediate(() => (second(), end()));
    });
  });
  t.deepEqual(notes, ['first', 'second', 'turn', 'second']);
});

test('who stops another before its turn is obeyed, and one may listen twice', async (t) => {
  const notes = await noted((note, end) => {
    const call = (): void => note('twice');
    const stops = [eachBeat(call), eachBeat(call)];
    const last = eachBeat(() => {
      for (const stop of stops) stop();
      never();
      last();
      end();
    });
    const never = eachBeat(() => note('never'));
  });
  t.deepEqual(notes, ['twice', 'twice']);
});

test('who begins to listen during a beat hears the next one', async (t) => {
  const notes = await noted((note, end) => {
    let beats = 0;
    const listen = (): void => {
      const stop = eachBeat(() => {
        stop();
        beats += 1;
        // Beats of one turn of the loop would be of one beat.
        setImmediate(() => note('turn'));
        note('beat');
        if (beats < 3) listen();
        else setImmediate(end);
      });
    };
    listen();
  });
  t.deepEqual(notes, ['beat', 'turn', 'beat', 'turn', 'beat', 'turn']);
});

test('a process in which nobody listens any more ends', async (t) => {
  const program = `
    const { eachBeat } = await import('${BEAT}');
    const stop = eachBeat(() => { process.stdout.write('beat'); stop(); });`;
  const began = performance.now();
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '-e',
    program,
  ]);
  t.is(stdout, 'beat');
  t.true(performance.now() - began >= BEAT_MS);
});
