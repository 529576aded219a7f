// The operations that read the audit trail and the gateways of the database.
// docs/api.md#audit-trail, docs/api.md#gateways.

import {
  auditActions,
  currentRevision,
  type Database,
  listGateways,
  readAuditEntries,
} from '../../../models/index.ts';
import {
  choice,
  joi,
  mark,
  moment,
  recordId,
  resource,
  text,
  timestamp,
} from '../validation/fields.ts';
import { judgeOf } from '../validation/judge.ts';
import { type AskedPage, idPageFields, idPages } from '../operations/id-pages.ts';
import { type Operation, queryOf } from '../operations/operation.ts';
import { idInTrail, showEntry } from './audit.ts';
import { kindWords, storedWords } from './audit-names.ts';
import { gatewayHere, type ServesHere, showGateway } from './gateways.ts';

/** Parameters of the list of entries. */
const auditParameters = resource({
  who: text('Only entries in the name of this e-mail, or of this actor.'),
  action: choice('Only entries with this action.', ...auditActions),
  kind: choice('Only entries about records of this kind.', ...kindWords),
  record_id: text('Only entries about this record.'),
  since: moment('Only entries from this time on.'),
  until: moment('Only entries from before this time.'),
  ...idPageFields,
});

/** What is answered of an entry. */
const auditFields = resource({
  id: recordId('Names the entry.'),
  happened_at: timestamp('When it happened.'),
  actor: shown('In whose name: `user`, or a part of Postern, such as `gateway` or `command_line`.'),
  user_id: recordId('The user; null: it was no user.').allow(null),
  email: shown('The e-mail of the user, as it was then.').allow(null),
  token_id: recordId('The API token that was used; null: none was.').allow(null),
  action: shown('What was done.'),
  kind: shown('The kind of the record, such as `device` or `api_token`.'),
  record_id: shown('The record.'),
  changes: mark(
    joi
      .object()
      .description(
        'By field: `from` and `to`; of a list the members that were `added` and `removed`; of a secret only that it `changed`.',
      ),
    { readOnly: true, json: { additionalProperties: true } },
  ),
  request_id: shown('The `x-request-id` of the request; null: it was no request.').allow(null),
  address: shown('Where the request came from; null: it was no request.').allow(null),
});

interface AskedEntries extends AskedPage {
  readonly who?: string;
  readonly action?: string;
  readonly kind?: string;
  readonly record_id?: string;
  readonly since?: Date;
  readonly until?: Date;
}

/** What is answered of a gateway. */
const gatewayFields = resource({
  id: recordId('Names the gateway; a restart keeps it.'),
  name: mark(text('The name of its host.'), { readOnly: true }),
  public_key: mark(text('The key by which devices know it; null: it wrote none.'), {
    readOnly: true,
  }).allow(null),
  schema: mark(text('The last migration that it knows; null: it is of 1.0.0, which says none.'), {
    readOnly: true,
  }).allow(null),
  started_at: timestamp('When it was started last.'),
  seen_at: timestamp('When it said last that it runs.'),
  running: mark(joi.boolean().description('Whether that is less than a minute ago.'), {
    readOnly: true,
  }),
  up_to_date: mark(joi.boolean().description('Whether packets there obey all that is written.'), {
    readOnly: true,
  }),
  settings: mark(
    joi.object().description('Its settings that are no secret; null: it wrote none.'),
    {
      readOnly: true,
      json: { additionalProperties: true },
    },
  ).allow(null),
});

const gatewayParameters = resource({ ...idPageFields });

interface HasRecords {
  readonly records: ServesHere & { readonly database: Database };
}

/** The list of the audit trail. */
export const auditOperation: Operation<HasRecords> = idPages<HasRecords, AskedEntries>({
  id: 'listAuditEntries',
  method: 'GET',
  path: '/v0/audit',
  tag: 'audit',
  scopes: ['read'],
  summary: 'List who changed what',
  description: 'The newest entry first.',
  query: queryOf(auditParameters, judgeOf<AskedEntries>(auditParameters)),
  answer: { title: 'AuditEntry', fields: auditFields, description: 'A page.' },
  async page({ records }, { query, afterId, limit }) {
    const { record_id: recordId, who, action, kind, since, until } = query;
    const found = await readAuditEntries(records.database, {
      ...storedWords({ who, kind }),
      ...(action == null ? {} : { action }),
      ...(recordId == null ? {} : { recordId: idInTrail(recordId) }),
      ...(since == null ? {} : { since }),
      ...(until == null ? {} : { until }),
      ...(afterId === null ? {} : { beforeId: afterId }),
      limit,
    });
    return found.toReversed().map(showEntry);
  },
});

/** The list of gateways. */
export const gatewayOperation: Operation<HasRecords> = idPages<HasRecords>({
  id: 'listGateways',
  method: 'GET',
  path: '/v0/gateways',
  tag: 'gateways',
  scopes: ['read'],
  summary: 'List the gateways of the database',
  description: 'In the order of their ids. One that has not run for 30 days is forgotten.',
  query: queryOf(gatewayParameters, judgeOf<AskedPage>(gatewayParameters)),
  answer: { title: 'Gateway', fields: gatewayFields, description: 'A page.' },
  async page({ records }, { afterId, limit }) {
    const revision = await currentRevision(records.database);
    const found = await listGateways(records.database, { afterId, limit });
    const seen = { revision, nowMs: Date.now(), here: gatewayHere(records) };
    return found.map((row) => showGateway(row, seen));
  },
});

function shown(description: string) {
  return mark(text(description), { readOnly: true });
}
