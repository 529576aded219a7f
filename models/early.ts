// The door for the start of the program: what takes time, and needs nothing of what is loaded
// meanwhile.

export { startSqliteThread } from './storage/sqlite-calls.ts';
