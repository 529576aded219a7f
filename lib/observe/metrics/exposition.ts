// The text format in which Prometheus reads metrics (version 0.0.4): families, each with its help
// and type, then its samples. It knows no metric.

/** Content type of the format. */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** The type of a family's samples. */
export type MetricType = 'counter' | 'gauge' | 'histogram' | 'summary';

/** Labels by name; names are words of ours, values may be anything. */
export type Labels = Readonly<Record<string, string>>;

/** The lines that open a family; all its samples follow. */
export function family(name: string, type: MetricType, help: string): string {
  return `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`;
}

/** Labels as they stand behind a name; made once where several samples share them. */
export function labelText(labels: Labels): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return parts.length === 0 ? '' : `{${parts.join(',')}}`;
}

/** One sample; `labels` is a text that `labelText` made. */
export function sample(name: string, labels: string, value: number): string {
  return `${name}${labels} ${numberText(value)}\n`;
}

/** A family of one sample without labels. */
export function single(name: string, type: MetricType, help: string, value: number): string {
  return family(name, type, help) + sample(name, '', value);
}

/** A family with a sample for each value of one label. */
export function* byLabel(
  [name, type, help]: readonly [name: string, type: MetricType, help: string],
  label: string,
  values: Iterable<readonly [string, number]>,
): Generator<string> {
  yield family(name, type, help);
  for (const [value, count] of values) yield sample(name, labelText({ [label]: value }), count);
}

/** A number as the format writes it. */
export function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}

/** The value of a label as it is written between its quotes. */
export function escapeLabel(value: string): string {
  if (!/[\\"\n]/.test(value)) return value;
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
