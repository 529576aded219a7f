// Identity providers, for administrators: both lists, the form that makes, changes and tries one,
// and its removal. An entry is validated as the API validates the whole list; the mark of trust is
// ours alone. docs/api.md#the-configuration.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { isTrusted } from '../../../models/index.ts';
import { callerOf } from '../../kit/http/request-caller.ts';
import { hasNoErrors } from '../../kit/validation/validate.ts';
import type { FormErrors } from '../kit/plain-words.ts';
import {
  CONFIGURATION_BYTES_MAX,
  storedValues,
  validateConfiguration,
} from '../../domain/configuration/configuration.ts';
import type { Finding } from '../../auth/identity/finding.ts';
import { authorityOf } from '../../auth/identity/authority.ts';
import { metadataState } from '../../auth/saml/metadata-state.ts';
import { errorLine } from '../kit/attempt.ts';
import { formView, type Typed, typedIn } from '../kit/form.ts';
import { takesForm, textOf } from '../kit/form-token.ts';
import { changesList, entriesOf, findEntry, refuseFixedList } from '../parts/provider-entries.ts';
import {
  entryErrors,
  entryOf,
  type ProviderEntry,
  type ProviderForm,
  providerForms,
  shownSections,
  TRUSTED,
  tryEntry,
  typedEntry,
} from '../parts/provider-form.ts';
import { freshEntry, presetsOf } from '../parts/provider-presets.ts';
import { queryText } from '../kit/searched.ts';
import { recently } from '../kit/recent.ts';
import { changedMeanwhile, seenOf } from '../kit/seen.ts';
import { addressesToPaste } from '../parts/provider-addresses.ts';
import { adminPage } from '../kit/route.ts';
import { act, performs, saveForm } from '../kit/save.ts';
import { fixedSentence, locksOut, settingTabs } from '../parts/settings.ts';
import type { Web } from '../kit/web.ts';
import { lastTestOf } from './provider-tests.ts';

const PROVIDERS = '/settings/providers';

/** Metadata of federations are long. */
const takesMetadata = { payload: { ...takesForm, maxBytes: CONFIGURATION_BYTES_MAX } };

/** The routes of the identity providers. */
export function providerPages(web: Web): ServerRoute[] {
  return [
    adminPage('GET', PROVIDERS, (request, h) => showProviders(web, request, h)),
    ...Object.values(providerForms).flatMap((form) => {
      const base = `${PROVIDERS}/${form.kind}`;
      return [
        adminPage('GET', `${base}/new`, async (request, h) => {
          refuseFixedList(web, form);
          const taken = (await entriesOf(web, form)).map(({ id }) => id);
          const typed = freshEntry(form, queryText(request, 'preset'), taken);
          return showForm(web, form, request, h, {
            present: null,
            shown: null,
            typed,
            usual: typed,
          });
        }),
        adminPage(
          'POST',
          `${base}/new`,
          (request, h) => save(web, form, request, h),
          takesMetadata,
        ),
        adminPage('GET', `${base}/{id}`, async (request, h) => {
          const { present } = await findEntry(web, form, request);
          const shown = await typedPresent(web, form, present);
          return showForm(web, form, request, h, { present, shown, typed: shown });
        }),
        adminPage(
          'POST',
          `${base}/{id}`,
          (request, h) => save(web, form, request, h),
          takesMetadata,
        ),
        adminPage('POST', `${base}/{id}/delete`, (request, h) => remove(web, form, request, h)),
      ].map((route) => recently(route, route.path.endsWith('/delete') ? PROVIDERS : null));
    }),
  ];
}

async function showProviders(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const groups = [];
  for (const form of Object.values(providerForms)) {
    const entries = [];
    for (const entry of await entriesOf(web, form))
      entries.push({
        href: `${PROVIDERS}/${form.kind}/${encodeURIComponent(entry.id)}`,
        id: entry.id,
        label: entry.label,
        makesUsers: entry.auto_create_users,
        isTrusted: await hasTrust(web, entry),
      });
    groups.push({
      kind: form.kind,
      heading: form.title,
      entries,
      locked: fixedSentence(web, form.list),
      add: `${PROVIDERS}/${form.kind}/new`,
      presets: presetsOf(form.kind).map(({ name, title }) => ({
        title,
        href: `${PROVIDERS}/${form.kind}/new?preset=${name}`,
      })),
    });
  }
  const values = { title: 'Identity providers', tabs: settingTabs(request), groups };
  return web.pages.show(request, h, 'providers', values);
}

interface Filled {
  /** Null for a new one. */
  readonly present: ProviderEntry | null;
  /** That entry as its form shows it now. */
  readonly shown: Typed | null;
  readonly typed: Typed;
  /** What the fields that fold away hold as a rule; left out: what most entries have. */
  readonly usual?: Typed;
  readonly errors?: FormErrors;
  /** What trying it found. */
  readonly findings?: readonly Finding[];
}

async function showForm(
  web: Web,
  form: ProviderForm,
  request: Request,
  h: ResponseToolkit,
  { present, shown, typed, errors = {}, findings = [], ...filled }: Filled,
): Promise<ResponseObject> {
  const here = `${PROVIDERS}/${form.kind}/${present === null ? 'new' : encodeURIComponent(present.id)}`;
  const fixed = fixedSentence(web, form.list);
  const lockOf = (name: string): string | null => {
    if (name === TRUSTED) return null;
    if (fixed !== null) return fixed;
    return present !== null && name === 'id' ? 'It is part of the sign-in address.' : null;
  };
  const isNew = present === null;
  const { usual = typedEntry(form, { ...form.fresh, id: typed['id'] }) } = filled;
  return web.pages.show(request, h, 'provider', {
    title: present === null ? `Add a provider (${form.title})` : present.label,
    tabs: settingTabs(request),
    kind: form.kind,
    here: present === null ? null : here,
    isFixed: fixed !== null,
    signIn:
      present === null
        ? null
        : `${web.services.config.externalUrl.replace(/\/$/, '')}${form.signInPath}${encodeURIComponent(present.id)}`,
    findings,
    lastTest: await lastTestOf(web, form, present),
    metadata: await metadataView(web, present),
    paste: addressesToPaste(form.kind, present ?? pasted(typed), web.services.config),
    form: formView(shownSections(form, { usual, isNew }), typed, {
      action: here,
      submit: present === null ? 'Add the provider' : 'Save',
      cancel: PROVIDERS,
      ...(shown === null ? {} : { seen: seenOf(shown) }),
      errors,
      locked: lockOf,
    }),
    others: [{ name: 'do', value: 'try', label: 'Test this provider' }],
  });
}

/** Of an entry that is not made yet, what its addresses depend on. */
function pasted(typed: Typed): { readonly id?: string } {
  const id = (typed['id'] ?? '').trim();
  return id === '' ? {} : { id };
}

/** What is known of metadata that are fetched; null where the entry has no address for them. */
async function metadataView(web: Web, entry: ProviderEntry | null) {
  if (entry === null || !('metadata_url' in entry)) return null;
  const state = await metadataState(web.services.database, entry);
  if (state === null) return null;
  const { entityId, fetchedAt, refreshAt, problem, certificates } = state;
  return {
    entityId,
    problem,
    fetchedAt: fetchedAt?.toISOString() ?? null,
    refreshAt: refreshAt?.toISOString() ?? null,
    hasFormer: certificates.some((one) => one.state === 'former'),
    certificates: certificates.map(({ sha256, validUntil, state: use }) => ({
      sha256,
      use,
      validUntil: validUntil.toISOString(),
    })),
  };
}

/** Saves what was typed, or tries it and saves nothing. */
async function save(
  web: Web,
  form: ProviderForm,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const isNew = request.params['id'] === undefined;
  if (isNew) refuseFixedList(web, form);
  const entries = await entriesOf(web, form);
  const present = isNew ? null : (await findEntry(web, form, request)).present;
  const isFixed = fixedSentence(web, form.list) !== null;
  const sent = typedIn(request, form.sections);
  // Fields that are locked were not sent, and show what serves.
  const typed = withLocked(form, sent, present, isFixed);
  const entry = isFixed && present !== null ? { ...present } : entryOf(form, typed, present);
  const shown = present === null ? null : await typedPresent(web, form, present);
  const filled = { present, shown, typed };
  const meanwhile =
    shown === null ? null : changedMeanwhile(request, { typed, present: shown }, form.sections);
  if (meanwhile === null && textOf(request, 'do') === 'try') {
    const tried = await tryTyped(web, form, entry);
    return showForm(web, form, request, h, { ...filled, ...tried });
  }
  const place =
    present === null ? entries.length : entries.findIndex(({ id }) => id === present.id);
  const next = entries.toSpliced(place, present === null ? 0 : 1, entry as never);
  return saveForm(web, request, h, {
    refused: meanwhile,
    write: async (rooms) => {
      if (!isFixed) await changesList(callerOf(request), form, entries, next)(rooms);
      const id = String(entry['id']).trim();
      await saveTrust(web, request, form, id, typed[TRUSTED] === 'true');
    },
    again: (errors) =>
      showForm(web, form, request, h, { ...filled, errors: entryErrors(errors, form.list, place) }),
    done: () => ({
      said: `${String(entry['label']).trim()} is saved, and serves.`,
      to: PROVIDERS,
    }),
  });
}

async function remove(
  web: Web,
  form: ProviderForm,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  refuseFixedList(web, form);
  const { present, entries } = await findEntry(web, form, request);
  const next = entries.filter((entry) => entry !== present);
  return act(web, request, h, {
    write: changesList(callerOf(request), form, entries, next, async (...found) =>
      (await locksOut(web, { [form.list]: next }, ...found))
        ? { base: [{ code: 'lastWayIn' }] }
        : {},
    ),
    back: PROVIDERS,
    done: () => `${present.label} is removed. Nobody signs in through it any more.`,
    failed: (errors) => `It is not removed. ${errorLine(errors)}`,
  });
}

/** Validates what was typed by the API's rules, then asks the provider. */
async function tryTyped(
  web: Web,
  form: ProviderForm,
  entry: Record<string, unknown>,
): Promise<{ errors: FormErrors; findings: readonly Finding[] }> {
  const { values, errors } = validateConfiguration({ [form.list]: [entry] }, 'update');
  if (!hasNoErrors(errors)) return { errors: entryErrors(errors, form.list, 0), findings: [] };
  const [kept] = storedValues(web.services.config, values)[form.list] ?? [];
  return { errors: {}, findings: kept === undefined ? [] : await tryEntry(form, kept, web) };
}

async function saveTrust(
  web: Web,
  request: Request,
  form: ProviderForm,
  id: string,
  trusted: boolean,
): Promise<void> {
  await web.recall.refresh();
  const { database } = web.services;
  const entry = (await entriesOf(web, form)).find((one) => one.id === id);
  const mark = entry === undefined ? null : await authorityOf(database, entry);
  if (mark === null || (await isTrusted(database, mark)) === trusted) return;
  const params = { kind: form.kind, id };
  await performs(callerOf(request), 'updateTrustedProvider', { params, record: { trusted } })(
    web.rooms,
  );
}

/** An entry as its form shows it, with the mark of trust. */
async function typedPresent(web: Web, form: ProviderForm, entry: ProviderEntry): Promise<Typed> {
  return typedEntry(form, { ...entry, [TRUSTED]: await hasTrust(web, entry) });
}

/** Whether the entry is trusted as it is now. */
async function hasTrust({ services: { database } }: Web, entry: ProviderEntry): Promise<boolean> {
  const authority = await authorityOf(database, entry);
  return authority !== null && isTrusted(database, authority);
}

function withLocked(
  form: ProviderForm,
  typed: Typed,
  present: ProviderEntry | null,
  isFixed: boolean,
): Typed {
  if (present === null) return typed;
  if (!isFixed) return { ...typed, id: present.id };
  return { ...typedEntry(form, present), [TRUSTED]: typed[TRUSTED] ?? 'false' };
}
