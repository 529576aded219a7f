// `--dry-run` of commands that make, change or remove something: the gateway that runs is asked
// what the command would do.

import type { DryRunAnswer } from '../observe/dry-run/fields.ts';
import { othersInWords } from '../observe/dry-run/other-gateways-in-words.ts';
import { places } from '../kit/operations/places.ts';
import type { LocalGateway } from './ask-gateway.ts';
import { flowTable, namesIn, refusalTable } from './flow-commands.ts';
import { forPrograms } from './for-programs.ts';
import type { Row } from './row.ts';
import type { Command, Outcome } from './run.ts';
import { below, type Listed } from './screen.ts';

/** Says what a command would do: the gateway tries the operation that the command performs. */
export async function dryRun(gateway: LocalGateway, row: Row, command: Command): Promise<Outcome> {
  const { params: named = {}, body } = await row.sends(command, gateway.finds);
  const params = typeof named === 'function' ? await named() : named;
  const { method, path: template } = places[row.operation];
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  );
  const query = command.options.force ? '?force=true' : '';
  const asked = { dry_run: { method, path, ...(body === undefined ? {} : { body }) } };
  const answer = await gateway.ask('POST', `/v0/dry_run${query}`, asked, row.hints);
  const { data } = answer as { data: DryRunAnswer };
  const record = data.record === null ? null : forPrograms(data.record);
  return { ...(await dryRunShown(gateway, data)), data: { ...data, record } };
}

async function dryRunShown(gateway: LocalGateway, answer: DryRunAnswer): Promise<Listed> {
  const { ended_flows: flows, passed_refusals: refusals, shadowed_rules: rules } = answer;
  const names = await namesIn(gateway, [...flows, ...refusals]);
  const tests = answer.failing_policy_tests;
  const people = counted(answer.ended_flow_user_count, 'person', 'people');
  const ended = counted(answer.ended_flow_count, 'flow', 'flows');
  const others = othersInWords(answer.other_gateways);
  const here = others === null ? '' : ' at this gateway';
  return below(
    ...(flows.length === 0
      ? [`It would end no flow${here}.`]
      : [`It would end ${ended} of ${people}${here}:`, flowTable(flows, names)]),
    ...(others === null ? [] : ['', others]),
    ...(refusals.length === 0
      ? []
      : [
          '',
          `Refused lately, and it would pass (${answer.passed_refusal_count}):`,
          refusalTable(refusals, names),
        ]),
    ...(rules.length === 0
      ? []
      : [
          '',
          `Rules that would never decide any more (${answer.shadowed_rule_count}): ${rules.map(({ id }) => String(id)).join(', ')}`,
        ]),
    ...(tests.length === 0
      ? []
      : ['', `Policy tests that would fail: ${tests.map(({ name }) => name).join(', ')}`]),
    '',
    'Nothing is changed.',
  );
}

function counted(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? one : several}`;
}
