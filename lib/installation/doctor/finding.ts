// The form of the doctor's findings.

import type { Finding } from '../../../dataplane/index.ts';

export type { Finding };

/** All is well. */
export function ok(check: string, message: string): Finding {
  return { check, level: 'ok', message, fix: null };
}

/** Something may not work, or could not be found out. */
export function warning(check: string, message: string, fix: string | null): Finding {
  return { check, level: 'warning', message, fix };
}

/** Something does not work. */
export function failed(check: string, message: string, fix: string): Finding {
  return { check, level: 'failed', message, fix };
}
