// Tests of the addon, which a machine may lack.

import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import type { Addon } from '../../../dataplane/native/index.ts';
import { addon } from './native.ts';

/**
 * A test of the addon. On a machine without it the test says so and passes, but not where CI must
 * have tried everything.
 */
export function nativeTest(
  title: string,
  body: (t: ExecutionContext, native: Addon) => void | Promise<void>,
): void {
  test(title, async (t) => {
    if (addon !== null) return body(t, addon);
    t.log('the addon was not built');
    t.not(process.env['CI'], 'true');
  });
}
