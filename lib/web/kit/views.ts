// The templates. Every `<%= %>` is escaped; `<%~ %>` is for what another template or `sayMarked`
// made. A view is put into the layout, and may include partials by paths from `views`.

import { join } from 'node:path';
import { Eta } from 'eta';

const VIEWS = join(import.meta.dirname, '../views');

/** Renders a view within the layout; rejects where a template has an error. */
export type Render = (view: string, context: object) => Promise<string>;

/** Renders the templates of this folder; each is compiled once. */
export function createViews(): Render {
  const eta = new Eta({ views: VIEWS, autoEscape: true, cache: true });
  return async (view, context) =>
    eta.render('layout', { ...context, content: eta.render(view, context) });
}
