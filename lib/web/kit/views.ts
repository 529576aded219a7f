// The templates: eta behind hapi's vision. Every `<%= %>` is escaped; `<%~ %>` is for what another
// template made. A view is put into the layout, and may include partials by paths from `views`.

import { join } from 'node:path';
import type { Server } from '@hapi/hapi';
import vision from '@hapi/vision';
import { Eta } from 'eta';

const VIEWS = join(import.meta.dirname, '../views');

/** Renders a view within the layout; rejects where a template has a fault. */
export type Render = (view: string, context: object) => Promise<string>;

/** Lets a server render the templates of this folder. */
export function createViews(server: Server): Render {
  const eta = new Eta({ views: VIEWS, autoEscape: true, cache: true });
  void server.register(vision);
  const manager = server.views({
    engines: {
      eta: {
        compile: (template: string, { filename }: { filename: string }) => {
          const compiled = eta.compile(template, { filepath: filename });
          return (context: object) => eta.render(compiled, context, { filepath: filename });
        },
      },
    },
    path: VIEWS,
    layout: true,
  });
  return (view, context) => manager.render(view, context);
}
