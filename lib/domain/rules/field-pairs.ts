// Fields of a rule that are validated together: its times, and its protocol with its ports.
// docs/api.md#rules.

import type { Rule, ruleFields, SentOf } from '../../../models/index.ts';
import { addError, type Errors, hasCode } from '../../kit/validation/validate.ts';
import { messages } from '../../kit/validation/messages.ts';

/** A rule ends after it starts; if one of both cannot be read, they are not compared. */
export function validateTimes(
  { starts_at, ends_at }: Pick<Rule, 'starts_at' | 'ends_at'>,
  errors: Errors,
): void {
  if (errors['starts_at'] !== undefined || errors['ends_at'] !== undefined) return;
  if (starts_at !== null && ends_at !== null && ends_at <= starts_at)
    addError(errors, 'ends_at', messages.endsBeforeStart);
}

/** Protocol and ports are validated together; if one cannot be read, the other is not validated. */
export function validatePorts(
  values: SentOf<typeof ruleFields>,
  present: Rule | null,
  errors: Errors,
): void {
  if (errors['port_type'] !== undefined) return;
  const range = errors['port_range'];
  if (hasCode(range, 'badFormat') || hasCode(range, 'invalid')) return;
  const type = values.port_type === undefined ? present?.port_type : values.port_type;
  const ports = values.port_range === undefined ? present?.port_start : values.port_range;
  const hasType = type !== undefined && type !== null;
  const hasPorts = ports !== undefined && ports !== null;
  const protocol = values.protocol === undefined ? present?.protocol : values.protocol;
  if (protocol !== undefined && protocol !== null && (hasType || hasPorts))
    addError(errors, 'protocol', messages.besidePorts);
  if (hasType && !hasPorts) addError(errors, 'port_range', messages.blank);
  if (hasPorts && !hasType) addError(errors, 'port_type', messages.blank);
}
