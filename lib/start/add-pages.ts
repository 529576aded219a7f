// Adds the console to a server. It is loaded with the first request for a page, because many
// gateways never get one: the pages cost as much to load and to make as all the rest of the server.

import type { Server } from '@hapi/hapi';
import type { UnnamedProxies } from '../kit/http/unnamed-proxies.ts';
import { webPages } from '../web/index.ts';
import { Jobs } from '../web/kit/jobs.ts';
import type { Web } from '../web/kit/web.ts';
import { LiveStatus } from '../web/parts/live-status.ts';

/** What the console is made of, beside its own state. */
export interface Console extends Omit<Web, 'live' | 'jobs'> {
  readonly unnamed: UnnamedProxies;
}

/** Adds all pages; `webPages` registers at once, so they are there when the call returns. */
export function addPages(server: Server, { unnamed, ...parts }: Console): void {
  const { services, recall, pages } = parts;
  const live = new LiveStatus({ ...services, unnamed }, recall, pages.assets.version);
  const options: Web = { ...parts, live, jobs: new Jobs(services.log) };
  void server.register({ plugin: webPages, options });
}
