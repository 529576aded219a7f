// Several gateways on one database, each on a host of its own, and clients that reach all of them at
// one address (anycast): which gateway that is, the router says, one client from the other.
//
//   alice  192.0.2.2/24 --+          +-- 203.0.113.5/30  gw1 203.0.113.1/32  198.51.101.1/24 --+
//   bob    192.0.3.2/24 --+- router -+-- 203.0.113.9/30  gw2 203.0.113.1/32  198.51.102.1/24 --+-- lan
//   carol  192.0.4.2/24 --+          +-- 203.0.113.13/30 gw3 203.0.113.1/32  198.51.103.1/24 --+
//   this machine 10.255.8N.1/30 ---- 10.255.8N.2/30 of gwN   (for the API and the database)
//
// The lan answers as 198.51.100.2 and .3 to what is masqueraded; it has no route to the tunnels.

import { type TcpRelay, openRelay, urlThrough } from '../support/network/tcp-relay.ts';
import { type Host, Network } from '../support/network/namespaces.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern } from '../support/gateway/postern.ts';

/** Where every gateway receives, so that a client need not know which one serves it. */
export const SERVICE = '203.0.113.1';
export const LAN = '198.51.100.2';
export const LAN_OTHER = '198.51.100.3';

/** One gateway: its host, and the process on it. */
export interface Site {
  readonly number: number;
  /** Where this one alone receives. */
  readonly address: string;
  readonly host: Host;
  readonly postern: Postern;
  readonly relay: TcpRelay;
}

/** The network with its gateways, none of them started. */
export interface Sites {
  readonly network: Network;
  readonly clients: readonly Host[];
  readonly lan: Host;
  readonly sites: readonly Site[];
  /** Sends a client's datagrams to a gateway from here on. */
  lead(client: Host, site: Site): Promise<void>;
  remove(): Promise<void>;
}

/** How gateways are set up: where each finds its database, and what they share. */
export interface SitesOptions {
  readonly prefix: string;
  /** The server of each gateway, by number from 1. */
  readonly server: (number: number) => string;
  readonly database: string;
  readonly settings: Record<string, string>;
}

const CLIENTS = ['alice', 'bob', 'carol'];

/** Builds everything. */
export async function buildSites(options: SitesOptions): Promise<Sites> {
  const network = new Network(options.prefix);
  const router = await network.addHost('router');
  await router.run('sysctl', '-qw', 'net.ipv4.ip_forward=1');
  const lan = await network.addHost('lan');
  for (const address of [LAN, LAN_OTHER])
    await lan.ip('address', 'add', `${address}/32`, 'dev', 'lo');
  const clients: Host[] = [];
  for (const [i, name] of CLIENTS.entries()) {
    const client = await network.addHost(name);
    await network.link(
      { host: client, name: 'c0', addresses: [`192.0.${2 + i}.2/24`] },
      { host: router, name: `c${i}`, addresses: [`192.0.${2 + i}.1/24`] },
    );
    await client.ip('route', 'add', 'default', 'via', `192.0.${2 + i}.1`);
    clients.push(client);
  }
  const sites: Site[] = [];
  for (const number of [1, 2, 3])
    sites.push(await addSite(options, { network, router, lan }, number));
  return {
    network,
    clients,
    lan,
    sites,
    lead: (client, { number }) => lead(router, clients.indexOf(client), number),
    remove: async () => {
      for (const { relay } of sites) relay.close();
      await network.remove();
    },
  };
}

async function addSite(
  options: SitesOptions,
  { network, router, lan }: { network: Network; router: Host; lan: Host },
  number: number,
): Promise<Site> {
  const host = await network.addHost(`gw${number}`);
  const [near, far] = [`203.0.113.${1 + 4 * number}`, `203.0.113.${2 + 4 * number}`];
  await network.link(
    { host: router, name: `g${number}`, addresses: [`${near}/30`] },
    { host, name: 'g0', addresses: [`${far}/30`] },
  );
  await host.ip('address', 'add', `${SERVICE}/32`, 'dev', 'lo');
  await host.ip('route', 'add', 'default', 'via', near);
  await network.link(
    { host, name: 'g1', addresses: [`198.51.${100 + number}.1/24`] },
    { host: lan, name: `l${number}`, addresses: [`198.51.${100 + number}.2/24`] },
  );
  await host.ip('route', 'add', '198.51.100.0/24', 'via', `198.51.${100 + number}.2`);
  const [machine, api] = [`10.255.${80 + number}.1`, `10.255.${80 + number}.2`];
  await network.link(
    { host: null, name: `m${number}`, addresses: [`${machine}/30`] },
    { host, name: 'm1', addresses: [`${api}/30`] },
  );
  const server = options.server(number);
  const relay = await openRelay(machine, Number(new URL(server).port));
  const postern = new Postern(host, api, {
    ...WITHOUT_WARM_UP,
    // One folder holds the control sockets of all hosts, under the names of the interfaces.
    WIREGUARD_INTERFACE: `wg-${options.prefix}${number}`,
    WIREGUARD_TUN: 'required',
    API_RATE_LIMIT: '0',
    DATABASE_URL: urlThrough(server, machine, relay, options.database),
    ...options.settings,
  });
  return { number, address: far, host, postern, relay };
}

/** A rule for each client, and a table of its own behind it. */
async function lead(router: Host, client: number, gateway: number): Promise<void> {
  const table = String(100 + client);
  const via = ['via', `203.0.113.${2 + 4 * gateway}`];
  await router.ip('route', 'replace', `${SERVICE}/32`, ...via, 'table', table);
  const from = `192.0.${2 + client}.0/24`;
  await router.ip('rule', 'del', 'from', from).catch(() => undefined);
  await router.ip('rule', 'add', 'from', from, 'lookup', table);
  // Lookups that find nothing there go on to the main table.
}
