// The operation that tries a write: its answer says what the result of the write would be, and what
// the write would end. It is an operation of its own, because an older gateway would ignore a
// parameter and really write. docs/api.md#what-a-write-would-do.

import { schemaOfAnswer } from '../../kit/validation/answers.ts';
import { type Operation, read } from '../../kit/operations/operation.ts';
import { insistence } from '../../domain/policy/guard.ts';
import { askedFields, type AskedValues, validateAsked } from './asked.ts';
import type { TriesOperations } from './dry-runs.ts';
import { dryRunFields } from './fields.ts';

interface HasDryRuns {
  readonly dryRuns: TriesOperations;
}

/** The operation that tries others. */
export const dryRunOperation: Operation<HasDryRuns> = read<
  HasDryRuns,
  AskedValues,
  URLSearchParams
>({
  id: 'dryRun',
  method: 'POST',
  path: '/v0/dry_run',
  tag: 'rules',
  scopes: ['read'],
  summary: 'Say what a write would do',
  description:
    'The write is judged as it would be, and nothing is written. The gateway that is asked answers for its own flows.',
  query: { schemas: insistence.schemas, read: (sent) => sent },
  body: {
    wrapper: 'dry_run',
    title: 'Operation',
    fields: askedFields,
    validate: validateAsked,
    mode: 'create',
  },
  answer: {
    title: 'DryRun',
    fields: schemaOfAnswer(dryRunFields),
    description: 'What it would do.',
  },
  errors: [404],
  run: ({ dryRuns }, caller, { body, query }) => dryRuns.try(caller, body, query),
});
