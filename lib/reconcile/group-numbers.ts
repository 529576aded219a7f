// The numbers under which the packet path knows groups. A number belongs to one group for as long
// as somebody holds it. Numbers are used again only once all have been used: so nothing that is
// still in force for a group that is gone can mean another one.

import { GLOBAL_SCOPE, GROUP_NUMBERS, groupScope } from '../../dataplane/index.ts';
import type { ObeyedRule } from '../../models/index.ts';

interface Held {
  readonly id: string;
  holders: number;
}

/** Gives numbers to groups. */
export class GroupNumbers {
  readonly #numbers = new Map<string, number>();
  readonly #held = new Map<number, Held>();
  /** Numbers that nobody holds any more, the oldest first. */
  readonly #free: number[] = [];
  #next = 0;

  /** Holds the number of a group until `release`. */
  hold(id: string): number {
    const number = this.#numbers.get(id) ?? this.#give(id);
    const held = this.#held.get(number) ?? { id, holders: 0 };
    held.holders += 1;
    this.#held.set(number, held);
    return number;
  }

  release(number: number): void {
    const held = this.#held.get(number);
    if (held === undefined) throw new Error(`nobody holds group ${number}`);
    held.holders -= 1;
    if (held.holders > 0) return;
    this.#held.delete(number);
    this.#numbers.delete(held.id);
    this.#free.push(number);
  }

  /** A copy, which changes without the original. */
  copy(): GroupNumbers {
    const copy = new GroupNumbers();
    for (const [id, number] of this.#numbers) copy.#numbers.set(id, number);
    for (const [number, held] of this.#held) copy.#held.set(number, { ...held });
    copy.#free.push(...this.#free);
    copy.#next = this.#next;
    return copy;
  }

  #give(id: string): number {
    const number = this.#next < GROUP_NUMBERS ? this.#next++ : this.#free.shift();
    if (number === undefined) throw new RangeError(`more than ${GROUP_NUMBERS} groups are in use`);
    this.#numbers.set(id, number);
    return number;
  }
}

/** Holds the numbers of groups; the packet path takes them as one text, in ascending order. */
export function holdAll(numbers: GroupNumbers, ids: readonly string[]): string {
  const held = ids.map((id) => numbers.hold(id)).sort((a, b) => a - b);
  return String.fromCharCode(...held);
}

/** Releases the numbers that `holdAll` holds. */
export function releaseAll(numbers: GroupNumbers, groups: string): void {
  for (let i = 0; i < groups.length; i += 1) numbers.release(groups.charCodeAt(i));
}

/** The name of the scope of a rule; holds the number of its group. */
export function holdScope(
  numbers: GroupNumbers,
  { user_id: userId, group_id: groupId }: Pick<ObeyedRule, 'user_id' | 'group_id'>,
): string {
  if (userId !== null) return userId;
  return groupId === null ? GLOBAL_SCOPE : groupScope(numbers.hold(groupId));
}
