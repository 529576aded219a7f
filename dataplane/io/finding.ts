// What a check of the host finds.

/** The result of one check. */
export interface Finding {
  readonly check: string;
  /** failed: something will not work. warning: something may not work, or could not be checked. */
  readonly level: 'ok' | 'warning' | 'failed';
  readonly message: string;
  /** How to fix it; null where nothing is to do. */
  readonly fix: string | null;
}

/** A finding where nothing is to do. */
export function good(check: string, message: string): Finding {
  return { check, level: 'ok', message, fix: null };
}
