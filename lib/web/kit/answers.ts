// How a handler answers a person: with a page, with a redirect, and with a message that the next
// page shows. Everything that each page needs beside its own values is put together here.

import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi';
import { type Database, isUnreadable } from '../../../models/index.ts';
import type { Recall } from '../../kit/records/recall.ts';
import { formToken, newSecret } from '../../auth/browser-cookies.ts';
import type { Sessions } from '../../auth/sessions.ts';
import { type Assets, findAssets } from './assets.ts';
import { allowLogo, logoAddress } from './logo.ts';
import { navigationOf } from './navigation.ts';
import { say, sayMarked } from './texts.ts';
import { plainWords } from './plain-words.ts';
import { timeInWords } from './words.ts';
import { createViews, type Render } from './views.ts';

/** What a message tells: that something is done, or that it is not. */
export type FlashKind = 'done' | 'failed' | 'warning';

/** A message for the next page. */
export interface Flash {
  readonly kind: FlashKind;
  readonly text: string;
  /** The path that undoes what is done; left out where nothing can be undone. */
  readonly undo?: string;
}

/** Values of a page; `title` names it in the browser and above it. */
export interface PageValues {
  readonly title: string;
  readonly [name: string]: unknown;
}

/** Binds the sealed cookie to its use. */
const FLASH_PLACE = { table: 'cookies', column: 'flash', id: '1' };
/** Longest text of a message; browsers take 4 KiB. */
const FLASH_CHARACTERS_MAX = 500;

declare module '@hapi/hapi' {
  interface RequestApplicationState {
    /** The secret to which forms of a browser are bound that is not signed in. */
    visitorSecret?: string;
    /** The secret of a session that began with this very request. */
    newSecret?: string;
    /** What the page may load from, and send forms to, beside this gateway. */
    allowedSources?: { readonly images?: string; readonly forms?: string };
  }
}

/** What pages are made with. */
export interface PagesOptions {
  readonly database: Database;
  readonly recall: Recall;
  readonly sessions: Sessions;
  readonly outside: string;
}

/** Answers of the web interface of one server. */
export class Pages {
  readonly assets: Assets = findAssets();
  readonly #options: PagesOptions;
  readonly #render: Render = createViews();

  constructor(options: PagesOptions) {
    this.#options = options;
  }

  /** Shows a view. A template with an error is an error of the request, logged and answered 500. */
  async show(
    request: Request,
    h: ResponseToolkit,
    view: string,
    values: PageValues,
  ): Promise<ResponseObject> {
    const context = await this.#contextOf(request, h, values);
    const html = await this.#render(view, context);
    return h.response(html).type('text/html; charset=utf-8');
  }

  /** Sends the browser to another page of this gateway, with GET. */
  redirect(h: ResponseToolkit, path: string): ResponseObject {
    return h.redirect(this.#options.outside + path).code(303);
  }

  /**
   * Sends the browser to another site, an identity provider say. A form's answer cannot redirect
   * there, since the page's policy forbids forms to lead elsewhere; this page may.
   */
  async leave(request: Request, h: ResponseToolkit, url: string): Promise<ResponseObject> {
    if (request.method === 'get') return h.redirect(url).code(302);
    const response = await this.show(request, h, 'leave', {
      title: say('leave.title'),
      url,
    });
    return response.header('refresh', `0;url=${new URL(url).href}`);
  }

  /** Tells something on the next page that the browser shows. */
  flash(h: ResponseToolkit, kind: FlashKind, text: string, undo?: string): void {
    const { database, sessions } = this.#options;
    const said = { kind, text: text.slice(0, FLASH_CHARACTERS_MAX) };
    const message: Flash = undo === undefined ? said : { ...said, undo };
    const sealed = database.keyring.seal(JSON.stringify(message), FLASH_PLACE);
    sessions.cookies.set(h, 'flash', Buffer.from(sealed).toString('base64url'));
  }

  /** The tokens by which a form of this browser is known; any of them will do. */
  formTokens(request: Request): string[] {
    const { cookies } = this.#options.sessions;
    const secrets = [
      request.app.newSecret ?? cookies.secretOf(request, 'session'),
      cookies.secretOf(request, 'visitor'),
    ];
    return secrets.filter((secret) => secret !== null).map(formToken);
  }

  /** What a page has that is shown whatever is broken: no user, no logo. */
  async showBare(request: Request, h: ResponseToolkit, view: string, values: PageValues) {
    const html = await this.#render(view, { ...this.#frameOf(request, h), ...values });
    return h.response(html).type('text/html; charset=utf-8');
  }

  async #contextOf(request: Request, h: ResponseToolkit, values: PageValues): Promise<object> {
    const { outside, recall, sessions } = this.#options;
    await recall.refresh();
    const { logo } = await recall.configuration();
    allowLogo(request, logo);
    const session = await sessions.find(request);
    const user = session?.state === 'open' ? session.user : null;
    return {
      ...this.#frameOf(request, h),
      ...values,
      logoUrl: logoAddress(logo, outside),
      flash: this.#takeFlash(request, h),
      user: user === null ? null : { id: user.id, email: user.email, role: user.role },
      navigation: user === null ? null : navigationOf(user.role, request.path),
      isSigningIn: session?.state === 'second factor',
    };
  }

  /** What every page has; costs no look at the database. */
  #frameOf(request: Request, h: ResponseToolkit): object {
    const { outside } = this.#options;
    return {
      logoUrl: null,
      flash: null,
      user: null,
      navigation: null,
      isSigningIn: false,
      csrfToken: this.#formToken(request, h),
      requestId: request.app.id,
      plain: plainWords,
      say,
      sayMarked,
      utc: timeInWords,
      path: (local: string): string => outside + local,
      here: hereOf(request),
      asset: (name: string): string => `${outside}/assets/${this.assets.version}/${name}`,
    };
  }

  /** The token for the forms of this page: the session's, or that of a visitor. */
  #formToken(request: Request, h: ResponseToolkit): string {
    const { cookies } = this.#options.sessions;
    const [present] = this.formTokens(request);
    if (present !== undefined) return present;
    // One page may hold several forms, and may be made again as an error page.
    request.app.visitorSecret ??= newSecret();
    cookies.set(h, 'visitor', request.app.visitorSecret);
    return formToken(request.app.visitorSecret);
  }

  #takeFlash(request: Request, h: ResponseToolkit): Flash | null {
    const { database, sessions } = this.#options;
    const value = sessions.cookies.read(request, 'flash');
    if (value === null) return null;
    sessions.cookies.clear(h, 'flash');
    try {
      const text = Buffer.from(value, 'base64url').toString();
      return JSON.parse(database.keyring.open(text, FLASH_PLACE)) as Flash;
    } catch (error) {
      // Somebody else's cookie, or one from before a key was changed.
      if (isUnreadable(error)) return null;
      throw error;
    }
  }
}

/** The address of a page; hapi has none for an error about a line that names no address. */
function hereOf({ path, url }: Request): string {
  return (url as URL | null) === null ? '/' : path + url.search;
}
