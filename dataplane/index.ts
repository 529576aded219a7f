// What the data plane offers: nobody outside imports anything else of it.

export { MAX_CAPTURES, MAX_PEERS } from './constants.ts';
export type {
  Amendment,
  DoorConnection,
  GatewayConfig,
  NetworkConfig,
  PeerConfig,
  PeerSample,
  RuleConfig,
  RuleSample,
  Sample,
} from './contract.ts';
export {
  besideScope,
  GLOBAL_SCOPE,
  GROUP_NUMBERS,
  groupOfScope,
  groupScope,
  stagedScope,
} from './contract.ts';
export type { EgressWay, GatewayFacts, GatewayOptions } from './host/descriptors.ts';
export type { CapturedPacket } from './rings/capture-ring.ts';
export {
  createCapturedPacket,
  FROM_DEVICE,
  REFUSED,
  TO_DEVICE,
  UNFINISHED_CHECKSUM,
} from './rings/capture-ring.ts';
export type { Capture } from './gateway/captures.ts';
export {
  createGateway,
  defaultSignals,
  inspectHost,
  loadGateway,
  openUdpSockets,
} from './gateway/on-demand.ts';
export type { LoggedFlow } from './rings/flow-log-ring.ts';
export type { Gateway } from './gateway/gateway.ts';
export type { Finding } from './io/finding.ts';
export { notify } from './io/notify.ts';
export { releaseMemory } from './io/release-memory.ts';
export { readHostAddresses } from './io/host-addresses.ts';
export { readFilesMax } from './io/system.ts';
export type { FileLimits } from './io/files.ts';
export type { CaptureOrder } from './path/capture.ts';
export type { ChangeEffect } from './path/effect.ts';
export { endReasons } from './filter/ended-flows.ts';
export type { EndReason } from './filter/ended-flows.ts';
export type { EndedFlow, EndedPage, EndedPlace } from './path/ended-list.ts';
export type { Explanation, Question } from './path/explain.ts';
export type { FlowPage, FlowPlace, FlowQuery, LiveFlow } from './path/flow-list.ts';
export type { RefusalQuery, SeenRefusal } from './path/refusal-list.ts';
export { derivePublicKey, isLowOrder, makePrivateKey } from './noise/keys.ts';
export { type ReasonName, reasonNames } from './reasons.ts';
export { RuleTrial, type TrialOptions, type TrialVerdict } from './rule-trial.ts';
export type { Ask, Questions } from './gateway/questions.ts';
export type { PeerTotals } from './totals.ts';
export type { Attempt } from './wireguard/handshake-log.ts';
export type { InsideSeen } from './wireguard/inside.ts';
export type { Trace } from './wireguard/trace.ts';
export type { UnknownKey, UnknownSender, UnknownSenders } from './wireguard/unknown-senders.ts';
export { startWorkers } from './gateway/start-worker.ts';
export { formatAddress, parseAddress } from './wire/address.ts';
export { sameBytes } from './wire/bytes.ts';
export { askedPacket } from './wire/asked-packet.ts';
export type { Endpoint } from './wire/address.ts';
export type { NetworkRange } from './wire/network.ts';
