// Parameters of an address, as the judge takes them.

/** Reads a query. A plus sign means itself, as in paths, because e-mail addresses have it. */
export function parametersOf(search: string): URLSearchParams {
  return new URLSearchParams(search.replaceAll('+', '%2B'));
}

/** A parameter that is empty or sent several times becomes a list, which the judge refuses. */
export function sentOnce(
  parameters: URLSearchParams,
  names: readonly string[],
): Record<string, unknown> {
  const sent: Record<string, unknown> = {};
  for (const name of names) {
    const values = parameters.getAll(name);
    const [value = ''] = values;
    if (values.length > 0) sent[name] = values.length === 1 && value !== '' ? value : values;
  }
  return sent;
}
