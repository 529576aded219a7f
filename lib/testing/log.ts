// A log that keeps its lines, for tests to look at.

import type { Log } from '../kit/process/log.ts';

/** A line of the log. */
export interface LogLine {
  level: string;
  fields: object;
  message: string;
}

/** A log that keeps its lines in a list. */
export function logInto(lines: LogLine[]): Log {
  const at =
    (level: string) =>
    (fields: object, message: string): void =>
      void lines.push({ level, fields, message });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
