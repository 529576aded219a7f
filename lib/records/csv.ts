// Tables as files of comma-separated values (RFC 4180), for spreadsheets. A spreadsheet takes text
// that begins like a formula for one, whoever wrote it: such text gets an apostrophe in front.

/** Characters by which spreadsheets know a formula, and those that they skip before it. */
const FORMULA = /^[\s]*[=+\-@|%\uFF1D\uFF0B\uFF0D\uFF20]|^[\t\r\n]/;

/** One line with its end. */
export function csvLine(values: readonly (string | number | null)[]): string {
  return `${values.map(csvField).join(',')}\r\n`;
}

/** One value; numbers are no text and stay as they are. */
export function csvField(value: string | number | null): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
