// What the form of a new rule begins with: nothing, whose page led there, a copy of another rule,
// or a refused packet that is to be accepted, for those of its person, their groups and everyone
// for whom a rule would let it pass.

import { randomUUID } from 'node:crypto';
import type { Request } from '@hapi/hapi';
import { parseAddress } from '../../../dataplane/index.ts';
import { type ObeyedRule, readGroupsOfUsers, readUsers } from '../../../models/index.ts';
import { type OwnedTest, PolicyTrial } from '../../domain/policy/trial.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import { type Typed, typedFrom } from '../kit/form.ts';
import { queryText } from '../kit/searched.ts';
import type { Web } from '../kit/web.ts';
import { ownersOf } from './owners.ts';
import { presentRule, ruleForm } from './rule-form.ts';
import { EVERYONE, groupText } from './rule-whose.ts';

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
    /** Where nobody is offered: the rule that would still refuse the packet; null: none does. */
    readonly decider: string | null;
  } | null;
}

/** Somebody for whom a rule can be. */
interface Scope {
  readonly text: string;
  readonly user_id: string | null;
  readonly group_id: string | null;
}

const ruleProtocols = ['tcp', 'udp', 'icmp'] as const;

/** Reads the address of the form. */
export async function draftIn(web: Web, request: Pick<Request, 'query'>): Promise<Draft> {
  const asked = (name: string): string => queryText(request, name);
  const copied = asked('copy');
  if (isUuid(copied)) return { typed: await presentRule(web, copied.toLowerCase()), offer: null };
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

async function offerFor(web: Web, request: Pick<Request, 'query'>): Promise<Draft['offer']> {
  const { database } = web.services;
  const id = queryText(request, 'device_id').toLowerCase();
  const device = isUuid(id) ? await database.models.Device.findByPk(id) : null;
  if (device === null) return null;
  const owner = (await ownersOf(database, [device])).get(device.user_id);
  const groupIds = (await readGroupsOfUsers(database, [device.user_id])).get(device.user_id) ?? [];
  const groups = await database.models.Group.findAll({ where: { id: groupIds } });
  const scopes: Scope[] = [
    ...(owner === undefined ? [] : [{ text: owner.email, user_id: owner.id, group_id: null }]),
    ...groups.map((group) => ({ text: groupText(group.name), user_id: null, group_id: group.id })),
    { text: EVERYONE, user_id: null, group_id: null },
  ];
  const tried = await tryScopes(web, request, { ownerId: device.user_id, groupIds }, scopes);
  const texts = tried.passing.map(({ text }) => text);
  const chosen = queryText(request, 'for') || texts[0];
  const query = new URLSearchParams(request.query as Record<string, string>);
  return {
    device: { id: device.id, name: device.name },
    decider: tried.decider,
    whose: [...new Set(texts)].map((text) => {
      query.set('for', text);
      return { text, href: `/rules/new?${query.toString()}`, isChosen: text === chosen };
    }),
  };
}

/**
 * Those of some scopes for whom a rule lets the packet pass that an address names: a rule that is
 * asked before it may still refuse the packet. An unknown packet passes with any.
 */
async function tryScopes(
  web: Web,
  request: Pick<Request, 'query'>,
  sender: Pick<OwnedTest, 'ownerId' | 'groupIds'>,
  scopes: readonly Scope[],
): Promise<{ readonly passing: readonly Scope[]; readonly decider: string | null }> {
  const [destination, word, port] = ['destination', 'protocol', 'port'].map((name) =>
    queryText(request, name),
  ) as [string, string, string];
  const protocol = ruleProtocols.find((one) => one === word);
  const isPort = isValidPort(port);
  if (parseAddress(destination) === null || protocol === undefined || isPort === (word === 'icmp'))
    return { passing: scopes, decider: null };
  const id = randomUUID();
  const test: OwnedTest = {
    ...sender,
    id,
    name: '',
    user_id: sender.ownerId,
    device_id: null,
    destination,
    protocol,
    port: isPort ? Number(port) : null,
    expect: 'accept',
  };
  const trial = await PolicyTrial.open(web, [test], { atMs: Date.now() });
  let decider: string | null = null;
  const passing = scopes.filter(({ user_id, group_id }) => {
    const rule: ObeyedRule = {
      id,
      user_id,
      group_id,
      action: 'accept',
      destination,
      protocol: protocol === 'icmp' ? protocol : null,
      port_type: protocol === 'icmp' ? null : protocol,
      port_start: test.port,
      port_end: test.port,
      enabled: true,
      enforced: true,
      starts_at: null,
      ends_at: null,
    };
    trial.change(null, rule);
    const { passes, ruleId } = trial.judge(test);
    trial.change(rule, null);
    if (!passes) decider ??= ruleId;
    return passes;
  });
  return { passing, decider };
}

function isValidPort(text: string): boolean {
  return /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535;
}
