// How the doctor says what it found.

import type { Finding } from '../../dataplane/index.ts';

export type { Finding };

/** All is well. */
export function ok(check: string, message: string): Finding {
  return { check, level: 'ok', message, mend: null };
}

/** Something may not work, or could not be found out. */
export function warning(check: string, message: string, mend: string | null): Finding {
  return { check, level: 'warning', message, mend };
}

/** Something does not work. */
export function failed(check: string, message: string, mend: string): Finding {
  return { check, level: 'failed', message, mend };
}
