// Two teams with a network each, and what the rules make of the way to each of them.

import type { ExecutionContext } from 'ava';
import type { WholeGateway } from '../gateway/gateway-process.ts';

const NETWORKS = { Engineering: '10.91.0', Operations: '10.92.0' } as const;

/** What the gate of the rules makes of a packet to each network. */
type Judged = Readonly<Record<keyof typeof NETWORKS, string>>;

/** Makes both teams and their rules at a gateway that refuses all else. */
export async function makeTeams(
  t: ExecutionContext,
  gateway: WholeGateway,
): Promise<{
  /** Gives the user with this e-mail a device, and asks for its packets. */
  rulesLet: (email: string) => Promise<() => Promise<Judged>>;
}> {
  const send = async (method: string, path: string, body: object) => {
    const answer = await gateway.call(method, path, body);
    t.true(answer.status < 300, answer.text);
    return answer.body.data;
  };
  await send('PATCH', '/v0/configuration', { configuration: { default_action: 'drop' } });
  for (const [name, network] of Object.entries(NETWORKS)) {
    const group = await send('POST', '/v0/groups', { group: { name } });
    const rule = { action: 'accept', destination: `${network}.0/24`, group_id: group.id };
    await send('POST', '/v0/rules', { rule });
  }
  const judge = async (device_id: string, destination: string): Promise<string> => {
    const explain = { device_id, destination, protocol: 'tcp', port: 443 };
    const { gates } = await send('POST', '/v0/explain', { explain });
    return gates.find(({ code }: { code: string }) => code === 'rules').outcome;
  };
  return {
    rulesLet: async (email) => {
      const { data } = (await gateway.call('GET', `/v0/users/${email}`)).body;
      const device = { user_id: data.id, name: 'laptop', public_key: PUBLIC_KEY };
      const { id } = await send('POST', '/v0/devices', { device });
      return async () => ({
        Engineering: await judge(id, `${NETWORKS.Engineering}.1`),
        Operations: await judge(id, `${NETWORKS.Operations}.1`),
      });
    },
  };
}

/** Of nobody who connects. */
const PUBLIC_KEY = 'AslUEvBVVK2+jIVrb5ivr3gUzvbC2GoN1ZiBrhHz6VM=';
