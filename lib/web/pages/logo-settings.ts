// The logo, for administrators: an address elsewhere, an image that is kept here, or none. The
// image comes as a file of a form, so no script is needed. docs/api.md#the-configuration.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import type { Logo } from '../../../models/index.ts';
import { callerOf } from '../../kit/http/request-caller.ts';
import type { FormErrors } from '../kit/plain-words.ts';
import { type FieldError, sentenceOf } from '../../kit/validation/messages.ts';
import { textOf } from '../kit/form-token.ts';
import { logoAddress } from '../kit/logo.ts';
import { adminPage } from '../kit/route.ts';
import { performs, saveForm } from '../kit/save.ts';
import { fixedSentence, readSettings, settingTabs } from '../parts/settings.ts';
import type { Web } from '../kit/web.ts';

const PATH = '/settings/customization';
/** One MiB, what is around it, and something to be refused with words. */
const UPLOAD_BYTES_MAX = 2_500_000;

const takesImage = {
  payload: {
    allow: ['multipart/form-data', 'application/x-www-form-urlencoded'],
    maxBytes: UPLOAD_BYTES_MAX,
    multipart: { output: 'annotated' as const },
  },
};

/** The routes of the logo. */
export function logoSettingPages(web: Web): ServerRoute[] {
  return [
    adminPage('GET', PATH, (request, h) => show(web, request, h)),
    adminPage('POST', PATH, (request, h) => save(web, request, h), takesImage),
  ];
}

async function show(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  { url, errors = {} }: { url?: string; errors?: FormErrors } = {},
): Promise<ResponseObject> {
  const logo = (await readSettings(web))['logo'] as Logo;
  return web.pages.show(request, h, 'logo-settings', {
    title: 'Logo',
    tabs: settingTabs(request),
    present: logoAddress(logo, web.outside),
    url: url ?? logo.url ?? '',
    errors: ((errors['logo'] ?? []) as FieldError[]).map(sentenceOf),
    locked: fixedSentence(web, 'logo'),
  });
}

async function save(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const wish = textOf(request, 'do');
  const url = textOf(request, 'url').trim();
  const logo = wish === 'image' ? imageOf(request) : wish === 'url' ? { url } : {};
  return saveForm(web, request, h, {
    write: performs(callerOf(request), 'updateConfiguration', { record: { logo } }),
    again: (errors) => show(web, request, h, { url, errors }),
    done: () => ({
      said: wish === 'none' ? 'The logo is gone.' : 'The logo is changed.',
      to: PATH,
    }),
  });
}

/** The file as the API takes it; without one, something that its rules refuse. */
function imageOf({ payload }: Request): object {
  const { image } = (payload ?? {}) as { image?: unknown };
  const { payload: bytes, headers } = (image ?? {}) as {
    payload?: unknown;
    headers?: Record<string, unknown>;
  };
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) return { data: '', type: 'image/none' };
  return { data: bytes.toString('base64'), type: headers?.['content-type'] };
}
