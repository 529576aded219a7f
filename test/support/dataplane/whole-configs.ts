// Whole configurations for tests: a gateway is only given the changes between two of them.

import type { GatewayConfig, RuleConfig } from '../../../dataplane/contract.ts';
import { type Change, ConfigInForce } from '../../../dataplane/diff.ts';
import type { CompiledScope } from '../../../dataplane/filter/compile.ts';
import type { Filter } from '../../../dataplane/filter/filter.ts';
import { ScopeRules } from '../../../dataplane/filter/scope-rules.ts';

/** A configuration without peers and rules: what a worker that has just begun obeys. */
export const EMPTY_CONFIG: GatewayConfig = Object.freeze({ peers: new Map(), rules: new Map() });

/** Computes the steps from `current` to `desired`. */
export function diff(current: GatewayConfig, desired: GatewayConfig): Change {
  const standing = new ConfigInForce();
  standing.replace(current);
  return standing.replace(desired);
}

/** Compiles the rules of one scope, all at once. */
export function compileScope(rules: readonly RuleConfig[]): CompiledScope {
  const scope = new ScopeRules();
  for (const [id, ofId] of Map.groupBy(rules, (rule) => rule.id)) scope.set(id, ofId);
  return scope.compileAll();
}

/** Bytes of the tables of a compiled scope. */
export function bytesOf({ ipv4, ipv6 }: CompiledScope): number {
  const pieces = [ipv4, ipv6].flatMap((family) => family?.pieces ?? []);
  const bytes = pieces.map((piece) =>
    typeof piece === 'number' ? 0 : piece.starts.buffer.byteLength,
  );
  return bytes.reduce((sum, one) => sum + one, 0);
}

/** Says which rules a filter has, scope by scope, from none on; only what changes is compiled. */
export function rulesFor(
  filter: Filter,
  pieceMax?: number,
): (scope: string, rules: readonly RuleConfig[]) => void {
  const standing = new ConfigInForce(pieceMax);
  const wanted = new Map<string, readonly RuleConfig[]>();
  return (scope, rules) => {
    wanted.set(scope, rules);
    for (const { name, compiled } of standing.replace({ peers: new Map(), rules: wanted }).scopes)
      filter.change(name, compiled);
  };
}
