// The first steps with a new gateway, on the dashboard: each is decided from what there is. They
// are shown until all are done, or until the administrator puts them away.

import type { Request } from '@hapi/hapi';
import { hasSeveralUsers } from '../../../models/index.ts';
import { defaultSettings } from '../../domain/devices/settings.ts';
import { endpoint } from '../../installation/doctor/serving.ts';
import { commandLine } from '../../kit/process/command-line.ts';
import type { Typed } from '../kit/form.ts';
import type { FormErrors } from '../kit/plain-words.ts';
import type { Web } from '../kit/web.ts';
import type { FleetView } from './fleet.ts';
import { fixedSentence } from './settings.ts';

/** The field of the configuration that the card has. */
export const ENDPOINT = 'default_client_endpoint';

/** What takes over the clients of wg-easy. */
export const IMPORT = commandLine('import wg-easy FILE --email E-MAIL');

/** What was typed into the card, and what is wrong with it. */
export interface SentEndpoint {
  readonly typed: Typed;
  readonly errors: FormErrors;
}

/** What the card shows. */
export interface FirstStepsView {
  readonly email: string;
  readonly address: {
    readonly isDone: boolean;
    /** Where files of devices lead to. */
    readonly present: string;
    /** What is wrong with it. */
    readonly problem: string;
    readonly value: string;
    readonly errors: readonly unknown[];
    /** Why it cannot be changed here; null where it can. */
    readonly locked: string | null;
    readonly externalUrl: string;
  };
  /** The command that takes over what wg-easy keeps. */
  readonly imports: string;
  readonly hasPerson: boolean;
  readonly hasDevice: boolean;
  readonly hasHandshake: boolean;
}

/** Makes the card for the administrator of a request; null where it is not shown. */
export async function firstStepsView(
  web: Web,
  request: Request,
  fleet: Pick<FleetView, 'devices' | 'handshakes'>,
  sent: SentEndpoint | null,
): Promise<FirstStepsView | null> {
  const session = await web.sessions.find(request);
  const user = session?.user;
  if (user === undefined || user.first_steps_dismissed_at !== null) return null;
  const { config, database } = web.services;
  await web.recall.refresh();
  const configuration = await web.recall.configuration();
  const present = defaultSettings(configuration, config).endpoint;
  const finding = endpoint(present);
  const view: FirstStepsView = {
    email: user.email,
    address: {
      isDone: finding.level === 'ok',
      present: present ?? '',
      problem: finding.message,
      value: sent?.typed[ENDPOINT] ?? configuration[ENDPOINT] ?? '',
      errors: sent?.errors[ENDPOINT] ?? [],
      locked: fixedSentence(web, ENDPOINT),
      externalUrl: config.externalUrl,
    },
    imports: IMPORT,
    hasPerson: await hasSeveralUsers(database),
    hasDevice: fleet.devices !== '0',
    hasHandshake: fleet.handshakes.length > 0,
  };
  return sent === null && isAllDone(view) ? null : view;
}

function isAllDone(view: FirstStepsView): boolean {
  return view.address.isDone && view.hasPerson && view.hasDevice && view.hasHandshake;
}
