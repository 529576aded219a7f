// The dashboard for Grafana: a file that it takes, whose every expression asks for metrics that a
// gateway which serves shows. The end-to-end tests look at it once more, with a device.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import test, { type ExecutionContext } from 'ava';
import { serve } from '../../../lib/start/serve.ts';
import { expressionsOf, missingFrom, readDashboard } from '../../support/observe/dashboard.ts';
import { openDatabase } from '../../support/database/databases.ts';
import { readExposition } from '../../support/observe/exposition.ts';
import { namedBy } from '../../support/observe/promql.ts';
import { configOf, logInto } from '../../support/api/server.ts';
import { freeUdpPort } from '../../support/network/free-port.ts';

const TOKEN = `pst_${'g'.repeat(43)}`;
const dashboard = readDashboard();

/** What Grafana needs of a dashboard's file to take it. */
const schema = {
  type: 'object',
  required: ['title', 'uid', 'schemaVersion', 'panels', 'templating', 'time', 'annotations'],
  properties: {
    title: { type: 'string', minLength: 1 },
    uid: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,40}$' },
    schemaVersion: { type: 'integer', minimum: 36 },
    // Only Grafana gives one; a file that has one overwrites another's.
    id: { type: 'null' },
    templating: {
      type: 'object',
      required: ['list'],
      properties: {
        list: {
          type: 'array',
          items: {
            type: 'object',
            required: ['name', 'type', 'query'],
            properties: { type: { enum: ['datasource', 'query'] } },
          },
        },
      },
    },
    panels: { type: 'array', minItems: 1, items: { $ref: '#/$defs/panel' } },
  },
  $defs: {
    datasource: {
      type: 'object',
      required: ['type', 'uid'],
      properties: { type: { const: 'prometheus' }, uid: { const: '${datasource}' } },
    },
    panel: {
      type: 'object',
      required: ['id', 'type', 'title', 'gridPos'],
      properties: {
        id: { type: 'integer', minimum: 1 },
        type: { enum: ['row', 'stat', 'timeseries', 'table'] },
        title: { type: 'string', minLength: 1 },
        gridPos: {
          type: 'object',
          required: ['x', 'y', 'w', 'h'],
          properties: {
            x: { type: 'integer', minimum: 0, maximum: 23 },
            y: { type: 'integer', minimum: 0 },
            w: { type: 'integer', minimum: 1, maximum: 24 },
            h: { type: 'integer', minimum: 1 },
          },
        },
      },
      anyOf: [{ properties: { type: { const: 'row' } } }, { $ref: '#/$defs/asking' }],
    },
    asking: {
      required: ['datasource', 'targets', 'fieldConfig', 'options', 'description'],
      properties: {
        datasource: { $ref: '#/$defs/datasource' },
        fieldConfig: { type: 'object', required: ['defaults', 'overrides'] },
        targets: {
          type: 'array',
          minItems: 1,
          items: {
            type: 'object',
            required: ['refId', 'expr', 'datasource'],
            properties: {
              refId: { type: 'string', pattern: '^[A-Z]$' },
              expr: { type: 'string', minLength: 1 },
              datasource: { $ref: '#/$defs/datasource' },
            },
          },
        },
      },
    },
  },
};

test('the file is one that Grafana takes', (t) => {
  const ajv = new Ajv2020({ allErrors: true, strict: false });
  const validate = ajv.compile(schema);
  t.true(validate(dashboard), ajv.errorsText(validate.errors));
  t.false(validate({ ...dashboard, panels: [{ type: 'graph' }] }), 'the schema has teeth');
  const ids = dashboard.panels.map(({ id }) => id);
  t.is(new Set(ids).size, ids.length);
  for (const { targets = [], title } of dashboard.panels)
    t.is(new Set(targets.map(({ refId }) => refId)).size, targets.length, title);
});

test('no panel lies on another or beyond the edge', (t) => {
  const taken = new Set<string>();
  for (const { gridPos, title } of dashboard.panels) {
    const { x, y, w, h } = gridPos;
    t.true(x + w <= 24, title);
    for (let i = x; i < x + w; i++)
      for (let j = y; j < y + h; j++) {
        t.false(taken.has(`${i} ${j}`), title);
        taken.add(`${i} ${j}`);
      }
  }
});

test('what an expression names is found', (t) => {
  t.deepEqual(
    namedBy(
      'topk(10, sum by (name) (rate(a_total{x=~"b{}", y!="c"}[5m])) * on (k) group_left (n) b) > 0',
    ),
    { metrics: ['a_total', 'b'], labels: ['x', 'y', 'name', 'k', 'n'] },
  );
  t.deepEqual(namedBy('time() - a'), { metrics: ['a'], labels: [] });
});

let scraped: ReturnType<typeof scrape> | null = null;

/** The metrics of a gateway that serves; both tests look at one reading. */
function metricsOfGateway(t: ExecutionContext): ReturnType<typeof scrape> {
  scraped ??= scrape(t);
  return scraped;
}

/** The metrics of a gateway that serves, read by this host. */
async function scrape(t: ExecutionContext): Promise<ReturnType<typeof readExposition>> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-grafana-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const config = configOf({
    WIREGUARD_TUN: 'off',
    HTTP_PORT: '0',
    DATA_DIR: folder,
    WIREGUARD_PORT: String(await freeUdpPort()),
    DEFAULT_ADMIN_EMAIL: 'admin@example.com',
    DEFAULT_ADMIN_PASSWORD: 'correct horse battery',
    BOOTSTRAP_API_TOKEN: TOKEN,
  });
  const running = await serve(config, await openDatabase(t, 'sqlite'), logInto([]), {
    passwordCost: 4,
  });
  t.teardown(() => running.stop());
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ rule: { destination: '192.0.2.0/24' } });
  const made = await fetch(`${running.address}/v0/rules`, { method: 'POST', headers, body });
  t.is(made.status, 201);
  t.is((await fetch(`${running.address}/v0/rules`)).status, 401);
  const response = await fetch(`${running.address}/metrics`);
  t.is(response.status, 200);
  return readExposition(await response.text());
}

test.serial('every expression asks for metrics that a gateway shows', async (t) => {
  const families = await metricsOfGateway(t);
  const expressions = expressionsOf(dashboard);
  t.true(expressions.length > 20);
  for (const expression of expressions)
    t.deepEqual(missingFrom(families, expression, { withSamples: false }), [], expression);
  t.deepEqual(missingFrom(families, 'rate(made_up_total[5m])', { withSamples: false }), [
    'made_up_total',
  ]);
  t.deepEqual(missingFrom(families, 'sum by (colour) (wg_gateway_ready)', { withSamples: false }), [
    'colour',
  ]);
  for (const { query } of dashboard.templating.list.slice(1)) {
    const [, name = ''] = /label_values\((\w+),/.exec(JSON.stringify(query)) ?? [];
    t.true(families.has(name), name);
  }
});

test.serial('every series of the gateway’s own has its panel', async (t) => {
  const own = [...(await metricsOfGateway(t)).keys()].filter((name) =>
    name.startsWith('wg_gateway_'),
  );
  const named = new Set(expressionsOf(dashboard).flatMap((one) => namedBy(one).metrics));
  const isShown = (name: string): boolean =>
    ['', '_bucket', '_sum', '_count'].some((ending) => named.has(name + ending));
  t.true(own.length > 20);
  t.deepEqual(
    own.filter((name) => !isShown(name)),
    [],
  );
});
