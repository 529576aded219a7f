// Errors of SQLite by the names of their codes, as Sequelize and this room know them.
// node:sqlite gives numbers; those above 255 are details of one of the codes below.

/** What node:sqlite throws; `errcode` is missing where it was not SQLite that refused. */
export interface Refusal {
  readonly code: string;
  readonly errcode?: number;
  readonly message: string;
}

/** The codes of SQLite by their numbers. */
const CODES = (
  'OK ERROR INTERNAL PERM ABORT BUSY LOCKED NOMEM READONLY INTERRUPT IOERR CORRUPT NOTFOUND FULL ' +
  'CANTOPEN PROTOCOL EMPTY SCHEMA TOOBIG CONSTRAINT MISMATCH MISUSE NOLFS AUTH FORMAT RANGE NOTADB'
).split(' ');
const DETAIL_BITS = 8;

/** An error of SQLite: `code` is such as SQLITE_BUSY. */
export class SqliteError extends Error {
  override name = 'SqliteError';
  readonly code: string;
  readonly errno: number;

  constructor(errcode: number, message: string) {
    const errno = errcode & (2 ** DETAIL_BITS - 1);
    const code = `SQLITE_${CODES[errno] ?? 'ERROR'}`;
    super(`${code}: ${message}`);
    this.code = code;
    this.errno = errno;
  }
}

/** The error of what node:sqlite threw, here or in the thread. */
export function sqliteError({ code, errcode, message }: Refusal): Error {
  return errcode === undefined
    ? Object.assign(new Error(message), { code })
    : new SqliteError(errcode, message);
}
