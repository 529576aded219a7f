// The Grafana dashboard as tests read it: panels and the expressions that they ask.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { namedBy } from './promql.ts';
import type { ReadFamily } from './exposition.ts';

/** One query of a panel. */
export interface Target {
  readonly refId: string;
  readonly expr: string;
  readonly legendFormat: string;
  readonly datasource: { readonly type: string; readonly uid: string };
}

/** A panel of the dashboard. */
export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly targets?: readonly Target[];
}

/** The dashboard's file. */
export interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query: unknown }[];
  };
}

/** Reads the file of the repository. */
export function readDashboard(): Dashboard {
  const path = join(import.meta.dirname, '../../../lib/observe/grafana.json');
  return JSON.parse(readFileSync(path, 'utf8')) as Dashboard;
}

/** Every expression of a dashboard. */
export function expressionsOf({ panels }: Dashboard): string[] {
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}

/** Labels that Prometheus itself puts on. */
const SCRAPED = new Set(['instance', 'job']);

/**
 * What of an expression is not among metrics that were scraped: names without a family (or, where
 * samples are asked for, without any), and labels that none of its samples has.
 */
export function missingFrom(
  families: ReadonlyMap<string, ReadFamily>,
  expression: string,
  { withSamples }: { withSamples: boolean },
): string[] {
  const { metrics, labels } = namedBy(expression);
  const found = metrics.map((name) => [name, familyOf(families, name)] as const);
  const samples = found.flatMap(([, family]) => family?.samples ?? []);
  const absent = found
    .filter(([, family]) => family === undefined || (withSamples && family.samples.length === 0))
    .map(([name]) => name);
  const unknown =
    samples.length === 0
      ? []
      : labels.filter(
          (label) => !SCRAPED.has(label) && !samples.some((one) => label in one.labels),
        );
  return [...absent, ...unknown];
}

/** The family that a name of a sample belongs to. */
function familyOf(families: ReadonlyMap<string, ReadFamily>, name: string): ReadFamily | undefined {
  const whole = families.get(name);
  if (whole !== undefined) return whole.type === 'histogram' ? undefined : whole;
  return families.get(name.replace(/_(bucket|sum|count)$/, ''));
}
