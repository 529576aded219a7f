// Prefixes and the rules that name them. Parsing a rule (prefix, bounds, ports) is expensive, so it
// is done once and kept for each time that its prefix is compiled.

import type { RuleConfig } from '../contract.ts';
import { successorOf, withHostBits } from '../wire/network.ts';
import { type NumberedRule, type Ports, rangesOf } from './ports.ts';

/** An address: as text that sorts like a number, and as words. */
export interface Bound {
  readonly hex: string;
  readonly words: readonly number[];
}

/** A prefix, with the rules for exactly this prefix. */
export interface Prefix {
  /** Sorts by first address, then by length, the shorter prefix first. */
  readonly order: string;
  readonly first: Bound;
  readonly lastHex: string;
  /** The address after the last one; null at the end of the address space. */
  readonly next: Bound | null;
  readonly rules: NumberedRule[];
  /** Its rules as compiled; null when they have changed since. */
  parts: readonly Part[] | null;
}

/** The rules of one group for exactly one prefix. */
export interface Part {
  readonly group: number;
  readonly rules: readonly NumberedRule[];
  readonly ports: Ports;
}

/** The sort key of the prefix of a rule. */
export function orderOf({ address, prefixBits }: RuleConfig): string {
  return hexOf(withHostBits(address, prefixBits, 0)) + prefixBits.toString(16).padStart(2, '0');
}

/** Makes a prefix without rules. */
export function prefixOf({ address, prefixBits }: RuleConfig, order: string): Prefix {
  const last = withHostBits(address, prefixBits, 0xff);
  const next = successorOf(last);
  return {
    order,
    first: boundOf(withHostBits(address, prefixBits, 0)),
    lastHex: hexOf(last),
    next: next === null ? null : boundOf(next),
    rules: [],
    parts: null,
  };
}

/**
 * The rules of a prefix by group, ascending, with the ports of each; computed once until its rules
 * change.
 */
export function partsOf(prefix: Prefix): readonly Part[] {
  if (prefix.parts === null) {
    const { rules } = prefix;
    const isOfOne = rules.every(({ group }) => group === rules[0]!.group);
    const byGroup = isOfOne ? [rules] : [...Map.groupBy(rules, ({ group }) => group).values()];
    prefix.parts = byGroup
      .map((ofGroup) => ({
        group: ofGroup[0]!.group,
        rules: ofGroup,
        ports: rangesOf(ofGroup),
      }))
      .sort((a, b) => a.group - b.group);
  }
  return prefix.parts;
}

function boundOf(address: Uint8Array): Bound {
  const view = new DataView(address.buffer, address.byteOffset, address.byteLength);
  const words = Array.from({ length: address.length / 4 }, (_, i) => view.getUint32(4 * i));
  return { hex: hexOf(address), words };
}

function hexOf(address: Uint8Array): string {
  return Buffer.from(address.buffer, address.byteOffset, address.length).toString('hex');
}
