// `GET /v0/audit`: who changed what, when, and from where. It is our own addition to the API.
// docs/api.md#audit-trail.

import type { ServerRoute } from '@hapi/hapi';
import { auditActions, readAuditEntries } from '../../../models/index.ts';
import {
  choice,
  joi,
  mark,
  moment,
  recordId,
  resource,
  text,
  timestamp,
} from '../../judge/fields.ts';
import { judgeOf } from '../../judge/judge.ts';
import { idInTrail, showEntry } from '../../records/audit.ts';
import { kindWords, storedWords } from '../../records/audit-names.ts';
import { type AskedPage, idPageFields } from '../../operations/id-pages.ts';
import { answerIdPage, readIdPage } from '../id-pages.ts';
import { type ApiContext, route } from '../routes.ts';

const PATH = '/v0/audit';

/** Parameters of the list of entries. */
export const auditParameters = resource({
  who: text('Only entries in the name of this e-mail, or of this actor.'),
  action: choice('Only entries with this action.', ...auditActions),
  kind: choice('Only entries about records of this kind.', ...kindWords),
  record_id: text('Only entries about this record.'),
  since: moment('Only entries from this time on.'),
  until: moment('Only entries from before this time.'),
  ...idPageFields,
});

/** What is answered of an entry. */
export const auditFields = resource({
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

interface Asked extends AskedPage {
  readonly who?: string;
  readonly action?: string;
  readonly kind?: string;
  readonly record_id?: string;
  readonly since?: Date;
  readonly until?: Date;
}

const judgeAsked = judgeOf<Asked>(auditParameters);

/** The route. */
export function auditRoutes({ services }: ApiContext): ServerRoute[] {
  return [
    route('GET', PATH, {}, async ({ url }, h) => {
      const { values, limit, sent } = readIdPage(url.search, judgeAsked);
      const { cursor, record_id: recordId, who, action, kind, since, until } = values;
      const found = await readAuditEntries(services.database, {
        ...storedWords({ who, kind }),
        ...(action == null ? {} : { action }),
        ...(recordId == null ? {} : { recordId: idInTrail(recordId) }),
        ...(since == null ? {} : { since }),
        ...(until == null ? {} : { until }),
        ...(cursor == null ? {} : { beforeId: cursor }),
        limit: limit + 1,
      });
      const page = { path: PATH, sent, limit };
      return answerIdPage(h, services, page, { found: found.toReversed(), show: showEntry });
    }),
  ];
}

function shown(description: string) {
  return mark(text(description), { readOnly: true });
}
