// That a text is one statement of SQL. Connections to MySQL may send several at once, and only
// mysql-query.ts puts them together: were a value ever taken for SQL, it could still not bring a
// statement of its own along.

/** A text or a name in quotes; unrolled, because some are megabytes. */
const QUOTED = /'[^'\\]*(?:(?:\\.|'')[^'\\]*)*'|"[^"\\]*(?:(?:\\.|"")[^"\\]*)*"|`[^`]*`/gs;
/** What separates statements, or may hide that something does. */
const SUSPECT = /;|--|#|\/\*|['"`]/;

/** The statement without what ends it; throws where the text may be more than one. */
export function singleStatement(sql: string): string {
  const statement = sql.replace(/;?\s*$/, '');
  if (statement.includes(';') && SUSPECT.test(statement.replace(QUOTED, '')))
    throw new Error('A text holds more than one statement of SQL, and is not sent');
  return statement;
}
