// The sentence about a named record that does not exist: equal with `--dry-run`, which asks the
// gateway, and without it.

import { commandLine } from './command-line.ts';

/** There is no device with such an id, address or name. */
export function noDevice(named: string): Error {
  return new Error(`there is no device ${named}; ${deviceIs()}`);
}

/** What may be typed where usage says DEVICE. */
export function deviceIs(): string {
  const list = commandLine('device list');
  return `DEVICE is ann@example.com/laptop, a name, an address or an id; see: ${list}`;
}

/** There is no rule with such an id. */
export function noRule(named: string): Error {
  return new Error(`there is no rule ${named}; see: ${commandLine('rule list')}`);
}

/** There is no group with such an id or name. */
export function noGroup(named: string): Error {
  return new Error(`there is no group ${named}; see: ${commandLine('group list')}`);
}

/** No user has such an e-mail address. */
export function noUser(email: string): Error {
  return new Error(
    `there is no user ${email}; see: ${commandLine('user list')}, or make one by: ` +
      commandLine('user create --email E'),
  );
}
