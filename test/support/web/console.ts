// The console as tests visit it: a server with an administrator who signed in, and a user who may
// not see any of it.

import type { ExecutionContext } from 'ava';
import type { Services } from '../../../lib/services.ts';
import type { User } from '../../../models/index.ts';
import type { TestDatabaseKind } from '../database/databases.ts';
import { openServer, type TestServer } from '../api/server.ts';
import { addPerson, type Shown, Visitor } from './visitor.ts';

/** Text that must never become markup, a script or an attribute. */
export const NASTY = `"><img src=x onerror=alert(1)><script>alert('x')</script>' {{7*7}} <%= 7*7 %>`;

/** A server with people who signed in. */
export interface Console extends TestServer {
  readonly admin: Visitor;
  readonly adminUser: User;
  readonly user: Visitor;
  readonly plainUser: User;
}

/** Opens the console. */
export async function openConsole(
  t: ExecutionContext,
  kind: TestDatabaseKind,
  settings: Record<string, string> = {},
  services: Partial<Services> = {},
): Promise<Console> {
  const server = await openServer(t, kind, settings, services);
  const adminUser = await addPerson(server.database, 'boss@example.com', { role: 'admin' });
  const plainUser = await addPerson(server.database, 'user@example.com');
  const [admin, user] = [new Visitor(server), new Visitor(server)];
  for (const [visitor, { email }] of [
    [admin, adminUser],
    [user, plainUser],
  ] as const) {
    const { status, text } = await visitor.signIn(email);
    if (status !== 303) throw new Error(`${email} cannot sign in: ${status} ${text}`);
    await visitor.get('/user_account');
  }
  return { ...server, admin, adminUser, user, plainUser };
}

/** Pages and forms that only administrators get; everybody else is refused, whatever is sent. */
export async function checkGuard(
  t: ExecutionContext,
  { admin, user, server }: Console,
  routes: { pages?: readonly string[]; forms?: readonly string[] },
): Promise<void> {
  const stranger = new Visitor({ server });
  await stranger.get('/');
  for (const path of routes.pages ?? []) {
    t.is((await admin.get(path)).status, 200, path);
    t.is((await user.get(path)).status, 403, path);
    const { status, location } = await stranger.get(path);
    t.is(status, 302, path);
    t.regex(String(location), /^\/(\?return_to=|$)/, path);
  }
  await user.get('/user_account');
  await stranger.get('/');
  for (const path of routes.forms ?? []) {
    t.is((await user.post(path)).status, 403, path);
    t.is((await stranger.post(path)).status, 302, path);
    const token = admin.token;
    admin.token = 'x';
    t.is((await admin.post(path)).status, 403, `${path} without a token`);
    admin.token = token;
    admin.headers['sec-fetch-site'] = 'cross-site';
    t.is((await admin.post(path)).status, 403, `${path} from another site`);
    delete admin.headers['sec-fetch-site'];
  }
}

/** Fails where text of a person became markup. */
export function checkText(t: ExecutionContext, { text }: Pick<Shown, 'text'>, where: string): void {
  t.false(text.includes('<img src=x'), `${where}: an element`);
  t.false(text.includes("alert('x')"), `${where}: a script`);
  t.false(/<[^>]*\sonerror=/.test(text.replaceAll(/"[^"]*"/g, '""')), `${where}: an attribute`);
  t.false(text.includes('{{7*7}} 49'), `${where}: a template`);
}
