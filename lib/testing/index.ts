// The gateway for test suites, `postern/testing` to other packages; README.md shows how it is used.
// A gateway that serves real devices never loads it.

export type { Addresses, Answer, Answers, Asker } from '../../dataplane/memory/index.ts';
export {
  type Connection,
  type MemoryHost,
  NoAnswerError,
  type Refusals,
} from '../../dataplane/memory/index.ts';
export type { Diagnosis } from '../observe/diagnosis/fields.ts';
export type { Answer as Explained } from '../observe/explain/fields.ts';
export type { ShownEndedFlow, ShownFlow, ShownRefusal } from '../observe/live/fields.ts';
export { type Api, ApiRefusal, type Fields } from './api.ts';
export type { CaptureWish, TestCapture, TestPacket } from './capture.ts';
export type { DeviceWish, TestDevice } from './device.ts';
export { createGateway, type TestGateway, type TestGatewayOptions } from './gateway.ts';
export type { LogLine } from './log.ts';
export type { Answer as HttpAnswer, Sent } from './requests.ts';
export type { Administrator } from './settings.ts';
