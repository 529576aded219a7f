// The fields of a rule, as they are typed as options.

import { UsageError } from '../kit/process/usage-error.ts';
import type { Hints } from './error-words.ts';
import type { Options } from './run.ts';

/** What a command takes for the fields that are typed as options. */
export const RULE_HINTS: Hints = {
  action: '--action accept|drop',
  destination: '--destination 10.0.0.5 or 10.0.0.0/8; names of hosts are not possible',
  port_type: '--port-type tcp|udp, or leave --port-range away',
  port_range: '--port-range 443 or 8000-8080',
  protocol: '--protocol icmp, without --port-type and --port-range',
  description: '--description TEXT, at most 255 characters',
};

/** Whose a rule is; null where it is of no user, or of no group. */
export interface RuleOwner {
  readonly user_id: string | null;
  readonly group_id: string | null;
}

/** The fields of a rule that change; those that were not typed are left out. */
export function changedFields(options: Options): object {
  const { description, staged, enforced, startsAt, endsAt } = options;
  return {
    ...(description === undefined ? {} : { description }),
    ...(staged || enforced ? { enforced } : {}),
    ...(startsAt === undefined ? {} : { starts_at: startsAt?.toISOString() ?? null }),
    ...(endsAt === undefined ? {} : { ends_at: endsAt?.toISOString() ?? null }),
  };
}

/** What a command changes; that must be something. */
export function typedChanges(options: Options): object {
  const fields = changedFields(options);
  if (Object.keys(fields).length === 0)
    throw new UsageError('nothing to change was given; for example: --ends-at 2026-12-31');
  return fields;
}

/** The fields of a new rule. */
export function ruleFields(options: Options, owner: RuleOwner): object {
  const { destination, action, protocol, portType, portRange } = options;
  const { disabled } = options;
  return {
    destination,
    ...(action === undefined ? {} : { action }),
    ...(portType === undefined ? {} : { port_type: portType }),
    ...(portRange === undefined ? {} : { port_range: portRange }),
    ...(protocol === undefined ? {} : { protocol }),
    ...changedFields(options),
    ...(disabled ? { enabled: false } : {}),
    ...owner,
  };
}
