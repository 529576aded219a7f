// Checks that a text is one whole statement of SQL. Connections to MySQL may send several
// statements at once, and only mysql-query.ts puts them together: even if a value were taken for
// SQL, it could not add a statement of its own, nor hide the next one by a quote or a comment that
// it leaves open.

/** A text or a name in quotes; unrolled, because some are megabytes. */
const QUOTED = /'[^'\\]*(?:(?:\\.|'')[^'\\]*)*'|"[^"\\]*(?:(?:\\.|"")[^"\\]*)*"|`[^`]*`/gs;
/** What separates statements, or may hide that something does; a dollar quotes in MySQL. */
const SUSPECT = /;|--|#|\/\*|['"`$]/;

/** The statement without what ends it; throws where the text may be more or less than one. */
export function singleStatement(sql: string): string {
  // Not by one pattern: it would try each space of a long value as the end.
  const statement = sql.trimEnd().replace(/;$/, '').trimEnd();
  if (SUSPECT.test(statement.replace(QUOTED, '')))
    throw new Error('A text may hold more than one statement of SQL, and is not sent');
  return statement;
}
