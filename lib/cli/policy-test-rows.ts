// The commands that make and delete policy tests.

import { commandLine } from '../kit/process/command-line.ts';
import type { Hints } from './error-words.ts';
import type { CommandName } from './grammar.ts';
import type { Finds, Row } from './row.ts';

/** What a command takes for the fields that are typed as options. */
const HINTS: Hints = {
  user_id: '--email ann@example.com, or --device ann@example.com/laptop',
  device_id: '--device ann@example.com/laptop; see device list',
  destination: '--destination 10.0.0.5; networks and names of hosts are not possible',
  protocol: '--protocol tcp|udp|icmp',
  port: '--port 443',
  expect: '--expect accept|drop',
};

/** Rows of commands. */
export const policyTestRows = {
  'policy-test create': {
    operation: 'createPolicyTest',
    hints: HINTS,
    async sends({ options }, finds) {
      const { name, email, device, destination, protocol, port, expect } = options;
      const test = {
        name,
        user_id: email === undefined ? null : (await finds.user(email)).id,
        device_id: await deviceIdOf(finds, device),
        destination,
        protocol,
        port: port ?? null,
        expect,
      };
      return { body: { policy_test: test } };
    },
    says: ({ answer }) => ({
      text: String(answer['id']),
      data: answer,
      ...(answer['passes'] === true ? {} : { note: `It fails: ${String(answer['text'])}` }),
    }),
  },
  'policy-test delete': {
    operation: 'deletePolicyTest',
    absent: (id) =>
      new Error(`there is no policy test ${id}; see: ${commandLine('policy-test list')}`),
    async sends({ options: { id: named = '' } }, finds) {
      return { params: { id: await finds.policyTest(named) }, named };
    },
    says: ({ params: { id } }) => ({ text: `${id} is removed.`, data: { id, removed: true } }),
  },
} as const satisfies Partial<Record<CommandName, Row>>;

/** The operation says of what names no device that it is none. */
async function deviceIdOf(finds: Finds, named: string | undefined): Promise<string | null> {
  if (named === undefined) return null;
  return (await finds.deviceIfAny(named))?.id ?? named;
}
