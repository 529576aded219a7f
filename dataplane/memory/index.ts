// What the data plane in memory offers to gateways in test processes (lib/testing). A gateway that
// serves real devices never loads it.

export { type DeviceConfig, MemoryDevice } from './device.ts';
export { GATEWAY_ADDRESS, MemoryGateway } from './gateway.ts';
export { type Addresses, type Answer, type Answers, type Asker, MemoryHost } from './host.ts';
export { MemoryNetwork } from './network.ts';
export { NoAnswerError, type Refusals } from './no-answer.ts';
export type { Connection } from './host-tcp.ts';
