// Finds an operation by the method and the path of a request, or a write by its id.

import type { Method, Operation, Writing } from './operation.ts';

/** An operation that was found, and the parts of the path that it names. */
export interface Found<One> {
  readonly operation: One;
  readonly params: Readonly<Record<string, string>>;
}

/** The operations of a path, whatever their method. */
export function operationsAt<One extends Pick<Operation<never>, 'path'>>(
  operations: readonly One[],
  path: string,
): Found<One>[] {
  return operations.flatMap((operation) => {
    const params = paramsIn(operation.path, path);
    return params === null ? [] : [{ operation, params }];
  });
}

/** Whether a request of this method asks for an operation: PUT means PATCH too. */
export function answersTo({ method }: Pick<Operation<never>, 'method'>, asked: Method): boolean {
  return method === asked || (method === 'PATCH' && asked === 'PUT');
}

/** The parts of a path that its template names; null where the path is another one. */
function paramsIn(template: string, path: string): Record<string, string> | null {
  const [names, parts] = [template.split('/'), path.split('/')];
  if (names.length !== parts.length) return null;
  const params: Record<string, string> = {};
  for (const [i, name] of names.entries()) {
    const part = parts[i] ?? '';
    if (!name.startsWith('{')) {
      if (name !== part) return null;
    } else if (/^[^?#]+$/.test(part)) params[name.slice(1, -1)] = decoded(part);
    else return null;
  }
  return params;
}

/** An id that is badly encoded is one that nobody has. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return '';
  }
}

/** The operation with an id, which writes; a program that names another one is wrong. */
export function writeNamed<Rooms>(
  operations: readonly Operation<Rooms>[],
  id: string,
): Writing<Rooms> {
  const found = operations.find((operation) => operation.id === id);
  if (found === undefined) throw new Error(`no operation is called ${id}`);
  if (found.kind !== 'write') throw new Error(`${id} writes nothing`);
  return found;
}
