// Why this gateway does not do what people expect, and how to fix it. The dashboard shows it, and
// so does the page of each file that does not work because of it. The words are those of readiness
// and of the doctor; some problems are only known in this process.

import { fixedSettingsOf } from '../../domain/configuration/fixed-settings.ts';
import type { Recall } from '../../kit/records/recall.ts';
import { type UnnamedProxies, unnamedProxyWords } from '../../kit/http/unnamed-proxies.ts';
import {
  letInCommand,
  readAdministration,
  type SignInSettings,
} from '../../auth/administrators.ts';
import { groupsFindings } from '../../auth/identity/groups-findings.ts';
import { metadataFindings } from '../../auth/saml/metadata-findings.ts';
import { defaultSettings } from '../../domain/devices/settings.ts';
import type { Finding } from '../../installation/doctor/finding.ts';
import { endpoint, lacks, readiness, settings } from '../../installation/doctor/serving.ts';
import type { Services } from '../../services.ts';

/** One problem of the gateway, in words for administrators. */
export interface GatewayProblem {
  readonly text: string;
  readonly fix: string;
  readonly level: 'failed' | 'warning';
  /** What was checked; null where nothing else asks for it. */
  readonly check: string | null;
  /** The page where it is fixed; null where that is on the host. */
  readonly page: { readonly path: string; readonly name: string } | null;
}

/** Pages on which settings that may be the cause are changed. */
const PAGES = {
  endpoint: { path: '/settings/client_defaults', name: 'Client defaults' },
  providers: { path: '/settings/providers', name: 'Identity providers' },
  gateways: { path: '/gateways', name: 'Gateways' },
} as const;

/** Checks of the doctor that are made here too. */
const CHECKED = new Set(['endpoint', 'SAML metadata', 'administrator']);

type Known = Pick<Services, 'config' | 'readiness'>;

/** What the problems of the dashboard are made of. */
export type Asked = Known &
  Pick<Services, 'counters' | 'database'> &
  Partial<Pick<Services, 'checkup' | 'watched'>> & { readonly unnamed?: UnnamedProxies };

/** Why the gateway cannot obey a record; null if it can. */
export function problemOf({ observed }: Pick<Services, 'observed'>, id: string): string | null {
  return observed?.problems().find((problem) => problem.id === id)?.message ?? null;
}

/** All problems of the gateway at present. */
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
    ...(peer === null ? [] : [onHost(unnamedProxyWords(peer))]),
    ...(await lockedOut(services, configuration)),
    ...crowdedSignIns(services),
    ...unwritten(services),
    ...(await metadataFindings(services.database, configuration.saml_identity_providers)).map(
      ofProviders,
    ),
    ...(await groupsFindings(services.database, configuration)).map(ofProviders),
    // These were checked above, as they are at this moment.
    ...(services.checkup?.findings() ?? [])
      .filter(({ check }) => !CHECKED.has(check))
      .map((found) => problemFrom(found, `${found.check}: ${found.message}.`)),
  ];
}

/** Problems that keep the file of a device from working as its owner expects. */
export function fileProblems(known: Known, address: string | null): GatewayProblem[] {
  return sentences([endpoint(address), ...lacks(known.readiness(), known.config)]);
}

/** Findings that are not `ok` as problems; the messages of these findings are sentences. */
function sentences(findings: readonly Finding[]): GatewayProblem[] {
  const wrong = findings.filter(({ level }) => level !== 'ok');
  return wrong.map((found) => problemFrom(found, found.message));
}

function problemFrom({ check, level, fix }: Finding, text: string): GatewayProblem {
  return {
    text,
    fix: fix ?? '',
    level: level === 'failed' ? 'failed' : 'warning',
    check,
    page: check === 'endpoint' ? PAGES.endpoint : check === 'gateways' ? PAGES.gateways : null,
  };
}

/** What somebody fixes on the host, or elsewhere outside of the console. */
function onHost(
  said: Pick<GatewayProblem, 'text' | 'fix'>,
  level: GatewayProblem['level'] = 'warning',
): GatewayProblem {
  return { ...said, level, check: null, page: null };
}

function ofProviders(said: Pick<GatewayProblem, 'text' | 'fix'>): GatewayProblem {
  return { ...onHost(said), page: PAGES.providers };
}

/** Whoever reads it has a session from before, and does not come back after it. */
async function lockedOut(
  { config, database }: Asked,
  settings: SignInSettings,
): Promise<GatewayProblem[]> {
  const { canSignIn, email } = await readAdministration(database, settings);
  if (canSignIn) return [];
  const isFixedOff = fixedSettingsOf(config).local_auth_enabled === false;
  const first = isFixedOff ? 'Set LOCAL_AUTH_ENABLED=true, and then run' : 'Run';
  return [
    {
      ...onHost({ text: 'No administrator can sign in.', fix: '' }, 'failed'),
      page: PAGES.providers,
      fix: `${first} ${letInCommand(email)} on the host. It makes a new password, and signing in by password works again. Or add an identity provider before you sign out.`,
    },
  ];
}

/** Sign-ins that were forgotten because others needed the room; each gateway counts its own. */
function crowdedSignIns({ counters }: Pick<Asked, 'counters'>): GatewayProblem[] {
  const count = counters.of('sign_ins', 'forgotten_for_others');
  if (count === 0) return [];
  return [
    onHost({
      text: `Sign-ins through identity providers were forgotten, because too many others were begun: ${count} since this gateway started.`,
      fix: 'Those people must sign in again. If the number grows, somebody begins very many sign-ins: refuse their network at the proxy or the firewall.',
    }),
  ];
}

function unwritten({ watched }: Pick<Asked, 'watched'>): GatewayProblem[] {
  if (watched?.isSamplerFailing() !== true) return [];
  const said = {
    text: 'What devices do (traffic, handshakes) cannot be written to the database, so lists and pages show old values.',
    fix: 'Look at the database; the log of the gateway says what fails.',
  };
  return [onHost(said, 'failed')];
}
