// What others may know of the work of a reconciler.

/** What a reconciler has done since it began. */
export interface ReconcilerWork {
  readonly appliedRevision: number;
  /** Turns that ended well, and the others. */
  readonly turns: number;
  readonly failures: number;
  /** Total time of the turns that ended well, in ms. */
  readonly turnsMs: number;
  /** Unix time in ms; null before the first. */
  readonly lastTurnMs: number | null;
  readonly isFailing: boolean;
  readonly usersOverQuota: number;
  /** Whether no packet passes, because the database cannot be read for too long. */
  readonly isClosed: boolean;
  /** Whether a later version migrated the database, so that only ends are obeyed. */
  readonly isSchemaNewer: boolean;
  /** When the database was backed up last, Unix time in ms; null: not known, or never. */
  readonly lastBackupMs: number | null;
}
