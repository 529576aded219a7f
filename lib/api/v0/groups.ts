// `/v0/groups`: groups of users, and who is in them. It is our own addition to the API.
// docs/api.md#groups.

import type { Request, ServerRoute } from '@hapi/hapi';
import { groupNameOf } from '../../../models/index.ts';
import { Groups, type GroupValues, judgeGroup, showGroup } from '../../groups/groups.ts';
import { judgeMembers, Members, type MembersSent, showMember } from '../../groups/members.ts';
import { callerOf } from '../../http/request-caller.ts';
import { isUuid, joi, mark, recordId, resource, text } from '../../judge/fields.ts';
import { judgeOf } from '../../judge/judge.ts';
import { ignoresBody, judgedBody, takesBody } from '../body.ts';
import { answerIdPage, type AskedPage, idPageFields, readIdPage } from '../id-pages.ts';
import { type ApiContext, isForced, outsidePath, route } from '../routes.ts';

const PATH = '/v0/groups';

/** The fields of a member, as they are answered. */
export const memberFields = resource({
  id: recordId('The user.'),
  email: mark(text('The e-mail of that user.'), { readOnly: true }),
  sources: mark(
    joi
      .array()
      .items(joi.string())
      .description('Who says so: `manual` (an administrator), or the id of an identity provider.'),
    { readOnly: true },
  ),
});

/** Parameters of the list of groups. */
export const groupParameters = resource({
  user_id: text('Only groups that this user is in.'),
  name: text('Only the group of exactly this name.'),
  ...idPageFields,
});

/** Parameters of the list of members. */
export const memberParameters = resource({ ...idPageFields });

const judgeAsked = judgeOf<AskedPage & { readonly user_id?: string; readonly name?: string }>(
  groupParameters,
);
const judgeAskedMembers = judgeOf<AskedPage>(memberParameters);

/** The routes. */
export function groupRoutes(context: ApiContext): ServerRoute[] {
  const { services } = context;
  const groups = new Groups(context);
  const one = `${PATH}/{id}`;
  const creates = takesBody({ wrapper: 'group', judge: judgeGroup, mode: 'create' });
  const updates = takesBody({ wrapper: 'group', judge: judgeGroup, mode: 'update' });
  return [
    route('GET', PATH, {}, async ({ url }, h) => {
      const { values, limit, sent } = readIdPage(url.search, judgeAsked);
      const { cursor: afterId = null, user_id: userId, name } = values;
      if (userId !== undefined && !isUuid(userId)) return { data: [] };
      const found = await groups.page({
        afterId,
        limit: limit + 1,
        ...(name === undefined ? {} : { name: groupNameOf(name) }),
        ...(userId === undefined ? {} : { memberId: userId.toLowerCase() }),
      });
      return answerIdPage(h, services, { path: PATH, sent, limit }, { found, show: showGroup });
    }),
    route('POST', PATH, creates, async (request, h) => {
      const shown = showGroup(
        await groups.create(callerOf(request), judgedBody<GroupValues>(request)),
      );
      const location = `${outsidePath(services)}${PATH}/${String(shown['id'])}`;
      return h.response({ data: shown }).created(location);
    }),
    route('GET', one, {}, async (request) => ({
      data: showGroup(await groups.find(partOf(request, 'id'))),
    })),
    route(['PATCH', 'PUT'], one, updates, async (request) => {
      const input = judgedBody<GroupValues>(request);
      return {
        data: showGroup(await groups.update(callerOf(request), partOf(request, 'id'), input)),
      };
    }),
    route('DELETE', one, ignoresBody, async (request, h) => {
      await groups.remove(callerOf(request), partOf(request, 'id'));
      return h.response().code(204);
    }),
    ...memberRoutes(context),
  ];
}

function memberRoutes(context: ApiContext): ServerRoute[] {
  const { services } = context;
  const members = new Members(context);
  const all = `${PATH}/{id}/members`;
  const one = `${all}/{user}`;
  const changes = takesBody({ wrapper: 'members', judge: judgeMembers, mode: 'update' });
  return [
    route('GET', all, {}, async (request, h) => {
      const { values, limit, sent } = readIdPage(request.url.search, judgeAskedMembers);
      const id = partOf(request, 'id');
      const { cursor: afterId = null } = values;
      const found = await members.page(id, { afterId, limit: limit + 1 });
      const path = `${PATH}/${id}/members`;
      return answerIdPage(h, services, { path, sent, limit }, { found, show: showMember });
    }),
    route('POST', all, changes, async (request) => ({
      data: await members.change(
        callerOf(request),
        partOf(request, 'id'),
        judgedBody<MembersSent>(request),
        isForced(request),
      ),
    })),
    route(['PUT'], one, ignoresBody, async (request) => ({
      data: showMember(
        await members.add(
          callerOf(request),
          partOf(request, 'id'),
          partOf(request, 'user'),
          isForced(request),
        ),
      ),
    })),
    route('DELETE', one, ignoresBody, async (request, h) => {
      await members.remove(callerOf(request), partOf(request, 'id'), partOf(request, 'user'));
      return h.response().code(204);
    }),
  ];
}

function partOf(request: Request, name: 'id' | 'user'): string {
  return String(request.params[name]);
}
