// What scripts ask while a rule is typed: whom it may be for, and which rules it meets. The rules
// come from memory. docs/api.md#rules.

import type { Request, ServerRoute } from '@hapi/hapi';
import { RuleMemory } from '../../domain/rules/rule-memory.ts';
import { validateRule } from '../../domain/rules/rules.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import { meaningOf } from '../../domain/rules/meaning.ts';
import { typedBy } from '../kit/form.ts';
import { adminPage } from '../kit/route.ts';
import { queryText, SEARCH_CHARACTERS_MAX } from '../kit/searched.ts';
import type { Web } from '../kit/web.ts';
import { ruleForm, ruleRecord } from '../parts/rule-form.ts';
import { meetingsOf } from '../parts/rule-meets.ts';
import { offeredWhose } from '../parts/rule-whose.ts';

/** The routes of these answers. */
export function ruleTypingPages(web: Web): ServerRoute[] {
  const { database } = web.services;
  const memory = new RuleMemory(database, web.recall);
  return [
    adminPage('GET', '/rules/whose', async (request, h) => {
      const text = queryText(request, 'q').slice(0, SEARCH_CHARACTERS_MAX);
      return h.response({ offers: await offeredWhose(database, text) });
    }),
    adminPage('GET', '/rules/meets', async (request, h) =>
      h.response(await meetsOf(web, memory, request)),
    ),
  ];
}

async function meetsOf(web: Web, memory: RuleMemory, request: Request): Promise<object> {
  const asked = queryText(request, 'id').toLowerCase();
  const id = isUuid(asked) ? asked : null;
  const typed = typedBy((name) => queryText(request, name), ruleForm);
  const record = await ruleRecord(web.services.database, typed);
  await web.recall.refresh();
  const input = validateRule(record, id === null ? 'create' : 'update');
  const touching = await web.rooms.rules.touching(input, id, memory);
  const meetings = await meetingsOf(web.services.database, touching);
  const { destination } = input.values;
  const isRead = destination !== undefined && input.errors['destination'] === undefined;
  return {
    meaning: isRead ? meaningOf(destination) : null,
    meetings: meetings.map(({ rules, ...meeting }) => ({
      ...meeting,
      rules: rules.map((rule) => ({ ...rule, href: web.outside + rule.href })),
    })),
  };
}
