// What metrics and pages read of a gateway, and what it explains, without a gateway: its devices,
// rules and counts; every packet passes.

import type {
  Ask,
  Explanation,
  EndedFlow,
  LiveFlow,
  PeerTotals,
  Questions,
  SeenRefusal,
  Trace,
} from '../../../dataplane/index.ts';
import type { DiagnosingGateway } from '../../../lib/observe/diagnosis/diagnose.ts';
import type { ExplainingGateway } from '../../../lib/observe/explain/elsewhere.ts';
import type { LiveGateway } from '../../../lib/observe/live/gateway.ts';
import type { Observed, Watched } from '../../../lib/observe/gateway-state.ts';
import { peer } from '../dataplane/simulation.ts';

/** A device that did something; its key names it. */
export function totals(key: string, fields: Partial<PeerTotals> = {}): PeerTotals {
  return {
    config: peer({ key, ipv4: '100.64.0.2', ipv6: 'fd00::2' }),
    rxBytes: 0,
    txBytes: 0,
    latestHandshakeMs: null,
    endpoint: null,
    ...fields,
  };
}

/** What a gateway with these devices shows. */
export function fakeWatched(
  peers: readonly PeerTotals[] = [],
  fields: Partial<Watched> = {},
): Watched {
  return {
    facts: () => ({
      engine: 'native',
      listenPort: 51_820,
      workers: 1,
      tun: null,
      way: 'tun',
      tunError: null,
      masquerade: false,
      files: { max: null, connections: 2_048, sockets: 1_024, relayed: 0 },
      connections: null,
      alive: true,
    }),
    peers: () => peers,
    deviceOf: (key) => ({ id: `id of ${key}`, userId: `owner of ${key}`, name: `name of ${key}` }),
    ruleActions: () => [],
    reconciler: () => ({
      appliedRevision: 7,
      turns: 3,
      failures: 1,
      turnsMs: 1_500,
      lastTurnMs: 1_000,
      isFailing: false,
      usersOverQuota: 2,
      isClosed: false,
      isSchemaNewer: false,
      lastBackupMs: 5_000,
    }),
    presence: () => ({
      connected: 1,
      connects: 2,
      disconnects: {
        silent: 1,
        elsewhere: 0,
        switched_off: 0,
        expired: 0,
        owner_disabled: 0,
        session_ended: 2,
        key_replaced: 0,
        deleted: 0,
        removed: 0,
      },
    }),
    isSamplerFailing: () => false,
    history: () => ({ written: 9, lost: 1, waiting: 2 }),
    ...fields,
  };
}

/** What was observed where nothing happened. */
export function fakeObserved(fields: Partial<Observed> = {}): Observed {
  const nothing = {
    drops: () => ({}),
    forgotten: () => ({}),
    rules: () => new Map(),
    problems: () => [],
    isBehindDevice: () => false,
  };
  return { ...nothing, deviceCount: () => 0, ...fields };
}

/** What is remembered of a device of which nothing arrived. */
export const silentTrace: Trace = {
  attempts: [],
  latestHandshakeMs: null,
  endpoint: null,
  elsewhereAtMs: null,
  inside: {
    sinceMs: 0,
    passedAtMs: null,
    largest: 0,
    refused: null,
    wrongSource: null,
    tooBig: null,
  },
};

/** What is explained of a packet that opens a flow to the TUN, and that no rule matches. */
export const passing: Explanation = {
  reason: 'none',
  place: 'tun',
  to: null,
  waitsFor: [],
  decision: { by: 'default', rule: null, staged: null, flow: 'opens', opener: null },
  next: null,
};

/** What a gateway answers. */
type Answers = {
  readonly [Name in keyof Questions]: (
    ...asked: Parameters<Questions[Name]>
  ) => Promise<ReturnType<Questions[Name]>>;
};

/** What is answered where every packet passes and nothing was heard, is alive or was refused. */
const quiet: Answers = {
  explain: async () => passing,
  diagnose: async () => silentTrace,
  unknownSenders: async () => ({ keys: [], otherGateway: [] }),
  flows: async () => ({ flows: [], next: null }),
  busiest: async () => [],
  endedFlows: async () => ({ flows: [], next: null }),
  refusals: async () => [],
  effectOf: async () => ({
    ended: { count: 0, found: [], devices: [] },
    passed: { count: 0, found: [] },
  }),
};

/** Asks these answers in place of a gateway. */
export function fakeAsk(answers: Partial<Answers> = {}): Ask {
  const all: Answers = { ...quiet, ...answers };
  return (name, ...asked) => all[name](...asked);
}

/** A gateway that answers questions about packets. */
export function fakeExplaining(
  explain: Answers['explain'] = quiet.explain,
  { diagnose = quiet.diagnose, ...fields }: Partial<Answers & ExplainingGateway> = {},
): ExplainingGateway {
  return {
    id: '01900000-0000-7000-8000-00000000cafe',
    ask: fakeAsk({ explain, diagnose }),
    deviceIdOf: () => null,
    ...fields,
  };
}

/** A gateway that answers questions about devices and strangers. */
export function fakeDiagnosing(
  id: string,
  answers: Partial<Answers & DiagnosingGateway> = {},
): DiagnosingGateway {
  return { id, ask: fakeAsk(answers), connectedForMs: () => null, ...answers };
}

/** A flow that the device with that key opened to a host. */
export function flowOf(opener: string, fields: Partial<LiveFlow> = {}): LiveFlow {
  return {
    opener,
    target: null,
    source: '100.64.0.2',
    destination: '10.0.0.5',
    protocol: 6,
    sourcePort: 50_000,
    destinationPort: 443,
    isAnswered: true,
    by: 'default',
    rule: null,
    sentPackets: 12,
    sentBytes: 1_800,
    replyPackets: 20,
    replyBytes: 24_000,
    openedMs: Date.UTC(2026, 10, 25, 12, 0, 0, 250),
    latestMs: Date.UTC(2026, 10, 25, 12, 1),
    ...fields,
  };
}

/** Such a flow that has ended. */
export function endedFlowOf(opener: string, fields: Partial<EndedFlow> = {}): EndedFlow {
  const endedMs = Date.UTC(2026, 10, 25, 12, 1, 10, 500);
  const scopes = { openerScope: null, targetScope: null };
  return { ...flowOf(opener), number: 7, ...scopes, because: 'finished', endedMs, ...fields };
}

/** Packets that the device with that key sent to a host, and that were refused. */
export function refusalOf(device: string, fields: Partial<SeenRefusal> = {}): SeenRefusal {
  return {
    device,
    isSent: true,
    source: '100.64.0.2',
    destination: '10.0.0.6',
    protocol: 6,
    port: 22,
    reason: 'default_drop',
    rule: null,
    count: 3,
    firstMs: Date.UTC(2026, 10, 25, 12, 0, 0, 250),
    latestMs: Date.UTC(2026, 10, 25, 12, 1),
    ...fields,
  };
}

/** A gateway that answers questions about live state. */
export function fakeLive(id: string, answers: Partial<Answers & LiveGateway> = {}): LiveGateway {
  return {
    id,
    ask: fakeAsk(answers),
    tried: () => ({ peers: new Map(), rules: new Map() }),
    userIdOf: () => null,
    ownerIdOf: () => null,
    deviceIdOf: () => null,
    publicKeyOf: () => null,
    ...answers,
  };
}
