// The operations that read the audit trail and the gateways of the database.
// docs/api.md#audit-trail, docs/api.md#gateways.

import {
  auditActions,
  currentRevision,
  type Database,
  listGateways,
  readAuditEntries,
} from '../../../models/index.ts';
import { schemaOfAnswer } from '../validation/answers.ts';
import { choice, moment, resource, text } from '../validation/fields.ts';
import { validatorOf } from '../validation/validate.ts';
import { type AskedPage, idPageFields, idPages } from '../operations/id-pages.ts';
import { type Operation, queryOf } from '../operations/operation.ts';
import { idInTrail, showEntry } from './audit.ts';
import { kindWords, storedWords } from './audit-names.ts';
import { auditFields, gatewayFields } from './fields.ts';
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

interface AskedEntries extends AskedPage {
  readonly who?: string;
  readonly action?: string;
  readonly kind?: string;
  readonly record_id?: string;
  readonly since?: Date;
  readonly until?: Date;
}

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
  query: queryOf(auditParameters, validatorOf<AskedEntries>(auditParameters)),
  answer: { title: 'AuditEntry', fields: schemaOfAnswer(auditFields), description: 'A page.' },
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
  query: queryOf(gatewayParameters, validatorOf<AskedPage>(gatewayParameters)),
  answer: { title: 'Gateway', fields: schemaOfAnswer(gatewayFields), description: 'A page.' },
  async page({ records }, { afterId, limit }) {
    const revision = await currentRevision(records.database);
    const found = await listGateways(records.database, { afterId, limit });
    const seen = { revision, nowMs: Date.now(), here: gatewayHere(records) };
    return found.map((row) => showGateway(row, seen));
  },
});
