// The types of node-version.js.

/** A sentence for a Node that is too old; null for one that will do. */
export function oldNodeError(version?: string, sqlite?: string): string | null;
