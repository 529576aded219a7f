// The texts that scripts say, by their keys: the gateway puts here what its table has
// (kit/assets.ts).

const TEXTS = {};

/** A text with its values in their places. */
export function phrase(key, values = {}) {
  return TEXTS[key].replaceAll(/\{(\w+)\}/g, (place, name) => values[name] ?? place);
}
