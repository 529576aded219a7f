// The doctor checks everything that a gateway needs, before or while one runs. Each finding says
// whether all is well, and if not, how to fix it. The doctor changes nothing and makes nothing: no
// folder, no key, no migration. The dashboard of a gateway that runs says the same (checkup.ts).

import { inspectHost } from '../../../dataplane/index.ts';
import { failed, type Finding, warning } from './finding.ts';
import { hostOf } from './host.ts';
import { certificate, httpPort, readinessHere } from './listening.ts';
import { mail } from './mail.ts';
import { names } from './names.ts';
import { readiness, settings } from './serving.ts';
import { storage, type Stored } from './storage.ts';

const LEVEL_WIDTH = 'warning'.length + 2;
const CHECK_WIDTH = 'router advertisements'.length + 2;

/** What the doctor needs to know. */
export interface Patient extends Stored {
  /** What reading the settings already gave to think about. */
  readonly warnings: readonly string[];
}

/** Looks at everything; `isWell` unless something failed. */
export async function diagnose(
  patient: Patient,
): Promise<{ findings: Finding[]; isWell: boolean }> {
  const { config, warnings } = patient;
  const answer = await readinessHere(config);
  const isRunning = answer !== null;
  const stored = await storage(patient, answer?.status ?? null);
  const host = {
    ...hostOf(config, stored.isOfEarlier),
    isRunning,
    runningTun: answer?.tun ?? null,
    runsBySockets: answer?.egress === 'sockets' ? (answer.egress_reason ?? '') : null,
  };
  const findings = [
    ...warnings.map((message) => warning('settings', message, null)),
    ...settings(config),
    ...(answer === null ? [] : readiness(answer, config)),
    ...(await inspectHost(host)),
    await httpPort(config, isRunning),
    ...certificate(config),
    ...(await names(config)),
    ...(await mail(config)),
    ...stored.findings,
  ];
  return { findings, isWell: findings.every(({ level }) => level !== 'failed') };
}

/** What is found when the settings have errors: where the rest is, nobody can tell then. */
export function checkSettings(errors: readonly string[], warnings: readonly string[]): Finding[] {
  const fix = 'set it right; docs/reference/settings.md lists all settings';
  return [
    ...errors.map((error) => failed('settings', error, fix)),
    ...warnings.map((message) => warning('settings', message, null)),
  ];
}

/** What the doctor says: text for people, data for programs. */
export interface Report {
  readonly text: string;
  readonly data: { readonly well: boolean; readonly findings: readonly Finding[] };
}

/** What a person is shown, a line for each finding, and below it the fix. */
export function report(findings: readonly Finding[], isWell: boolean): Report {
  const lines = findings.flatMap(({ level, check, message, fix }) => [
    `${level.padEnd(LEVEL_WIDTH)}${check.padEnd(CHECK_WIDTH)}${message}`,
    ...(fix === null ? [] : [`${' '.repeat(LEVEL_WIDTH)}fix: ${fix}`]),
  ]);
  return { text: lines.join('\n'), data: { well: isWell, findings } };
}
