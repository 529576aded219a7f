// The image of a release is for those who run it what the Dockerfile makes. That it runs is tried
// in test/ops/container.test.ts (IMAGE_ARCHIVE).

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'ava';
import { SETTINGS } from '../../../tools/release/image.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const [, last = ''] = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
  .replaceAll(/\\\n\s*/g, '')
  .split('FROM scratch\n');

/** What a word of the Dockerfile says at its end. */
function said(word: string): string {
  return new RegExp(`^${word} (.*)$`, 'm').exec(last)?.[1] ?? '';
}

test('settings, ports, volume and commands are those of the Dockerfile', (t) => {
  t.deepEqual(said('ENV').split(' '), [...SETTINGS.Env]);
  t.is(said('WORKDIR'), SETTINGS.WorkingDir);
  t.deepEqual(JSON.parse(said('ENTRYPOINT')), SETTINGS.Entrypoint);
  t.deepEqual(JSON.parse(said('CMD')), SETTINGS.Cmd);
  t.deepEqual(said('EXPOSE').split(' '), Object.keys(SETTINGS.ExposedPorts));
  t.deepEqual(said('VOLUME').split(' '), Object.keys(SETTINGS.Volumes));
});

test('the health check is that of the Dockerfile', (t) => {
  const [options = '', command = ''] = said('HEALTHCHECK').split(' CMD ');
  const { Test, Interval, Timeout, StartPeriod, Retries } = SETTINGS.Healthcheck;
  t.deepEqual(['CMD', ...(JSON.parse(command) as string[])], [...Test]);
  const [interval, timeout, start] = [Interval, Timeout, StartPeriod].map((ns) => `${ns / 1e9}s`);
  const times = `--interval=${interval} --timeout=${timeout} --start-period=${start}`;
  t.is(options, `${times} --retries=${Retries}`);
});
