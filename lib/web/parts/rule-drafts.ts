// What the form of a new rule begins with: nothing, whose page led there, a copy of another rule,
// or a refused packet that is to be accepted, for the person whose device sent it or for a group.

import type { Request } from '@hapi/hapi';
import { readGroupsOfUsers, readUsers } from '../../../models/index.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import { type Typed, typedFrom } from '../kit/form.ts';
import { queryText } from '../kit/searched.ts';
import type { Web } from '../kit/web.ts';
import { ownersOf } from './owners.ts';
import { ruleForm, typedRule } from './rule-form.ts';
import { EVERYONE, groupText, whoseText } from './rule-whose.ts';

/** A new rule, and for a refused packet whose it may be. */
export interface Draft {
  readonly typed: Typed;
  readonly offer: {
    readonly device: { readonly id: string; readonly name: string };
    readonly whose: readonly {
      readonly text: string;
      readonly href: string;
      readonly isChosen: boolean;
    }[];
  } | null;
}

/** Reads the address of the form. */
export async function draftIn(web: Web, request: Pick<Request, 'query'>): Promise<Draft> {
  const asked = (name: string): string => queryText(request, name);
  const copied = asked('copy');
  if (isUuid(copied)) return { typed: await copyOf(web, copied.toLowerCase()), offer: null };
  const group = asked('group');
  const offer = await offerFor(web, request);
  const typed = typedFrom(
    {
      action: 'accept',
      enabled: true,
      destination: asked('destination'),
      port_type: asked('protocol'),
      port_range: asked('port'),
      whose:
        offer?.whose.find(({ isChosen }) => isChosen)?.text ||
        (await emailIn(web, asked('user'))) ||
        (group === '' ? EVERYONE : groupText(group)),
    },
    ruleForm,
  );
  return { typed, offer };
}

/** The e-mail of a user whose id a list put into the address; what was typed stays. */
async function emailIn({ services }: Web, typed: string): Promise<string> {
  if (!isUuid(typed)) return typed;
  const [user] = await readUsers(services.database, { ids: [typed.toLowerCase()] });
  return user?.email ?? typed;
}

async function copyOf({ rooms, services }: Web, id: string): Promise<Typed> {
  const { user_id, group_id, ...rule } = await rooms.rules.show(id);
  return typedRule({ ...rule, whose: await whoseText(services.database, { user_id, group_id }) });
}

async function offerFor(web: Web, request: Pick<Request, 'query'>): Promise<Draft['offer']> {
  const { database } = web.services;
  const id = queryText(request, 'device_id').toLowerCase();
  const device = isUuid(id) ? await database.models.Device.findByPk(id) : null;
  if (device === null) return null;
  const owner = (await ownersOf(database, [device])).get(device.user_id);
  const groupIds = (await readGroupsOfUsers(database, [device.user_id])).get(device.user_id) ?? [];
  const groups = await database.models.Group.findAll({ where: { id: groupIds } });
  const texts = [owner?.email ?? EVERYONE, ...groups.map(({ name }) => groupText(name)), EVERYONE];
  const chosen = queryText(request, 'for') || texts[0];
  const query = new URLSearchParams(request.query as Record<string, string>);
  return {
    device: { id: device.id, name: device.name },
    whose: [...new Set(texts)].map((text) => {
      query.set('for', text);
      return { text, href: `/rules/new?${query.toString()}`, isChosen: text === chosen };
    }),
  };
}
