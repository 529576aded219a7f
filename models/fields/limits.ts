// The limits of devices and the quotas of users, as records have them and as the configuration has
// their defaults: one reading for all. docs/api.md#limits.

/** How the API takes a limit. The greatest limit is for a device that no limit should slow down. */
export const limit = {
  kind: 'integer',
  min: 64_000,
  max: 100_000_000_000,
} as const;

/** A limit of each device; null: the owner or the configuration decides. */
export function limitField<Description extends string>(description: Description) {
  return {
    column: { kind: 'big integer', nullable: true },
    audit: 'value',
    obeyed: true,
    api: { ...limit, description },
  } as const;
}

/**
 * How the API takes a quota, in bytes. The greatest quota is for a user who should have none while
 * others have one.
 */
export const quota = {
  kind: 'integer',
  min: 1_000_000,
  max: 1_000_000_000_000_000,
} as const;

/** A quota of each user; null: the configuration decides. */
export function quotaField<Description extends string>(description: Description) {
  return {
    column: { kind: 'big integer', nullable: true },
    audit: 'value',
    obeyed: true,
    api: { ...quota, description },
  } as const;
}
