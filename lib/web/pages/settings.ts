// The page Settings, for administrators: defaults of the files of devices, who may sign in and do
// what, and what happens to packets that no rule matches. A field that the environment fixes is
// shown locked. docs/api.md#the-configuration.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import type { Config } from '../../../config/index.ts';
import { defaultEndpoint } from '../../domain/devices/settings.ts';
import type { Unless } from '../../domain/configuration/configuration.ts';
import { configurationFields } from '../../../models/index.ts';
import type { FormError, FormErrors } from '../kit/plain-words.ts';
import { callerOf } from '../../kit/http/request-caller.ts';
import type { Errors } from '../../kit/validation/validate.ts';
import { atMost, codeOf } from '../../kit/validation/messages.ts';
import type { Shown } from '../../kit/records/shown.ts';
import { hostErrors, quotedErrors } from '../kit/entry-words.ts';
import { formView, inputOf, type Section, type Typed, typedFrom, typedIn } from '../kit/form.ts';
import { adminPage } from '../kit/route.ts';
import { saveForm } from '../kit/save.ts';
import { isBack } from '../parts/effect.ts';
import {
  changesSettings,
  fixedSentence,
  locksOut,
  readSettings,
  settingTabs,
} from '../parts/settings.ts';
import { changedMeanwhile, seenOf } from '../kit/seen.ts';
import type { Web } from '../kit/web.ts';

const clientForm: readonly Section[] = [
  {
    fields: [
      {
        name: 'default_client_endpoint',
        label: 'Endpoint',
        help: 'Where devices find the gateway: host or host:port.',
      },
      {
        name: 'default_client_allowed_ips',
        label: 'Allowed IPs',
        kind: 'list',
        help: 'What devices send through the VPN: addresses and networks, with commas between.',
      },
      {
        name: 'default_client_dns',
        label: 'DNS servers',
        kind: 'list',
        help: 'Addresses or search domains, with commas between.',
        placeholder: 'none',
      },
      { name: 'default_client_mtu', label: 'MTU', kind: 'number', help: '576 to 1500 bytes.' },
      {
        name: 'default_client_persistent_keepalive',
        label: 'Persistent keepalive',
        kind: 'number',
        help: '0 to 120 seconds; 0 switches it off.',
      },
      {
        name: 'default_client_include_routes',
        label: 'Networks behind other devices',
        kind: 'box',
        help: 'Files of devices name them too, so that devices reach them through the VPN.',
      },
    ],
  },
];

/** Units of a session's length, in seconds; the form shows the first that divides the length. */
const UNITS = [
  ['days', 86_400],
  ['hours', 3_600],
  ['minutes', 60],
  ['seconds', 1],
] as const;
const DURATION = 'vpn_session_duration';
const DURATION_MAX_S = configurationFields[DURATION].api.max;

const SESSIONS_HELP =
  'How long a user’s devices pass packets after the user signs in. 0: VPN sessions never end.';
const NEVER_SIGNED_IN = {
  bound:
    'Devices of users who never signed in pass no packet until their owners sign in (VPN_SESSION_REQUIRE_SIGN_IN is true).',
  free: 'Users who never signed in are not bound by it: their devices pass packets at any time. The environment variable VPN_SESSION_REQUIRE_SIGN_IN=true binds them too.',
} as const;

const securityForm = ({ vpnSessionRequireSignIn: isBound }: Config): readonly Section[] => [
  {
    legend: 'VPN sessions',
    help: `${SESSIONS_HELP} ${NEVER_SIGNED_IN[isBound ? 'bound' : 'free']}`,
    fields: [
      { name: DURATION, label: 'They end after', kind: 'number' },
      {
        name: 'duration_unit',
        label: 'Unit',
        kind: 'choice',
        choices: UNITS.map(([name]) => [name, name]),
      },
    ],
  },
  {
    legend: 'Signing in',
    fields: [
      {
        name: 'local_auth_enabled',
        label: 'With e-mail and password',
        kind: 'box',
        help: 'Off: people sign in only through identity providers. API tokens still work.',
      },
      {
        name: 'disable_vpn_on_oidc_error',
        label: 'Disable users whom their identity provider refuses',
        kind: 'box',
        help: 'Every ten minutes the gateway refreshes each OpenID account. A user whom the provider then refuses has no VPN until they sign in through it again. A provider that is down disables nobody. The gateway can only refresh accounts with a refresh token: at Entra, Okta and Keycloak add offline_access to the scope of the provider. At some providers a sign-out, there or here, also ends the refresh token and with it the VPN; a refresh token of offline_access usually works after a sign-out.',
      },
    ],
  },
  {
    legend: 'What users may do by themselves',
    fields: [
      {
        name: 'allow_unprivileged_device_management',
        label: 'Add, change and remove their devices',
        kind: 'box',
      },
      {
        name: 'allow_unprivileged_device_configuration',
        label: 'Set the network settings of their devices',
        kind: 'box',
      },
    ],
  },
];

const limitsForm: readonly Section[] = [
  {
    fields: [
      {
        name: 'default_limit_down',
        label: 'Download of each device',
        kind: 'speed',
        placeholder: 'no limit',
        help: 'For example 10 Mbit/s. A number without a unit is in bits per second. Empty: no limit.',
      },
      {
        name: 'default_limit_up',
        label: 'Upload of each device',
        kind: 'speed',
        placeholder: 'no limit',
        help: 'Empty: no limit.',
      },
      {
        name: 'default_quota',
        label: 'Quota of each user in a calendar month',
        kind: 'amount',
        placeholder: 'no quota',
        help: 'For example 100 GB: all devices of the user, both ways, added up. Empty: no quota.',
      },
    ],
  },
];

const defaultActionForm: readonly Section[] = [
  {
    fields: [
      {
        name: 'default_action',
        label: 'A packet that no rule matches is',
        kind: 'choice',
        choices: [
          ['accept', 'accepted'],
          ['drop', 'dropped'],
        ],
        help: 'The change is in force at once, also for connections that are open. Before you choose “dropped”, add rules that accept what devices must reach: also the DNS servers in their files (else no name is found), and this console if you reach it through the VPN.',
      },
    ],
  },
];

interface Page {
  readonly path: string;
  readonly title: string;
  readonly lead: string;
  readonly sections: readonly Section[];
  /** What the form shows of the settings, and what it sends of what was typed. */
  readonly toTyped: (settings: Shown) => Typed;
  readonly toInput: (input: Record<string, unknown>) => Record<string, unknown>;
}

const pagesOf = (config: Config): readonly Page[] => [
  {
    path: '/settings/client_defaults',
    title: 'Client defaults',
    lead: 'Values in the files of devices that have no value of their own. Files that exist already do not change; the pages of these devices say that the file is out of date.',
    sections: clientForm,
    toTyped: (settings) => typedFrom(settings, clientForm),
    toInput: (input) => input,
  },
  {
    path: '/settings/security',
    title: 'Security',
    lead: 'Who may sign in, for how long, and what users may do by themselves.',
    sections: securityForm(config),
    toTyped: (settings) => ({
      ...typedFrom(settings, securityForm(config)),
      ...typedDuration(Number(settings[DURATION])),
    }),
    toInput: secondsOf,
  },
  {
    path: '/settings/limits',
    title: 'Limits',
    lead: 'How much each device may get and send, and each user in a month. A user and a device may have limits of their own, which count in place of these.',
    sections: limitsForm,
    toTyped: (settings) => typedFrom(settings, limitsForm),
    toInput: (input) => input,
  },
  {
    path: '/settings/default_action',
    title: 'Default action',
    lead: 'What happens to a packet from a device that no rule matches.',
    sections: defaultActionForm,
    toTyped: (settings) => typedFrom(settings, defaultActionForm),
    toInput: (input) => input,
  },
];

/** The fields of the settings by their names, with the page of each. */
export function settingEntries(
  config: Config,
): { readonly path: string; readonly label: string; readonly page: string }[] {
  const fields = pagesOf(config).flatMap(({ path, title, sections }) =>
    sections
      .flatMap((section) => section.fields)
      .filter(({ name }) => name !== 'duration_unit')
      .map(({ name, label }) => ({ path: `${path}#field-${name}`, label, page: title })),
  );
  const pages = settingTabs({ path: '' }).map(({ href, label }) => ({
    path: href,
    label,
    page: 'Settings',
  }));
  return [...pages, ...fields];
}

/** The routes of the settings that are forms. */
export function settingPages(web: Web): ServerRoute[] {
  return [
    adminPage('GET', '/settings', (_request, h) =>
      web.pages.redirect(h, '/settings/client_defaults'),
    ),
    ...pagesOf(web.services.config).flatMap((page) => [
      adminPage('GET', page.path, async (request, h) =>
        show(web, page, request, h, { present: page.toTyped(await readSettings(web)) }),
      ),
      adminPage('POST', page.path, (request, h) => save(web, page, request, h)),
    ]),
  ];
}

/** What a page shows; `present` is what is in force. */
interface Filled {
  readonly present: Typed;
  readonly typed?: Typed;
  readonly errors?: FormErrors;
}

function show(
  web: Web,
  { path, title, lead, sections }: Page,
  request: Request,
  h: ResponseToolkit,
  { present, typed = present, errors = {} }: Filled,
): Promise<ResponseObject> {
  return web.pages.show(request, h, 'settings', {
    title,
    lead,
    tabs: settingTabs(request),
    form: formView(sections, typed, {
      action: path,
      submit: 'Save',
      seen: seenOf(present),
      errors: quotedErrors(errors, typed),
      locked: lockedBy(web),
      inherited: inheritedFrom(web.services.config),
    }),
  });
}

/** What devices get where a field of the client defaults is empty. */
function inheritedFrom(config: Config): Record<string, string> {
  const endpoint = `${defaultEndpoint(config)} · of EXTERNAL_URL and WIREGUARD_PORT`;
  return { default_client_endpoint: endpoint };
}

async function save(
  web: Web,
  page: Page,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const typed = typedIn(request, page.sections);
  const input = page.toInput(inputOf(typed, page.sections, lockedBy(web)));
  const present = page.toTyped(await readSettings(web));
  const shown = unlocked(web, typed, present);
  const meanwhile = changedMeanwhile(request, { typed: shown, present }, page.sections);
  if (meanwhile === null && isBack(request)) return show(web, page, request, h, { present, typed });
  const refused = meanwhile ?? hostErrors(typed);
  return saveForm(web, request, h, {
    refused: Object.keys(refused).length > 0 ? refused : null,
    asked: { label: 'Save the settings', back: page.path, isForm: true },
    write: changesSettings(callerOf(request), input, (...found) =>
      lockOutErrors(web, input, ...found),
    ),
    again: (errors) =>
      show(web, page, request, h, { present, typed: shown, errors: inUnit(errors, typed) }),
    done: () => ({ said: 'The settings are in force.', to: page.path }),
  });
}

/**
 * Errors of changes that would lock out the person who makes them; the API has no such person to
 * protect.
 */
async function lockOutErrors(
  web: Web,
  { local_auth_enabled: isLocal }: Record<string, unknown>,
  ...found: Parameters<Unless>
): Promise<Errors> {
  if (isLocal !== false) return {};
  const isRefused = await locksOut(web, { local_auth_enabled: false }, ...found);
  return isRefused ? { local_auth_enabled: [{ code: 'lastWayIn' }] } : {};
}

/** What was typed. Locked fields were not sent; they show the value that is in force. */
function unlocked(web: Web, typed: Typed, inForce: Typed): Typed {
  const locked = lockedBy(web);
  return Object.fromEntries(
    Object.entries(typed).map(([name, text]) => [
      name,
      locked(name) === null ? text : (inForce[name] ?? ''),
    ]),
  );
}

function lockedBy(web: Web): (name: string) => string | null {
  return (name) => fixedSentence(web, name === 'duration_unit' ? DURATION : name);
}

function typedDuration(seconds: number): Typed {
  const [unit, length] = UNITS.find(([, each]) => seconds % each === 0) ?? ['seconds', 1];
  if (seconds === 0) return { [DURATION]: '0', duration_unit: 'hours' };
  return { [DURATION]: String(seconds / length), duration_unit: unit };
}

/** The rules of the API count in seconds: the most is said in the unit that was chosen. */
function inUnit(errors: FormErrors, { duration_unit: unit }: Typed): FormErrors {
  const [, length] = UNITS.find(([name]) => name === unit) ?? ['seconds', 1];
  const inUnits = (error: FormError): FormError =>
    codeOf(error) === 'atMost' ? atMost(Math.floor(DURATION_MAX_S / length)) : error;
  const said = errors[DURATION] as FormError[] | undefined;
  return said === undefined ? errors : { ...errors, [DURATION]: said.map(inUnits) };
}

/** The length in seconds; the rules of the API refuse a text that is not a number. */
function secondsOf({ duration_unit: unit, ...input }: Record<string, unknown>) {
  const [, length] = UNITS.find(([name]) => name === unit) ?? ['seconds', 1];
  const text = input[DURATION];
  if (typeof text !== 'string' || !/^\d{1,10}$/.test(text.trim())) return input;
  return { ...input, [DURATION]: Number(text) * length };
}
