// API tokens, for administrators: a table of all, some of which can be revoked, and a form that
// makes a token of one's own and shows it once. docs/api.md#authentication.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { callerOf } from '../../kit/http/request-caller.ts';
import { hasNoErrors } from '../../kit/validation/validate.ts';
import type { FormErrors } from '../kit/plain-words.ts';
import {
  DAYS_MAX,
  DEFAULT_DAYS,
  type OwnedToken,
  readTokens,
  tokenErrors,
} from '../../auth/tokens.ts';
import { type Scope, SCOPES } from '../../kit/operations/scopes.ts';
import { formView, type Section, type Typed, typedFrom, typedIn } from '../kit/form.ts';
import { type Change, jobRoute, manyRoute } from '../kit/many.ts';
import { recently, recentlyForOwn } from '../kit/recent.ts';
import { adminPage } from '../kit/route.ts';
import { performs, saveForm } from '../kit/save.ts';
import { inOrder } from '../../kit/records/in-order.ts';
import {
  askedIn,
  everyOf,
  findPage,
  type MenuItem,
  menuOf,
  sendFile,
  type TablePlan,
} from '../kit/table-page.ts';
import type { Web } from '../kit/web.ts';
import { agoInWords } from '../kit/words.ts';

const TOKENS = '/api_tokens';
const plan: TablePlan = {
  table: 'api_tokens',
  path: TOKENS,
  states: { live: 'In force', over: 'Over', never_used: 'Never used' },
};

const FILE_HEAD = ['id', 'name', 'owner', 'scopes', 'state', 'until', 'last_used_at', 'made_at'];

const SCOPE_WORDS: Readonly<Record<Scope, { label: string; help: string }>> = {
  admin: { label: 'Everything', help: 'Everything that you can do. It includes the other scopes.' },
  read: { label: 'Read', help: 'Records, flows and history, without keys and secrets.' },
  metrics: { label: 'Metrics', help: 'Only /metrics, for Prometheus.' },
  capture: { label: 'Captures', help: 'The packets of devices.' },
};

const tokenForm: readonly Section[] = [
  {
    fields: [
      { name: 'name', label: 'Name', help: 'What it is for: backup script.', isRequired: true },
      {
        name: 'days',
        label: 'Days',
        kind: 'number',
        help: `1 to ${DAYS_MAX}; after that it no longer works.`,
        isRequired: true,
      },
    ],
  },
  {
    legend: 'What it can be used for',
    help: 'Choose the least that the program needs.',
    fields: SCOPES.map((name) => ({ name, kind: 'box', ...SCOPE_WORDS[name] })),
  },
];

/** The routes of the API tokens. */
export function apiTokenPages(web: Web): ServerRoute[] {
  const { database } = web.services;
  return [
    adminPage('GET', TOKENS, (request, h) => showTokens(web, request, h)),
    adminPage('GET', `${TOKENS}.csv`, (request, h) =>
      sendFile(h, 'api_tokens', database, plan, askedIn(request, plan), FILE_HEAD, async (ids) =>
        inOrder(ids, await readTokens(database, { ids })).map(fileLine),
      ),
    ),
    recentlyForOwn(
      adminPage('GET', `${TOKENS}/new`, (request, h) =>
        showForm(web, request, h, typedFrom({ days: DEFAULT_DAYS, admin: true }, tokenForm)),
      ),
    ),
    recentlyForOwn(adminPage('POST', `${TOKENS}/new`, (request, h) => addToken(web, request, h))),
    jobRoute(web, TOKENS),
    recently(
      manyRoute(web, {
        table: 'api_tokens',
        path: TOKENS,
        nouns: ['token', 'tokens'],
        names: async (ids) =>
          new Map(
            (await readTokens(database, { ids })).map((token) => [token.id, fullName(token)]),
          ),
        change: (name) => (name === 'revoke' ? revocation : 'Nothing was chosen.'),
        effect: async () => null,
      }),
      TOKENS,
    ),
  ];
}

async function showTokens(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const { database } = web.services;
  const { ids, view } = await findPage(database, request, plan);
  const tokens = inOrder(ids, await readTokens(database, { ids }));
  return web.pages.show(request, h, 'api-tokens', {
    title: 'API tokens',
    finder: view,
    list: tokens.map(tokenCells),
    ids: tokens.map(({ id }) => id),
    menu: menuOf(request, plan, view, menuItems),
    many: {
      action: `${TOKENS}/many`,
      back: view.here,
      every: everyOf({ ids, view }, 'tokens'),
      changes: [{ name: 'revoke', label: 'Revoke…', tone: 'danger' }],
    },
  });
}

const menuItems: readonly MenuItem[] = [{ label: 'Revoke…', change: 'revoke', tone: 'danger' }];

const revocation: Change = {
  done: 'revoked',
  question: {
    title: ['Revoke this token?', 'Revoke these tokens?'],
    text: [
      'Programs that use it are refused from the next request on. This cannot be undone.',
      'Programs that use them are refused from the next request on. This cannot be undone.',
    ],
    label: 'Revoke for good',
  },
  write: (caller, id) => performs(caller, 'deleteApiToken', { params: { id } }),
};

function fullName({ name, email }: OwnedToken): string {
  return `${name} of ${email}`;
}

function fileLine(token: OwnedToken): (string | null)[] {
  return [
    token.id,
    token.name,
    token.email,
    token.scopes.join(' '),
    isOver(token) ? 'over' : 'in force',
    token.expires_at?.toISOString() ?? null,
    token.last_used_at?.toISOString() ?? null,
    token.inserted_at.toISOString(),
  ];
}

function isOver({ expires_at: end }: OwnedToken): boolean {
  return end !== null && end.getTime() <= Date.now();
}

function tokenCells(token: OwnedToken): unknown[] {
  const { name, email, scopes, expires_at: end, last_used_at: used } = token;
  const dot = isOver(token) ? 'bad' : used === null ? 'calm' : 'good';
  return [
    { text: name, dot, below: email },
    scopes.join(', '),
    end === null ? 'no end' : isOver(token) ? 'over' : timeCell(end, dayOf(end)),
    used === null ? 'never' : timeCell(used, agoInWords(used)),
  ];
}

function timeCell(time: Date, ago: string): object {
  return { time: time.toISOString(), ago };
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

function showForm(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  typed: Typed,
  errors: FormErrors = {},
): Promise<ResponseObject> {
  return web.pages.show(request, h, 'api-token-new', {
    title: 'Make an API token',
    form: formView(tokenForm, typed, {
      action: `${TOKENS}/new`,
      submit: 'Make the token',
      cancel: TOKENS,
      errors,
    }),
  });
}

async function addToken(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const typed = typedIn(request, tokenForm);
  const name = (typed['name'] ?? '').trim();
  const days = /^\d{1,6}$/.test((typed['days'] ?? '').trim()) ? Number(typed['days']) : Number.NaN;
  const scopes = SCOPES.filter((scope) => typed[scope] === 'true');
  const errors: FormErrors = tokenErrors({ name, days });
  if (scopes.length === 0) errors['admin'] = ['choose at least one'];
  return saveForm(web, request, h, {
    refused: hasNoErrors(errors) ? null : errors,
    write: performs(callerOf(request), 'createApiToken', { record: { name, days, scopes } }),
    again: (refused) => showForm(web, request, h, typed, refused),
    // The token is shown only once, in this answer. A redirect would lose it.
    done: ({ token, expires_at: expiresAt }) =>
      web.pages.show(request, h, 'api-token-made', {
        title: 'The token is made',
        tokenName: name,
        token,
        expiresAt,
        example: `curl -H 'Authorization: Bearer ${String(token)}' ${web.services.config.externalUrl}v0/configuration`,
      }),
  });
}
