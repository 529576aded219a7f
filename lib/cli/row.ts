// A command that writes is a row: which operation it performs, what it sends to it, and how it
// prints the answer. Rows load no room of the domain, because a dry run, which the gateway makes,
// needs none.

import type { OperationName } from '../kit/operations/places.ts';
import type { Hints } from './error-words.ts';
import type { Command, Given, Outcome } from './run.ts';

/** A record that somebody named. */
export interface Named {
  readonly id: string;
  readonly name: string;
}

/** Finds what somebody named: in the database, or at the gateway that runs. Throws a sentence. */
export interface Finds {
  /** By e-mail address, which is the name, id or short id. */
  user(named: string): Promise<Named>;
  /** By name, id or short id. */
  group(named: string): Promise<Named>;
  /** By owner and name, a name that only one has, address, id or short id. */
  device(named: string): Promise<Named>;
  /** Null: there is none. */
  deviceIfAny(named: string): Promise<Named | null>;
  /** By id or short id. Its id is also its name. */
  rule(named: string): Promise<Named>;
  /** The id for a short id; any other text stays, and the operation says whether it is one. */
  policyTest(named: string): Promise<string>;
  token(named: string): Promise<string>;
}

/** The parts of a path by their names. */
export type Params = Readonly<Record<string, string>>;

/** What an operation is sent. */
export interface Sending {
  /**
   * The parts of the path that its template names. A function is asked for them after the body was
   * validated: a value that is none is wrong usage, whatever is there.
   */
  readonly params?: Params | (() => Promise<Params>);
  /** With its wrapper. */
  readonly body?: object;
  /** Whether it is written although policy tests fail then; left out: as `--force` says. */
  readonly force?: boolean;
  /** What the path means, as people know it. */
  readonly named?: string;
  /** By the names of fields what errors of them are said of in place of the name. */
  readonly called?: Readonly<Record<string, string>>;
}

/** An operation that was performed. */
export interface Done {
  /** Empty where nothing is left to show. */
  readonly answer: Readonly<Record<string, unknown>>;
  readonly sent: Sending;
  readonly params: Params;
  readonly command: Command;
  readonly given: Given;
  /** How many policy tests fail because of it. */
  readonly failing: number;
}

/** How what is refused is put into words. */
export interface RefusalWords {
  readonly hints?: Hints;
  /** What is said where the path names nothing; `named` is what was sent as that. */
  readonly absent?: (named: string) => Error;
  /** What --force would do although policy tests fail: `the rule is made`. */
  readonly forced?: string;
}

/** A command that performs an operation. */
export interface Row extends RefusalWords {
  readonly operation: OperationName;
  readonly sends: (command: Command, finds: Finds) => Sending | Promise<Sending>;
  readonly says: (done: Done) => Outcome | Promise<Outcome>;
}
