// Tables as files of comma-separated values (RFC 4180), for spreadsheets. A spreadsheet takes text
// that begins like a formula for one, whoever wrote it: such text gets an apostrophe in front.
// Lists that people bring are read too, also with semicolons or tabs between the values.

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
  const safe = isFormula(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** True for a text that a spreadsheet would take for a formula. */
export function isFormula(value: string): boolean {
  return FORMULA.test(value);
}

/** What one line of a file says; a value in quotes may go on in the lines that follow. */
export interface CsvRecord {
  /** Where it begins, counted from 1. */
  readonly line: number;
  /** Null where a quote is not closed, so that nobody knows what the values are. */
  readonly values: readonly string[] | null;
}

/** One value and what ends it; one that begins with a quote ends with another. */
const VALUE = /(?: *"([^"]*(?:""[^"]*)*)" *|(?! *")([^,;\t\r\n]*))([,;\t]|\r\n?|\n|$)/y;
const LINE = /[^\r\n]*(\r\n?|\n|$)/y;

/** Reads a file. After a quote that is not closed it goes on with the next line. */
export function* readCsv(text: string): Generator<CsvRecord> {
  let line = 1;
  for (let start = 0; start < text.length;) {
    const { values, end } = recordAt(text, start);
    yield { line, values };
    line += text.slice(start, end).split(/\r\n?|\n/).length - 1;
    start = end;
  }
}

function recordAt(text: string, start: number): { values: string[] | null; end: number } {
  const values: string[] = [];
  for (let at = start; ;) {
    const found = matchAt(VALUE, text, at);
    if (found === null)
      return { values: null, end: start + (matchAt(LINE, text, start)?.[0].length ?? 0) };
    const [whole, quoted, plain = '', end = ''] = found;
    values.push(quoted?.replaceAll('""', '"') ?? plain);
    at += whole.length;
    if (!/[,;\t]/.test(end)) return { values, end: at };
  }
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
