// The limits of devices, as devices and users have them and as the configuration has their
// defaults: one reading for all. docs/api.md#limits.

/** How the API takes a limit. What a device is to have that no limit holds back: the greatest. */
export const limit = {
  kind: 'integer',
  min: 64_000,
  max: 100_000_000_000,
} as const;

/** A limit of each device, null where somebody else says it. */
export function limitField<Description extends string>(description: Description) {
  return {
    column: { kind: 'big integer', nullable: true },
    audit: 'value',
    obeyed: true,
    api: { ...limit, description },
  } as const;
}
