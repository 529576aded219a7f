// The web interface: sign-in, the pages of users and the pages of administrators. The parts that
// all pages share are registered here, then the pages, each in a file of its own. README.md says
// how a page is made.

import type { Plugin, Server, ServerRoute } from '@hapi/hapi';
import { BrowserBinding } from '../auth/identity/browser.ts';
import { asksForSession } from '../auth/sessions.ts';
import { addLate } from '../kit/http/late-routes.ts';
import { assetRoutes } from './kit/assets.ts';
import { validateForms } from './kit/form-token.ts';
import { logoRoute } from './kit/logo.ts';
import { accountPages } from './pages/account.ts';
import { apiTokenPages } from './pages/api-tokens.ts';
import { auditPages } from './pages/audit.ts';
import { capturePages } from './pages/capture.ts';
import { dashboardPages } from './pages/dashboard.ts';
import { deviceFilePages } from './pages/device-file.ts';
import { oneDevicePages } from './pages/device.ts';
import { devicePages } from './pages/devices.ts';
import { enrolmentPages } from './pages/enrolment.ts';
import { explainPages } from './pages/explain.ts';
import { forgottenPasswordPages } from './pages/forgotten-password.ts';
import { gatewayPages } from './pages/gateways.ts';
import { groupPages } from './pages/groups.ts';
import { invitationPages } from './pages/invitations.ts';
import { livePages } from './pages/live.ts';
import { logoSettingPages } from './pages/logo-settings.ts';
import { oneTimeLinkPages } from './pages/one-time-links.ts';
import { openidPages } from './pages/openid-sign-in.ts';
import { policyTestPages } from './pages/policy-tests.ts';
import { providerTestPages } from './pages/provider-tests.ts';
import { providerPages } from './pages/providers.ts';
import { relinkPages } from './pages/relink.ts';
import { renewalPages } from './pages/renewal.ts';
import { ruleTypingPages } from './pages/rule-typing.ts';
import { rulePages } from './pages/rules.ts';
import { samlMetadataPages } from './pages/saml-metadata.ts';
import { samlPages } from './pages/saml-sign-in.ts';
import { searchPages } from './pages/search.ts';
import { secondFactorPages } from './pages/second-factor.ts';
import { secondFactorsPages } from './pages/second-factors.ts';
import { settingPages } from './pages/settings.ts';
import { signInPages } from './pages/sign-in.ts';
import { trafficFilePages } from './pages/traffic-files.ts';
import { undoPages } from './pages/undo.ts';
import { userDevicePages } from './pages/user-devices.ts';
import { userRefusalPages } from './pages/user-refusals.ts';
import { userPages } from './pages/user.ts';
import { oneUserPages } from './pages/user-view.ts';
import { usersPages } from './pages/users.ts';
import { whoPages } from './pages/who.ts';
import { askForRecentSignIn } from './kit/recent.ts';
import type { Web } from './kit/web.ts';

/** Makes the pages of one concern. */
type PageRoutes = (web: Web) => ServerRoute[];

/** All pages. */
const pageRoutes: readonly PageRoutes[] = [
  signInPages,
  oneTimeLinkPages,
  forgottenPasswordPages,
  openidPages,
  samlPages,
  secondFactorPages,
  dashboardPages,
  searchPages,
  usersPages,
  userPages,
  oneUserPages,
  enrolmentPages,
  invitationPages,
  groupPages,
  devicePages,
  oneDevicePages,
  rulePages,
  ruleTypingPages,
  explainPages,
  whoPages,
  policyTestPages,
  livePages,
  capturePages,
  settingPages,
  providerPages,
  providerTestPages,
  relinkPages,
  samlMetadataPages,
  logoSettingPages,
  apiTokenPages,
  auditPages,
  undoPages,
  gatewayPages,
  trafficFilePages,
  userDevicePages,
  userRefusalPages,
  deviceFilePages,
  renewalPages,
  accountPages,
  secondFactorsPages,
];

/** Serves the web interface. */
export const webPages: Plugin<Web> = {
  name: 'web',
  register(server, web) {
    web.sessions.register(server, web.outside);
    disownStrangers(server, web);
    new BrowserBinding(web.services.config.externalUrl).register(server);
    validateForms(server, web);
    askForRecentSignIn(server, web);
    // Streams that go on would keep the server from its end.
    server.ext('onPreStop', () => web.live.close());
    server.ext('onPreStop', () => web.jobs.stop());
    addLate(server, [...assetRoutes(web.pages.assets), logoRoute(web.recall)]);
    for (const routes of pageRoutes) addLate(server, routes(web));
  },
};

/** A client that shows a session that has ended is a stranger. */
function disownStrangers(server: Server, { sessions, strangers }: Web): void {
  server.ext('onPreAuth', async (request, h) => {
    if (asksForSession(request) && (await sessions.find(request)) === null)
      strangers.disown(request.raw.req, request.app.address);
    return h.continue;
  });
}
