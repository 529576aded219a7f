// Which certificates are valid while a provider changes its own. A document with a new certificate
// and without an old one begins a rollover: the old certificate stays valid until an answer that a
// new one signed was verified. A certificate that disappears while no new one comes is invalid at
// once. Pure.

/** Certificates that serve beside those of the document, base64 of DER. */
export interface Rollover {
  /** The document has them no more. */
  readonly former: readonly string[];
  /** New ones of the document; the first answer signed by one ends the former ones. */
  readonly awaited: readonly string[];
}

/** No certificate serves beside those of the document, and none is waited for. */
export const NO_ROLLOVER: Rollover = { former: [], awaited: [] };

/** What serves when a document with the certificates `next` follows one with `present`. */
export function rollOver(
  present: readonly string[],
  { former, awaited }: Rollover,
  next: readonly string[],
): Rollover {
  const fresh = next.filter((one) => !present.includes(one) && !former.includes(one));
  const kept = fresh.length === 0 ? former : [...former, ...present];
  const rollover = {
    former: [...new Set(kept)].filter((one) => !next.includes(one)),
    awaited: [...new Set([...awaited, ...fresh])].filter((one) => next.includes(one)),
  };
  // With nothing to wait for, former ones would serve for ever.
  const isOver = rollover.former.length === 0 || rollover.awaited.length === 0;
  return isOver ? NO_ROLLOVER : rollover;
}
