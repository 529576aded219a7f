// The gateways of the database, for the command line: what GET /v0/gateways answers. The keys of
// its JSON are those that scripts know.

import { currentRevision, listGateways } from '../../models/index.ts';
import { showGateway, stateOf } from '../kit/records/gateways.ts';
import type { CommandName } from './grammar.ts';
import type { Given, Outcome, Run } from './run.ts';
import { listed } from './screen.ts';

/** The most gateways that are listed. */
const LISTED_MAX = 10_000;

/** What came after the keys of the JSON were promised. */
const LATER: ReadonlySet<string> = new Set(['egress', 'egress_reason', 'last_backup_at']);

/** The commands. */
export const gatewayCommands: Partial<Record<CommandName, Run>> = {
  'gateway list': list,
};

async function list({ database }: Given): Promise<Outcome> {
  const revision = await currentRevision(database);
  const rows = await listGateways(database, { afterId: null, limit: LISTED_MAX });
  const seen = { revision, nowMs: Date.now(), here: null };
  const data = rows.map((row) => {
    const shown = Object.entries(showGateway(row, seen));
    return Object.fromEntries(shown.filter(([key]) => !LATER.has(key)));
  });
  const lines = rows.map((row) => [
    row.id,
    row.name,
    row.started_at.toISOString(),
    row.seen_at.toISOString(),
    row.schema_step ?? '',
    row.egress ?? '',
    stateOf(showGateway(row, seen)),
  ]);
  const columns = [
    ['id', 'id'],
    ['name', 'text'],
    ['started at', 'time'],
    ['seen at', 'time'],
    ['schema', 'text'],
    ['egress', 'fixed'],
    ['state', 'state'],
  ] as const;
  return { ...listed(columns, lines), data };
}
