// What this program is made of, for --version. npm run openapi and npm run schema write
// this file; test/lib/start/fingerprint.test.ts proves that it is up to date.

/** The last migration. */
export const SCHEMA = '0027-device-switched-by';
/** A hash of the schema and of the operations of the API. */
export const BUILD = '113488256601';
