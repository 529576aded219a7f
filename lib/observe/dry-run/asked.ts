// Finds the operation that is to be tried, by its method, its path and its body, among those that
// may be tried. docs/api.md#what-a-write-would-do.

import { choice, joi, mark, resource, text } from '../../kit/validation/fields.ts';
import {
  addError,
  hasNoErrors,
  type Validated,
  validatorOf,
} from '../../kit/validation/validate.ts';
import { messages } from '../../kit/validation/messages.ts';
import { answersTo, type Found, operationsAt } from '../../kit/operations/find.ts';
import type { Operation } from '../../kit/operations/operation.ts';
import { refusalFor } from '../../kit/records/writes.ts';

/** The methods of operations that can be tried. */
const METHODS = ['POST', 'PATCH', 'PUT', 'DELETE'] as const;

/** What may be sent. */
export const askedFields = resource({
  method: choice('The method of the operation.', ...METHODS).required(),
  path: mark(
    text(
      'Its path: that of rules, devices, users or groups, of one of them, or of the members of a group.',
    ).required(),
    {
      json: {
        pattern: '^/v0/((rules|devices|users|groups)(/[^/?#]+)?|groups/[^/?#]+/members)$',
      },
    },
  ),
  body: joi
    .object()
    .unknown()
    .allow(null)
    .description('Its body, with the wrapper; DELETE has none.'),
});

/** What was sent. */
export interface AskedValues {
  readonly method?: (typeof METHODS)[number];
  readonly path?: string;
  readonly body?: object | null;
}

/** Validates the form of what was sent. */
export const validateAsked = validatorOf<AskedValues>(askedFields);

/** Finds the operation that was asked for among those that may be tried; throws the errors. */
export function findAsked<One extends Pick<Operation<never>, 'method' | 'path'>>(
  triable: readonly One[],
  { values, errors: present }: Validated<AskedValues>,
): Found<One> {
  const errors = { ...present };
  const { method = 'POST', path = '' } = values;
  const atPath = operationsAt(triable, path);
  const found = atPath.find(({ operation }) => answersTo(operation, method));
  const isReadable = errors['path'] === undefined && errors['method'] === undefined;
  if (isReadable && found === undefined) {
    const isMethodOf = (template: string): boolean =>
      triable.some((one) => one.path === template && answersTo(one, method));
    const [template = null] = atPath.map(({ operation }) => operation.path);
    if (template === null) addError(errors, 'path', messages.notTriable);
    else if (isMethodOf(`${template}/{id}`)) addError(errors, 'path', messages.idMissing);
    else if (isMethodOf(template.replace(/\/\{id\}$/, '')))
      addError(errors, 'path', messages.idTooMuch);
    else addError(errors, 'method', messages.onlyPost);
  }
  if (found === undefined || !hasNoErrors(errors)) throw refusalFor(errors);
  return found;
}
