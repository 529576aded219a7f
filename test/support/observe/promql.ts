// What expressions of Prometheus' query language name: metrics, and labels by which they group. No
// parser, but enough for expressions that were written by hand; the end-to-end tests have promtool
// parse them.

/** What an expression names. */
export interface Named {
  readonly metrics: readonly string[];
  readonly labels: readonly string[];
}

const NOT_METRICS = new Set(['bool', 'and', 'or', 'unless', 'offset', 'Inf', 'NaN']);
const CLAUSE = /\b(by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g;
const MATCHERS = /\{([^}]*)\}/g;

/** Reads an expression. */
export function namedBy(expression: string): Named {
  const labels = new Set<string>();
  const withoutMatchers = expression
    .replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')
    .replaceAll(MATCHERS, (_, inner: string) => {
      for (const [, label = ''] of inner.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)) labels.add(label);
      return '';
    });
  const rest = withoutMatchers
    .replaceAll(CLAUSE, (_, _word: string, inner: string) => {
      for (const label of inner.split(',').map((one) => one.trim()))
        if (label !== '') labels.add(label);
      return '';
    })
    .replaceAll(/\[[^\]]*\]/g, '');
  const metrics = [...rest.matchAll(/(?<![\w$.])([a-zA-Z_:][\w:]*)(?!\s*\(|\w)/g)]
    .map(([, name = '']) => name)
    .filter((name) => !NOT_METRICS.has(name));
  return { metrics: [...new Set(metrics)], labels: [...labels] };
}
