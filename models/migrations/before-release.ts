// Steps that no release has. Versions before 1.0.0 made the schema of 1.0.0 by fifteen steps. A
// database or a backup that names all of them has that schema already and is used as it is.
// Versions between 1.0.0 and 1.1.0 had eighteen steps, which 0020 completes.

/** The first step of all releases. */
export const FIRST = '0001-schema-of-1.0.0';

/** The names of the steps, in the order in which they ran. */
export const UNRELEASED: readonly string[] = [
  '0001-first-tables',
  '0002-audit-entries',
  '0003-sessions',
  '0004-identities',
  '0005-client-files',
  '0006-device-switches',
  '0007-bootstrap-claims',
  '0008-arrivals',
  '0009-provider-sessions',
  '0010-sign-in-sources',
  '0011-relinking',
  '0012-default-action',
  '0013-saml-tests',
  '0014-fetched-metadata',
  '0015-gateway-settings',
];

/** The second step of all releases. */
export const SECOND = '0020-schema-of-1.1.0';

/** The steps of versions between 1.0.0 and 1.1.0; whatever of them ran, the next one has to. */
export const FOLDED: ReadonlySet<string> = new Set([
  '0002-history',
  '0003-policy-tests',
  '0004-rule-fields',
  '0005-token-scopes',
  '0006-routes',
  '0007-limits',
  '0008-groups',
  '0009-enrolment',
  '0010-quotas',
  '0011-provider-groups',
  '0012-staged-rules',
  '0013-own-address',
  '0014-look-alikes',
  '0015-gateway-schema',
  '0016-forgetting',
  '0017-audit-indexes',
  '0018-loose-history',
  '0019-audit-pairs',
]);

/** Thrown when a version before 1.0.0 made the schema, and an earlier one than its last. */
export class UnreleasedSchemaError extends Error {
  override name = 'UnreleasedSchemaError';
}

/** Names of steps that ran, with the step of 1.0.0 in the place of the fifteen. */
export function withoutUnreleased(names: readonly string[]): string[] {
  const missing = UNRELEASED.filter((name) => !names.includes(name));
  if (missing.length === UNRELEASED.length) return [...names];
  if (missing.length === 0) return [FIRST, ...names.filter((name) => !UNRELEASED.includes(name))];
  throw new UnreleasedSchemaError(
    `A version before 1.0.0 made this schema, and ${missing.join(', ')} did not run. Nothing was ` +
      'changed. Start the last version before 1.0.0 (schema 0015) once on the database, then this ' +
      'one; of a backup, restore it with that version and make another',
  );
}
