// What keeps this gateway from doing what people expect, and how to put it right: on the dashboard,
// and beside each file that it spoils. It says what readiness and doctor say, in their words, and
// what is known in this process alone.

import type { Recall } from '../../records/recall.ts';
import { type UnnamedProxies, unnamedProxyWords } from '../../http/unnamed-proxies.ts';
import { metadataProblems } from '../../auth/saml/metadata-problems.ts';
import { defaultSettings } from '../../devices/settings.ts';
import type { Finding } from '../../doctor/finding.ts';
import { endpoint, lacks, readiness, settings } from '../../doctor/serving.ts';
import type { Services } from '../../services.ts';

/** One such thing, in words for administrators. */
export interface GatewayProblem {
  readonly text: string;
  readonly fix: string;
}

type Known = Pick<Services, 'config' | 'readiness'>;

/** What the dashboard asks for. */
export type Asked = Known &
  Pick<Services, 'counters' | 'database'> &
  Partial<Pick<Services, 'checkup' | 'watched'>> & { readonly unnamed?: UnnamedProxies };

/** Why the gateway cannot obey a record as it stands; null where it can. */
export function problemOf({ observed }: Pick<Services, 'observed'>, id: string): string | null {
  return observed?.problems().find((problem) => problem.id === id)?.message ?? null;
}

/** All of them, with the endpoint as the settings are at present. */
export async function dashboardProblems({
  services,
  recall,
}: {
  services: Asked;
  recall: Recall;
}): Promise<GatewayProblem[]> {
  await recall.refresh();
  const { config } = services;
  const configuration = await recall.configuration();
  const { endpoint: address } = defaultSettings(configuration, config);
  const peer = services.unnamed?.recent() ?? null;
  return [
    ...sentences([
      ...readiness(services.readiness(), config),
      endpoint(address),
      ...settings(config),
    ]),
    ...(peer === null ? [] : [unnamedProxyWords(peer)]),
    ...crowdedSignIns(services),
    ...unwritten(services),
    ...(await metadataProblems(services.database, configuration.saml_identity_providers)),
    // These are judged above, as they are at this moment.
    ...(services.checkup?.findings() ?? [])
      .filter(({ check }) => check !== 'endpoint' && check !== 'SAML metadata')
      .map(({ check, message, fix }) => ({ text: `${check}: ${message}.`, fix: fix ?? '' })),
  ];
}

/** Those because of which a file does not do what its owner expects. */
export function fileProblems(known: Known, address: string | null): GatewayProblem[] {
  return sentences([endpoint(address), ...lacks(known.readiness(), known.config)]);
}

/** What is not well; the messages of these findings are sentences. */
function sentences(findings: readonly Finding[]): GatewayProblem[] {
  const wrong = findings.filter(({ level }) => level !== 'ok');
  return wrong.map(({ message, fix }) => ({ text: message, fix: fix ?? '' }));
}

/** People whose sign-ins through providers others pushed out; each gateway counts its own. */
function crowdedSignIns({ counters }: Pick<Asked, 'counters'>): GatewayProblem[] {
  const count = counters.of('sign_ins', 'forgotten_for_others');
  if (count === 0) return [];
  return [
    {
      text: `Sign-ins through identity providers were forgotten, because too many others were begun: ${count} since this gateway started.`,
      fix: 'Those people sign in again. Where the number grows, somebody begins sign-ins in masses: refuse their network at the proxy or the firewall.',
    },
  ];
}

function unwritten({ watched }: Pick<Asked, 'watched'>): GatewayProblem[] {
  if (watched?.isSamplerFailing() !== true) return [];
  return [
    {
      text: 'What devices do (traffic, handshakes) cannot be written to the database, so lists and pages show old values.',
      fix: 'Look at the database; the log of the gateway says what fails.',
    },
  ];
}
