// Parameters of an address, as the judge takes them.

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
