// What an API token can be used for. A token has scopes, and each operation says which of them open
// it; one that says none is open to the scope `admin` alone. docs/api.md#scopes.

import { ApiError } from '../http/errors.ts';
import { oneOfWords } from '../validation/messages.ts';

/** All scopes. `admin` includes the others. */
export const SCOPES = ['admin', 'read', 'metrics', 'capture'] as const;

/** A scope of a token. */
export type Scope = (typeof SCOPES)[number];

/** The scopes of a token for which none were named. */
export const DEFAULT_SCOPES: readonly Scope[] = ['admin'];

/** True for the name of a scope. */
export function isScope(word: unknown): word is Scope {
  return SCOPES.some((scope) => scope === word);
}

/** What a route says of its operation. */
interface Route {
  readonly settings: { readonly app?: { readonly scopes?: readonly Scope[] } | undefined };
}

/** The scopes that open an operation beside `admin`; there are none for one that writes. */
export function scopesFor({ settings }: Route): readonly Scope[] {
  return settings.app?.scopes ?? [];
}

/** Throws `insufficient_scope` if a token with these scopes does not open an operation. */
export function requireScope(route: Route, scopes: readonly Scope[]): void {
  if (scopes.includes('admin')) return;
  const opening = scopesFor(route);
  if (!opening.some((scope) => scopes.includes(scope)))
    throw new ApiError('insufficient_scope', {
      errors: { scopes: [oneOfWords(`${['admin', ...opening].join(', ')} for this`)] },
    });
}

/** The scopes that are kept as words with spaces between. */
export function scopesIn(text: string): Scope[] {
  const words = text.split(' ');
  return SCOPES.filter((scope) => words.includes(scope));
}

/** Scopes as they are kept. Beside `admin` the others say nothing, so they are left out. */
export function scopeText(scopes: readonly Scope[]): string {
  if (scopes.includes('admin')) return 'admin';
  return SCOPES.filter((scope) => scopes.includes(scope)).join(' ');
}
