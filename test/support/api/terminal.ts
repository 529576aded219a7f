// What a command prints at a terminal of a width.

import type { ExecutionContext } from 'ava';
import stringWidth from 'string-width';
import type { Outcome } from '../../../lib/cli/run.ts';

/** The lines that a terminal shows; each fits it. */
export function linesAt(
  t: ExecutionContext,
  outcome: Outcome | null,
  width: number,
  nowMs = Date.now(),
): string[] {
  const screen = { width, isColoured: false, widthOf: stringWidth, nowMs };
  const lines = (outcome?.onScreen?.(screen) ?? '').split('\n');
  for (const line of lines) t.true(stringWidth(line) <= width, `${stringWidth(line)}: ${line}`);
  return lines;
}
