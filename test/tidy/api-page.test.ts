// The page docs/api.md names the operations, fields, statuses and messages that the gateway has.
// The OpenAPI document, made of the schemas that validate requests, says which those are.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { sentences, sentencesOutsideApi } from '../../lib/kit/validation/messages.ts';
import { examplesOf } from '../support/suite/examples.ts';
import { openServer } from '../support/api/server.ts';

const PAGE = join(import.meta.dirname, '../../docs/api.md');
const page = readFileSync(PAGE, 'utf8');

interface Schema {
  readonly properties: Readonly<
    Record<string, { readonly enum?: (string | null)[]; items?: Schema }>
  >;
  readonly required?: readonly string[];
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, unknown>>;
  };
}

/** The headings under which fields are listed, and the schemas of what is shown and sent. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  'Fields of a device': ['Device', 'DeviceCreate'],
  'Fields of a user': ['User', 'UserCreate'],
  'Fields of a rule': ['Rule', 'RuleCreate'],
  'Fields of the configuration': ['Configuration'],
  'Counters of a rule': ['RuleCounters'],
  Connections: ['Connection'],
  'Trusted providers': ['TrustedProvider'],
  'Linking people anew': ['Relink'],
  'Fetched metadata': ['SamlMetadata'],
};

/** Headings of the lists inside the configuration. */
const ENTRIES: Readonly<Record<string, string>> = {
  'Fields of an OpenID provider': 'openid_connect_providers',
  'Fields of a SAML provider': 'saml_identity_providers',
};

test('the page lists the operations that there are', async (t) => {
  const { paths } = await openApi(t);
  const described = Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((key) => key !== 'parameters')
      .map((method) => `${method.toUpperCase()} ${path}`),
  );
  const listed = rowsUnder('Operations').flatMap(([method = '', path = '']) =>
    wordsIn(method).map((one) => `${one} ${path.replaceAll('`', '')}`),
  );
  t.true(described.length > 20);
  t.deepEqual(listed.toSorted(), described.toSorted());
});

test('the page lists the fields that there are, what is required, and what may be chosen', async (t) => {
  const { schemas } = (await openApi(t)).components;
  const entries = Object.entries(ENTRIES).map(([heading, list]) => {
    const { items } = schemas['Configuration']!.properties[list]!;
    return [heading, [items!]] as const;
  });
  const records = Object.entries(FIELDS).map(
    ([heading, names]) => [heading, names.map((name) => schemas[name]!)] as const,
  );
  for (const [heading, [shown, created]] of [...records, ...entries]) {
    const rows = rowsUnder(heading);
    const listed = rows.flatMap(([names = '']) => quotedIn(names)).toSorted();
    const properties = { ...created?.properties, ...shown!.properties };
    t.deepEqual(listed, Object.keys(properties).toSorted(), heading);
    for (const [names = '', type = '', , create = ''] of rows)
      for (const name of quotedIn(names)) {
        for (const word of properties[name]!.enum ?? [])
          if (word !== null && word !== 'code')
            t.true(type.includes(`\`${word}\``), `${name} may be ${word}`);
        if (created !== undefined)
          t.is(create === 'required', created.required?.includes(name) ?? false, name);
      }
  }
});

test('the example is answered as the page shows it', async (t) => {
  const [request = '', answer = ''] = examplesOf(PAGE, 'json');
  const { device } = JSON.parse(request) as { device: Record<string, unknown> };
  const shown = (JSON.parse(answer) as { data: Record<string, unknown> }).data;
  const { send, adminId } = await openServer(t, 'sqlite');
  const body = { device: { ...device, user_id: adminId } };
  const created = await send('POST', '/v0/devices', { body });
  t.is(created.status, 201);
  const data = created.body.data as Record<string, unknown>;
  t.deepEqual(Object.keys(data), Object.keys(shown));
  // What is made anew each time has the same form.
  const CHANGING = /^(id|user_id|preshared_key|server_public_key|inserted_at|updated_at)$/;
  for (const [name, value] of Object.entries(shown))
    if (CHANGING.test(name)) t.is(formOf(data[name]), formOf(value), name);
    else t.deepEqual(data[name], value, name);
});

test('the page lists the statuses that there are', async (t) => {
  const { responses } = (await openApi(t)).components;
  const listed = rowsUnder('Errors').map(([status]) => status);
  t.deepEqual(listed, Object.keys(responses).toSorted());
});

/** Errors that the page shortens, quotes in JSON, or leaves to be read; it may only shrink. */
const UNLISTED: ReadonlySet<string> = new Set([
  'addressOfNoDevice',
  'alsoAdded',
  'idMissing',
  'idTooMuch',
  'memberOfProvider',
  'moreTestsFail',
  'notTriable',
  'onlyPost',
  'otherFamilyThanSender',
  'sizeTooSmall',
  'testFails',
  'tokenDays',
]);

test('the page has every message, to the letter', (t) => {
  const text = page.replaceAll(/\s+/g, ' ');
  const all = Object.entries(sentences).filter(
    ([code]) => !UNLISTED.has(code) && !Object.hasOwn(sentencesOutsideApi, code),
  );
  t.true(all.length > 40);
  for (const [, message] of all) {
    const filled = message
      .split(/\{(?!id\})\w+\}/)
      .map(escaped)
      .join('\\S.*?');
    t.regex(text, new RegExp(filled), message);
  }
});

async function openApi(t: Parameters<typeof openServer>[0]): Promise<OpenApi> {
  const { send } = await openServer(t, 'sqlite');
  return (await send('GET', '/v0/openapi.json')).body as unknown as OpenApi;
}

/** The cells of the rows of the first table under a heading, without the table's own head. */
function rowsUnder(heading: string): string[][] {
  const [, section = ''] = page.split(new RegExp(`^##+ ${escaped(heading)}\\n`, 'm'));
  const [table = ''] = /(?:^\|.*\n)+/m.exec(section) ?? [];
  return table
    .trim()
    .split('\n')
    .slice(2)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

/** A text with its letters and digits made alike. */
function formOf(value: unknown): string {
  return String(value)
    .replaceAll(/[A-Za-z+/]/g, 'a')
    .replaceAll(/[0-9]/g, 'a');
}

function quotedIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}

function wordsIn(cell: string): string[] {
  return cell.match(/[A-Z]+/g) ?? [];
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
