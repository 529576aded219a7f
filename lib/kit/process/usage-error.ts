// Wrong usage of the command line that is seen only where a command is obeyed.

/** The exit code of wrong usage. */
export const EXIT_USAGE = 2;

/**
 * What was typed cannot be meant, whatever the database and the gateway hold: something is missing,
 * unknown or unreadable. Every other error is a refusal or a failure.
 */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
