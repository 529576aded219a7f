// Parameters of an address, in the form that is validated.

/** Reads a query. A plus sign means itself, as in paths, because e-mail addresses have it. */
export function parametersOf(search: string): URLSearchParams {
  return new URLSearchParams(search.replaceAll('+', '%2B'));
}

/**
 * The parameters of these names, or all of them. A parameter that is empty or sent several times
 * becomes a list, which is not valid.
 */
export function sentOnce(
  parameters: URLSearchParams,
  names: readonly string[] = [...new Set(parameters.keys())],
): Record<string, unknown> {
  const sent = names.filter((name) => parameters.has(name));
  return Object.fromEntries(
    sent.map((name) => {
      const values = parameters.getAll(name);
      return [name, values.length === 1 && values[0] !== '' ? values[0] : values];
    }),
  );
}
