// The habits of this repository, as tests: sizes, file headers, mirrored tests, what the pure rooms
// must not touch, and that generated texts are current. Floors: tidy/floors.test.ts. Exceptions are
// listed by name with a reason, and the lists may only shrink.

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import test from 'ava';
import { fieldOf, settings } from '../config/schema.ts';
import { configurationTable, settingsTable } from '../config/table.ts';
import { importsIn } from './tidy/floors.ts';

const ROOT = resolve(import.meta.dirname, '..');
const ROOMS = ['config', 'models', 'dataplane', 'lib'];
const FILE_LINES_MAX = 500;
const FUNCTION_LINES_MAX = 70;
const LINE_COLUMNS_MAX = 100;

/** Source files without a test of their own name: the file that tests them instead. */
const TESTED_ELSEWHERE: Record<string, string> = {
  'config/observation-settings.ts': 'test/config/index.test.ts',
  'lib/web/kit/english-frame.ts': 'test/lib/web/kit/texts.test.ts',
  'lib/web/kit/english-portal.ts': 'test/lib/web/kit/texts.test.ts',
  'lib/reconcile/known.ts': 'test/lib/reconcile/translation.test.ts',
  'dataplane/filter/flow-sink.ts': 'test/dataplane/rings/flow-log-ring.test.ts',
  'dataplane/filter/match.ts': 'test/dataplane/filter/filter-groups.test.ts',
  'dataplane/host/tcp-relay.ts': 'test/e2e/tcp-relay.test.ts',
  'dataplane/io/relay-table.ts': 'test/e2e/rootless.test.ts',
  'dataplane/io/relay-thread.ts': 'test/e2e/rootless.test.ts',
  'config/config.ts': 'test/config/index.test.ts',
  'config/forms.ts': 'test/config/index.test.ts',
  'config/schema.ts': 'test/config/index.test.ts',
  'config/configuration-variables.ts': 'test/config/index.test.ts',
  'config/table.ts': 'test/tidy.test.ts',
  'dataplane/index.ts': 'test/dataplane/gateway/gateway.test.ts',
  'models/early.ts': 'test/lib/start/main.test.ts',
  'dataplane/filter/flow-verdict.ts': 'test/dataplane/filter/judge.test.ts',
  'dataplane/memory/client.ts': 'test/dataplane/wireguard/tunnel.test.ts',
  'dataplane/memory/index.ts': 'test/lib/testing/gateway.test.ts',
  'dataplane/memory/node.ts': 'test/dataplane/worker/pipeline.test.ts',
  'dataplane/memory/surroundings.ts': 'test/dataplane/worker/pipeline.test.ts',
  'lib/auth/saml/verifications.ts': 'test/lib/auth/saml/verifier.test.ts',
  'lib/auth/saml/verifier-thread.ts': 'test/lib/auth/saml/verifier.test.ts',
  'lib/cli/grammar.ts': 'test/lib/cli/cli.test.ts',
  'lib/cli/grammar-host.ts': 'test/lib/cli/cli.test.ts',
  'lib/cli/grammar-network.ts': 'test/lib/cli/cli.test.ts',
  'lib/cli/grammar-people.ts': 'test/lib/cli/cli.test.ts',
  'lib/cli/grammar-questions.ts': 'test/lib/cli/cli.test.ts',
  'lib/cli/run.ts': 'test/lib/cli/outcome.test.ts',
  'lib/cli/row.ts': 'test/lib/cli/perform.test.ts',
  'lib/cli/device-rows.ts': 'test/lib/cli/device-commands.test.ts',
  'lib/cli/group-rows.ts': 'test/lib/cli/group-commands.test.ts',
  'lib/cli/policy-test-rows.ts': 'test/lib/cli/policy-test-commands.test.ts',
  'lib/cli/rule-rows.ts': 'test/lib/cli/rule-commands.test.ts',
  'lib/cli/token-rows.ts': 'test/lib/cli/commands.test.ts',
  'lib/cli/user-rows.ts': 'test/lib/cli/record-commands.test.ts',
  'lib/installation/doctor/finding.ts': 'test/lib/installation/doctor/index.test.ts',
  'lib/installation/doctor/host.ts': 'test/lib/installation/doctor/checkup.test.ts',
  'lib/installation/doctor/host-thread.ts': 'test/lib/installation/doctor/checkup.test.ts',
  'lib/installation/doctor/rows.ts': 'test/lib/installation/doctor/index.test.ts',
  'lib/api/openapi/answers.ts': 'test/lib/api/openapi/document.test.ts',
  'models/fields/api-token.ts': 'test/models/fields/field.test.ts',
  'models/fields/client-settings.ts': 'test/models/fields/field.test.ts',
  'models/fields/configuration.ts': 'test/models/fields/field.test.ts',
  'models/fields/device.ts': 'test/models/fields/field.test.ts',
  'models/fields/group.ts': 'test/lib/domain/groups/groups.test.ts',
  'models/fields/identity.ts': 'test/models/fields/field.test.ts',
  'models/fields/provider.ts': 'test/models/fields/field.test.ts',
  'models/fields/policy-test.ts': 'test/models/fields/field.test.ts',
  'models/fields/rule.ts': 'test/models/fields/field.test.ts',
  'models/fields/trusted-provider.ts': 'test/models/fields/field.test.ts',
  'models/fields/user.ts': 'test/models/fields/field.test.ts',
  'models/tables/from-fields.ts': 'test/models/fields/field.test.ts',
  'models/storage/origin.ts': 'test/models/storage/auditing.test.ts',
  'models/tables/audit-entry.ts': 'test/models/database/audit-trail.test.ts',
  'models/tables/fetched-metadata.ts': 'test/models/queries/metadata.test.ts',
  'models/tables/gateway.ts': 'test/models/queries/gateways.test.ts',
  'models/queries/groups.ts': 'test/lib/domain/groups/members.test.ts',
  'models/tables/group.ts': 'test/lib/domain/groups/members.test.ts',
  'models/tables/identity-tokens.ts': 'test/models/queries/provider-tokens.test.ts',
  'models/tables/saml-test.ts': 'test/models/queries/saml-tests.test.ts',
  'models/tables/undo.ts': 'test/models/queries/undos.test.ts',
  'lib/web/parts/new-members.ts': 'test/lib/web/pages/groups.test.ts',
  'lib/web/kit/undo.ts': 'test/lib/web/pages/undo.test.ts',
  'models/tables/secret.ts': 'test/models/queries/secrets.test.ts',
  'models/tables/one-time-link.ts': 'test/models/queries/one-time-links.test.ts',
  'lib/auth/one-time-links.ts': 'test/lib/api/v0/enrolment.test.ts',
  'lib/domain/enrolment/enrolment.ts': 'test/lib/api/v0/enrolment.test.ts',
  'lib/domain/enrolment/forgotten.ts': 'test/lib/web/pages/forgotten-password.test.ts',
  'models/tables/policy-test.ts': 'test/lib/domain/policy-tests/policy-tests.test.ts',
  'models/tables/sign-in-request.ts': 'test/models/queries/sign-in-requests.test.ts',
  'models/tables/trusted-provider.ts': 'test/models/queries/trust.test.ts',
  'models/tables/used-assertion.ts': 'test/models/queries/used-assertions.test.ts',
  'lib/domain/configuration/relinking.ts': 'test/lib/api/v0/relinking.test.ts',
  'lib/domain/configuration/saml-metadata.ts': 'test/lib/api/v0/saml-metadata.test.ts',
  'lib/domain/configuration/trusted-providers.ts': 'test/lib/api/v0/trusted-providers.test.ts',
  'lib/domain/rules/counters.ts': 'test/lib/api/v0/rule-counters.test.ts',
  'lib/auth/api-tokens.ts': 'test/lib/api/v0/api-tokens.test.ts',
  'lib/observe/dry-run/dry-runs.ts': 'test/lib/api/v0/dry-run.test.ts',
  'lib/kit/records/fields.ts': 'test/lib/api/v0/audit.test.ts',
  'lib/domain/groups/fields.ts': 'test/lib/domain/groups/members.test.ts',
  'lib/observe/live/fields.ts': 'test/lib/api/v0/live.test.ts',
  'lib/observe/explain/fields.ts': 'test/lib/api/v0/explain.test.ts',
  'lib/observe/diagnosis/fields.ts': 'test/lib/api/v0/diagnosis.test.ts',
  'lib/observe/dry-run/fields.ts': 'test/lib/api/v0/dry-run.test.ts',
  'lib/kit/operations/operation.ts': 'test/lib/kit/operations/perform.test.ts',
  'lib/kit/operations/records.ts': 'test/lib/api/routes.test.ts',
  'lib/kit/operations/id-pages.ts': 'test/lib/api/v0/audit.test.ts',
  'dataplane/sockets/headers.ts': 'test/dataplane/sockets/errors.test.ts',
  'dataplane/sockets/inbox.ts': 'test/dataplane/sockets/egress.test.ts',
  'dataplane/sockets/joiner.ts': 'test/dataplane/sockets/fragmenter.test.ts',
  'dataplane/sockets/outbox.ts': 'test/dataplane/sockets/fragmenter.test.ts',
  'dataplane/sockets/shared.ts': 'test/dataplane/sockets/egress.test.ts',
  'dataplane/sockets/upper.ts': 'test/dataplane/sockets/egress.test.ts',
  'dataplane/worker/flow-log.ts': 'test/dataplane/rings/flow-log-ring.test.ts',
  'dataplane/gateway/on-demand.ts': 'test/dataplane/gateway/gateway.test.ts',
  'dataplane/gateway/start-worker.ts': 'test/dataplane/gateway/worker-link.test.ts',
  'lib/auth/named-user.ts': 'test/lib/auth/accounts.test.ts',
  'lib/kit/http/node-http.ts': 'test/lib/start/main.test.ts',
  'lib/start/made-of.ts': 'test/lib/start/fingerprint.test.ts',
  'lib/start/followers.ts': 'test/lib/start/serve.test.ts',
  'lib/domain/rules/field-pairs.ts': 'test/lib/domain/rules/rules.test.ts',
  'lib/web/parts/rule-form.ts': 'test/lib/web/pages/rules.test.ts',
  'lib/start/obey.ts': 'test/lib/start/serve.test.ts',
  'lib/start/on-database.ts': 'test/lib/start/serve.test.ts',
  'lib/start/serve-until-stopped.ts': 'test/lib/start/serve.test.ts',
  'lib/start/serve-requests.ts': 'test/lib/start/serve.test.ts',
  'lib/observe/gateway-state.ts': 'test/lib/observe/metrics/index.test.ts',
  'lib/reconcile/work.ts': 'test/lib/reconcile/reconciler.test.ts',
  'lib/kit/process/caller.ts': 'test/lib/kit/http/request-caller.test.ts',
  'lib/kit/process/shared.ts': 'test/lib/start/server.test.ts',
  'lib/services.ts': 'test/lib/start/server.test.ts',
  'lib/testing/index.ts': 'test/lib/testing/gateway.test.ts',
  'lib/testing/log.ts': 'test/lib/testing/gateway.test.ts',
  'lib/testing/requests.ts': 'test/lib/start/server.test.ts',
  'lib/web/kit/web.ts': 'test/lib/web/index.test.ts',
};

/** The operations that rooms export are values: one test is about all of them. */
const ROOM_OPERATIONS =
  /^lib\/(domain|observe)\/[\w-]+\/operations\.ts$|^lib\/(auth|kit\/records)\/operations\.ts$/;
const ROOMS_TEST = 'test/lib/rooms.test.ts';

/** Files that may read the environment: they run before, or outside, the process that serves. */
const MAY_READ_ENVIRONMENT = new Set(['config/index.ts', 'dataplane/native/build.cjs']);

/** Lines longer than the limit are allowed where a literal cannot be broken. */
const LONG_LINE = /https?:\/\/|'[^']{60,}'|`[^`]{60,}`|"[^"]{60,}"/;

const sources = ROOMS.flatMap((room) => filesIn(join(ROOT, room))).filter((path) =>
  /\.(ts|cc|h)$/.test(path),
);
const scripts = sources.filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'));
// Other tests write to artefacts while these run.
const tests = filesIn(join(ROOT, 'test')).filter(
  (path) => path.endsWith('.ts') && !path.startsWith('test/artefacts/'),
);
const tools = filesIn(join(ROOT, 'tools')).filter((path) => path.endsWith('.ts'));

test('every source file begins with sentences that say what it is', (t) => {
  for (const path of [...sources, ...tools, ...tests]) {
    const first = read(path).split('\n')[0] ?? '';
    t.regex(first, /^(\/\/ [A-Z`0-9]|#!)/, `${path} begins with a comment`);
  }
});

test('files and lines are of a size that can be read', (t) => {
  for (const path of [...sources, ...tools]) {
    const lines = read(path).split('\n');
    t.true(lines.length <= FILE_LINES_MAX, `${path} has ${lines.length} lines`);
    for (const [i, line] of lines.entries())
      if (line.length > LINE_COLUMNS_MAX)
        t.regex(line, LONG_LINE, `${path}:${i + 1} is ${line.length} columns wide`);
  }
});

test('functions are of a size that can be read', (t) => {
  for (const path of [...scripts, ...tools])
    for (const { name, lines } of functionsOf(read(path)))
      t.true(lines <= FUNCTION_LINES_MAX, `${path}: ${name} has ${lines} lines`);
});

test('every source file has its mirrored test', (t) => {
  for (const path of scripts) {
    const mirrored = join('test', path.replace(/\.ts$/, '.test.ts'));
    const instead = ROOM_OPERATIONS.test(path) ? ROOMS_TEST : TESTED_ELSEWHERE[path];
    if (isMigration(path)) continue;
    t.true(existsSync(join(ROOT, instead ?? mirrored)), `${path} wants ${instead ?? mirrored}`);
    if (instead !== undefined)
      t.false(existsSync(join(ROOT, mirrored)), `${path} is listed, but has a test of its own`);
  }
});

test('only the packages of its floor are imported by a room', (t) => {
  const allowed: Record<string, RegExp> = {
    config: /^(fastest-levenshtein|joi|ipaddr\.js|node:(fs|process))$/,
    models: /^(sequelize|mysql2|ipaddr\.js|node:.*)/,
    dataplane: /^(tweetnacl|@noble\/(hashes|ciphers)\/.*|node:.*)$/,
    lib: /^(@hapi\/.*|@node-saml\/node-saml(\/.*)?|@xmldom\/xmldom|joi|bcrypt|eta|fastest-levenshtein|nodemailer|openid-client|otpauth|pino|ipaddr\.js|string-width|tweetnacl|uqr|node:.*)$/,
  };
  for (const path of scripts)
    for (const name of packageImports(path))
      t.regex(name, allowed[roomOf(path)]!, `${path} imports ${name}`);
});

test('only config reads the environment', (t) => {
  for (const path of scripts)
    if (!MAY_READ_ENVIRONMENT.has(path))
      t.false(/process\.env|import\.meta\.env/.test(read(path)), path);
});

test('the pure rooms know neither clock nor chance nor the operating system', (t) => {
  const forbidden =
    /\bDate\b|Math\.random|setTimeout|setInterval|setImmediate|performance\.now|node:(fs|dgram|net|crypto|timers|child_process|worker_threads)/;
  const pure = scripts.filter(
    (path) =>
      /^dataplane\/(wire|noise|wireguard|filter|path|tcp)\//.test(path) ||
      /^dataplane\/(constants|contract|diff|pace|reasons|sanity|worker\/pipeline)\.ts$/.test(
        path,
      ) ||
      /^lib\/reconcile\/(translate|translation)\.ts$/.test(path),
  );
  t.true(pure.length > 20);
  for (const path of pure) t.notRegex(withoutComments(read(path)), forbidden, path);
});

test('nothing is printed past the log, and no test is skipped or run alone', (t) => {
  for (const path of [...scripts, ...tools])
    t.false(/\bconsole\./.test(withoutComments(read(path))), path);
  for (const path of tests)
    t.false(/\btest\.(serial\.)?(skip|only|todo|failing)\b/.test(read(path)), path);
});

test('there is no room for odds and ends', (t) => {
  for (const path of [...sources, ...tools, ...tests])
    t.notRegex(path, /(^|\/)(utils?|helpers?|common|misc|types)(\.ts|\/)/, path);
});

test('every top-level folder says what it is', (t) => {
  for (const room of [...ROOMS, 'test', 'tools'])
    t.true(existsSync(join(ROOT, room, 'README.md')), room);
});

test('README.md is short', (t) => {
  t.true(read('README.md').split('\n').length <= 150);
});

test('the tables of docs/reference/settings.md are generated from the schema', (t) => {
  const text = read('docs/reference/settings.md');
  t.true(text.includes(settingsTable()), 'run: npm run settings');
  t.true(text.includes(configurationTable()), 'run: npm run settings');
});

test('each setting has one field, and no two share one', (t) => {
  const fields = settings.map((setting) => fieldOf(setting.name));
  t.is(new Set(fields).size, fields.length);
});

// ---- reading the tree ----------------------------------------------------------------------

function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.name === 'build' || entry.name === 'node_modules') return [];
    return entry.isDirectory() ? filesIn(path) : [relative(ROOT, path)];
  });
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '');
}

function isMigration(path: string): boolean {
  return /^models\/migrations\/\d/.test(path);
}

function roomOf(path: string): string {
  return path.split('/')[0]!;
}

function packageImports(path: string): string[] {
  return importsIn(read(path)).filter((name) => !name.startsWith('.'));
}

/**
 * Functions and methods by their first and last line, found by indentation, which the formatter fixes.
 */
function functionsOf(text: string): { name: string; lines: number }[] {
  const lines = text.split('\n');
  const found: { name: string; lines: number }[] = [];
  for (const [i, line] of lines.entries()) {
    const begins =
      /^(\s*)(?:export )?(?:async )?(?:function )?((?:static |override |get )*#?\w+)\(.*\{$|^(\s*)(?:export )?(?:async )?function (\w+)\($/.exec(
        line,
      );
    if (begins === null || /^\s*(if|for|while|switch|catch|return)\b/.test(line)) continue;
    const indent = begins[1] ?? begins[3] ?? '';
    const end = lines.findIndex((other, j) => j > i && other.startsWith(`${indent}}`));
    if (end > i) found.push({ name: begins[2] ?? begins[4] ?? line.trim(), lines: end - i + 1 });
  }
  return found;
}
