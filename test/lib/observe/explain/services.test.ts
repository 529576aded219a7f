// Which services a person may use: ports that are decided alike are one range, and the rules of a
// person, of groups and of everyone lie above each other.

import test from 'ava';
import { configOf } from '../../../support/api/server.ts';
import { emptyTrial } from '../../../../lib/domain/policy/trial.ts';
import { ServicesOfAddress } from '../../../../lib/observe/explain/services.ts';
import { GLOBAL_SCOPE, type RuleConfig } from '../../../../dataplane/index.ts';

function rule(id: string, action: 'accept' | 'drop', first: number, last: number): RuleConfig {
  const address = new Uint8Array([10, 0, 0, 0]);
  return { id, action, address, prefixBits: 8, portType: 'tcp', portFirst: first, portLast: last };
}

test('the rules of a person cut the ranges of those of everyone', async (t) => {
  const trial = emptyTrial(configOf(), 'drop');
  const [everyone, own] = [rule('e', 'accept', 10, 20), rule('o', 'drop', 12, 13)];
  trial.amend(
    new Map([
      [GLOBAL_SCOPE, new Map([['e', [everyone]]])],
      ['ann', new Map([['o', [own]]])],
    ]),
  );
  const services = new ServicesOfAddress({
    trial,
    rules: { ofEveryone: [everyone], ofGroup: new Map(), ofUser: new Map([['ann', [own]]]) },
    destination: '10.0.0.5',
    asked: { protocol: 'tcp', port: null },
    listenPort: 51_820,
    numbersOf: () => '',
    pause: async () => undefined,
  });
  const ranges = async (user: string) =>
    (await services.decide(user, []))
      .filter(({ reason }) => reason === 'none')
      .map(({ first, last, rule: id }) => [first, last, id]);
  t.deepEqual(await ranges('bob'), [[10, 20, 'e']]);
  t.deepEqual(await ranges('ann'), [
    [10, 11, 'e'],
    [14, 20, 'e'],
  ]);
});
