// Everything that can be reached from an object, private fields included, as bytes and texts that
// can be compared. JavaScript does not show the private fields of others, but its debugger does.

import { type Runtime, Session } from 'node:inspector';

/** What the debugger answers about an object; the types of Node leave out what is experimental. */
interface Properties extends Runtime.GetPropertiesReturnType {
  readonly privateProperties?: readonly {
    readonly name: string;
    readonly value?: Runtime.RemoteObject;
  }[];
}

/**
 * What judges write while they work out a verdict: the packets that they compare with rules, and the
 * rule of the last decision. No verdict reads what an earlier one left there.
 */
export const SCRATCH = ['#quoted', '#opening', '#matched', '#place', '#staged'];

/** By path: a primitive value as text, or the bytes of a buffer. */
export type WholeState = ReadonlyMap<string, string | Uint8Array>;

/** Where the debugger finds the object that is asked about. */
const HELD = '__heldForWholeState';

/** Reads objects by the debugger of this thread. */
export class StateReader {
  readonly #session = new Session();
  readonly #held: unknown[] = [];
  /** The prototypes of objects without private fields: all objects of a class have the same ones. */
  readonly #withoutPrivate = new Set<unknown>();

  constructor() {
    this.#session.connect();
    Reflect.set(globalThis, HELD, this.#held);
  }

  /**
   * Reads all that `root` leads to, except fields with these names (private ones with their #).
   * Bytes are those of the buffers themselves, which may change later.
   */
  read(root: object, except: readonly string[] = []): WholeState {
    const state = new Map<string, string | Uint8Array>();
    const paths = new Map<unknown, string>();
    const waiting: [path: string, value: unknown][] = [['', root]];
    for (;;) {
      const next = waiting.pop();
      if (next === undefined) break;
      const [path, value] = next;
      const known = paths.get(value);
      if (!isObject(value)) state.set(path, String(value));
      else if (known !== undefined) state.set(path, `is ${known}`);
      else {
        paths.set(value, path);
        if (value instanceof ArrayBuffer) state.set(path, new Uint8Array(value));
        else
          for (const [name, part] of this.#partsOf(value))
            if (!except.includes(name)) waiting.push([`${path}.${name}`, part]);
      }
    }
    return state;
  }

  /** A private field of an object, by its name with #; throws where there is none. */
  privateField(object: object, name: string): unknown {
    for (const [found, value] of this.#privateFieldsOf(object)) if (found === name) return value;
    throw new Error(`no field ${name}`);
  }

  close(): void {
    this.#session.disconnect();
    Reflect.deleteProperty(globalThis, HELD);
  }

  *#partsOf(value: object): Generator<[name: string, part: unknown]> {
    if (ArrayBuffer.isView(value)) {
      yield ['buffer', value.buffer];
      return;
    }
    // The place in a list counts as well: a map is read in its order.
    if (value instanceof Map || value instanceof Set)
      for (const [i, entry] of [...value.entries()].entries()) {
        yield [`key ${i}`, entry[0]];
        yield [`value ${i}`, entry[1]];
      }
    for (const [name, { value: part }] of Object.entries(Object.getOwnPropertyDescriptors(value)))
      yield [name, part];
    yield* this.#privateFieldsOf(value);
  }

  /** The private fields of an object, by name with #. */
  *#privateFieldsOf(value: object): Generator<[name: string, part: unknown]> {
    const kind: unknown = Object.getPrototypeOf(value);
    if (this.#withoutPrivate.has(kind)) return;
    this.#held.push(value);
    const { result } = this.#ask('Runtime.evaluate', {
      expression: `${HELD}.pop()`,
    }) as Runtime.EvaluateReturnType;
    const { objectId = '' } = result;
    const { privateProperties = [] } = this.#ask('Runtime.getProperties', {
      objectId,
      ownProperties: true,
    }) as Properties;
    if (privateProperties.length === 0) this.#withoutPrivate.add(kind);
    for (const { name, value: found } of privateProperties)
      if (found !== undefined) yield [name, this.#valueOf(found)];
    this.#ask('Runtime.releaseObject', { objectId });
  }

  #valueOf({ objectId, value, unserializableValue }: Runtime.RemoteObject): unknown {
    if (objectId === undefined) return unserializableValue ?? value;
    this.#ask('Runtime.callFunctionOn', {
      objectId,
      functionDeclaration: `function () { ${HELD}.push(this); }`,
    });
    this.#ask('Runtime.releaseObject', { objectId });
    return this.#held.pop();
  }

  /** The debugger of the own thread answers before `post` returns. */
  #ask(method: string, parameters: object): unknown {
    let answer: unknown;
    this.#session.post(method, parameters, (error, result) => {
      if (error !== null) throw new Error(`${method}: ${error.message}`);
      answer = result;
    });
    return answer;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** A state that stays as it is, with copies of all bytes. */
export function copyOf(state: WholeState): WholeState {
  return new Map(
    [...state].map(([path, value]) => [path, typeof value === 'string' ? value : value.slice()]),
  );
}

/** The paths at which two states differ. */
export function differences(before: WholeState, after: WholeState): string[] {
  const paths = new Set([...before.keys(), ...after.keys()]);
  return [...paths].filter((path) => !isSame(before.get(path), after.get(path)));
}

function isSame(a: string | Uint8Array | undefined, b: string | Uint8Array | undefined): boolean {
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0;
  return a === b;
}
