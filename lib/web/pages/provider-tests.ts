// What a test sign-in found, for the session that began it, and the flags of a SAML entry set to
// what the provider signs. How a test begins and ends is with the sign-ins of its kind.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import type { SamlIdentityProvider, SignedParts } from '../../../models/index.ts';
import { callerOf } from '../../kit/http/request-caller.ts';
import { ProviderRefusal } from '../../auth/identity/refusal.ts';
import { findReport } from '../../auth/identity/test-report.ts';
import { flagsFor } from '../../auth/saml/test-findings.ts';
import { lastSamlTest } from '../../auth/saml/test-sign-in.ts';
import { errorLine } from '../kit/attempt.ts';
import { PageError } from '../../kit/http/page-error.ts';
import { changesList, findEntry, refuseFixedList } from '../parts/provider-entries.ts';
import { type ProviderEntry, type ProviderForm, providerForms } from '../parts/provider-form.ts';
import { recently } from '../kit/recent.ts';
import { adminPage } from '../kit/route.ts';
import { act } from '../kit/save.ts';
import { fixedSentence } from '../parts/settings.ts';
import type { Web } from '../kit/web.ts';

const PROVIDERS = '/settings/providers';

const GONE = {
  title: 'No such test',
  text: 'What a test sign-in finds is shown for 10 minutes, and only to the browser session that began the test. Please test again.',
};

/** Which parts are signed, in words. */
const SIGNED: Readonly<Record<SignedParts, string>> = {
  response: 'the response alone',
  assertion: 'the assertion alone',
  both: 'the response and the assertion',
};

/** The routes. */
export function providerTestPages(web: Web): ServerRoute[] {
  const flags = `${PROVIDERS}/saml/{id}/flags`;
  return [
    ...Object.values(providerForms).map((form) =>
      adminPage('GET', `${PROVIDERS}/${form.kind}/{id}/tests/{ticket}`, (request, h) =>
        showReport(web, form, request, h),
      ),
    ),
    recently(
      adminPage('POST', flags, (request, h) => setFlags(web, request, h)),
      `${PROVIDERS}/saml/{id}`,
    ),
  ];
}

/** What the last test found, as pages of the entry show it; null where that says nothing. */
export async function lastTestOf(web: Web, { kind }: ProviderForm, entry: ProviderEntry | null) {
  if (kind !== 'saml' || entry === null) return null;
  const test = await lastTest(web, entry as SamlIdentityProvider);
  if (test === null) return null;
  const flags = Object.entries(flagsFor(test.signed));
  return {
    time: test.tested_at.toISOString(),
    signed: SIGNED[test.signed],
    fits: flags.every(([name, isOn]) => entry[name as keyof ProviderEntry] === isOn),
  };
}

async function lastTest(web: Web, entry: SamlIdentityProvider) {
  try {
    return await lastSamlTest(web.services.database, entry);
  } catch (error) {
    // Metadata that cannot be read say nothing, so nothing was found with them.
    if (error instanceof ProviderRefusal) return null;
    throw error;
  }
}

async function showReport(
  web: Web,
  form: ProviderForm,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const { present } = await findEntry(web, form, request);
  const report = await findReport(web.services.database, {
    kind: form.kind,
    provider_id: present.id,
    ticket: String(request.params['ticket']),
    sessionId: callerOf(request).letIn?.sessionId ?? '',
  });
  if (report === null) throw new PageError('not_found', GONE);
  return web.pages.show(request, h, 'provider-test', {
    title: `Test sign-in: ${present.label}`,
    here: `${PROVIDERS}/${form.kind}/${encodeURIComponent(present.id)}`,
    provider: present.label,
    report,
    lastTest: await lastTestOf(web, form, present),
    isFixed: fixedSentence(web, form.list) !== null,
  });
}

async function setFlags(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const form = providerForms.saml;
  refuseFixedList(web, form);
  const { present, entries } = await findEntry(web, form, request);
  const test = await lastTest(web, present as SamlIdentityProvider);
  const back = `${PROVIDERS}/saml/${encodeURIComponent(present.id)}`;
  if (test === null) {
    web.pages.flash(h, 'failed', 'No test sign-in was made with the present metadata.');
    return web.pages.redirect(h, back);
  }
  const changed = { ...present, ...flagsFor(test.signed) };
  const next = entries.map((entry) => (entry === present ? changed : entry));
  return act(web, request, h, {
    write: changesList(callerOf(request), form, entries, next),
    back,
    done: () => `The flags ask for what the provider signs: ${SIGNED[test.signed]}.`,
    failed: (errors) => errorLine(errors),
  });
}
