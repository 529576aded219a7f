// The recorder of commands: what differs from run to run becomes a placeholder, everything else stays
// to the letter, and a recording compares with the next run.

import test from 'ava';
import { lineDifferences } from './compare-lines.ts';
import { LineGeneraliser } from './generalise-lines.ts';
import { Bindings } from './placeholders.ts';
import type { Result } from './scene-world.ts';

const typed = { remark: [], line: 'postern token create --json', stdin: '', end: null };
const key = (byte: number): string =>
  Buffer.from(Array.from({ length: 32 }, (_, i) => (byte * i) % 251)).toString('base64');

function result(byte: number, at: Date): Result {
  const id = `0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeee${byte.toString(16).padStart(2, '0')}`;
  const token = `pst_${'x'.repeat(42)}${byte % 10}`;
  const value = { id, token, expires_at: at.toISOString(), since: '2020-01-02T03:04:05.678Z' };
  return {
    status: 0,
    stdout: `${JSON.stringify(value)}\n`,
    stderr: `${id} ends at ${at.toISOString()}, /tmp/x/${key(byte)}\n`,
    audit: [
      `command_line: api_token create ${id} {"key":"${Buffer.alloc(32, 1).toString('base64')}"}`,
    ],
  };
}

test('what is made up becomes a placeholder, and the next run compares', (t) => {
  const generaliser = new LineGeneraliser(new Bindings(), '/tmp/x');
  generaliser.types(typed, '');
  const end = generaliser.record(result(17, new Date()));
  t.deepEqual(JSON.parse(end.stdout), {
    id: '{{token-1:uuid}}',
    token: '{{bearer-1:token}}',
    expires_at: '{{token-1.expires_at:instant}}',
    since: '2020-01-02T03:04:05.678Z',
  });
  t.is(end.stderr, '{{token-1}} ends at {{:instant}}, {{folder}}/{{key-1:key}}\n');
  t.regex(end.audit[0]!, /create \{\{token-1\}\} \{"key":"(AQEB){10}AQE="\}$/);
  const bindings = new Bindings();
  bindings.bind('folder', '/tmp/x');
  t.deepEqual(lineDifferences(typed.line, end, result(34, new Date()), bindings), []);
});

test('what was typed, or is in a file that was read, is not made up', (t) => {
  const generaliser = new LineGeneraliser(new Bindings(), '/tmp/x');
  generaliser.types(typed, key(17));
  t.regex(generaliser.record(result(17, new Date())).stderr, /folder\}\}\/[A-Za-z0-9+/]{43}=/);
});
