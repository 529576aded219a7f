// A person before their own devices, without a browser: what tests of the portal begin with.

import type { Device } from '../../../models/index.ts';
import { newKey, type TestServer } from '../api/server.ts';
import { addPerson, type Shown, Visitor } from './visitor.ts';

/** Makes a user and signs them in. */
export async function visit(
  server: TestServer,
  email: string,
  role: 'admin' | 'unprivileged' = 'unprivileged',
): Promise<Visitor> {
  await addPerson(server.database, email, { role });
  const visitor = new Visitor(server);
  await visitor.signIn(email);
  await visitor.get('/user_account');
  return visitor;
}

/** Adds a device by the form; returns the answer to it. */
export function addByForm(visitor: Visitor, fields: Record<string, string> = {}): Promise<Shown> {
  return visitor.post('/user_devices/new', { public_key: newKey(), ...fields });
}

/** Adds a device by the form, and finds its row. */
export async function addOwn(
  server: TestServer,
  visitor: Visitor,
  fields: Record<string, string> = {},
): Promise<Device> {
  const { location, status, text } = await addByForm(visitor, fields);
  const [, id] = /^\/user_devices\/([0-9a-f-]{36})\/file$/.exec(location ?? '') ?? [];
  if (id === undefined) throw new Error(`${status} ${location}: ${text}`);
  return server.database.models.Device.findByPk(id, { rejectOnEmpty: true });
}

/** Changes the configuration in an administrator's name. */
export async function configure(server: TestServer, configuration: object): Promise<void> {
  const { status, text } = await server.send('PATCH', '/v0/configuration', {
    body: { configuration },
  });
  if (status !== 200) throw new Error(text);
}
