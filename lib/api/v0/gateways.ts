// `GET /v0/gateways`: the gateways that serve the database, or did. It is our own addition to the
// API. docs/api.md#gateways.

import type { ServerRoute } from '@hapi/hapi';
import { currentRevision, type Gateway, listGateways } from '../../../models/index.ts';
import { joi, mark, recordId, resource, text, timestamp } from '../../judge/fields.ts';
import { judgeOf } from '../../judge/judge.ts';
import { gatewayHere, showGateway } from '../../records/gateways.ts';
import { type AskedPage, idPageFields } from '../../operations/id-pages.ts';
import { answerIdPage, readIdPage } from '../id-pages.ts';
import { type ApiContext, route } from '../routes.ts';

const PATH = '/v0/gateways';

/** Parameters of the list. */
export const gatewayParameters = resource({ ...idPageFields });

/** What is answered of a gateway. */
export const gatewayFields = resource({
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

const judgeAsked = judgeOf<AskedPage>(gatewayParameters);

/** The route. */
export function gatewayRoutes({ services }: ApiContext): ServerRoute[] {
  return [
    route('GET', PATH, {}, async ({ url }, h) => {
      const { database } = services;
      const { values, limit, sent } = readIdPage(url.search, judgeAsked);
      const revision = await currentRevision(database);
      const found = await listGateways(database, {
        afterId: values.cursor ?? null,
        limit: limit + 1,
      });
      const seen = { revision, nowMs: Date.now(), here: gatewayHere(services) };
      const show = (row: Gateway) => showGateway(row, seen);
      return answerIdPage(h, services, { path: PATH, sent, limit }, { found, show });
    }),
  ];
}
