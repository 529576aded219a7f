// Configurations for tests, whole ones at a time, where a gateway lives by amendments.

import type { GatewayConfig, RuleConfig } from '../../dataplane/contract.ts';
import { type Change, Standing } from '../../dataplane/diff.ts';
import { type CompiledScope, ScopeRules } from '../../dataplane/filter/compile.ts';

/** A configuration without peers and rules: what a worker that has just begun obeys. */
export const EMPTY_CONFIG: GatewayConfig = Object.freeze({ peers: new Map(), rules: new Map() });

/** Computes the steps from `current` to `desired`. */
export function diff(current: GatewayConfig, desired: GatewayConfig): Change {
  const standing = new Standing();
  standing.replace(current);
  return standing.replace(desired);
}

/** Compiles the rules of one scope. */
export function compileScope(rules: readonly RuleConfig[]): CompiledScope {
  const scope = new ScopeRules();
  for (const [id, ofId] of Map.groupBy(rules, (rule) => rule.id)) scope.set(id, ofId);
  return scope.compile();
}
