// The English texts of what every page has, of signing in, of errors, and of scripts that any page
// may load. The table of other pages is english-portal.ts; texts.ts reads both.

/** By key; {name} is the place of a value, or of what is marked. */
export const frame = {
  'page.title': '{title} · {brand}',
  'page.brand': 'Postern',
  'page.skip': 'Skip to the content',
  'page.zone': 'Times on this page are in your time zone, {zone}.',
  'page.pages': 'Pages',
  'page.quick': 'Most used pages',
  'page.more': 'More',
  'page.search': 'Search',
  'page.search_all': 'Search for everything',
  'undo.it': 'Undo',
  'undo.more': 'for ten minutes; connections that ended do not come back',

  'nav.overview': 'Overview',
  'nav.people': 'People',
  'nav.users': 'Users',
  'nav.groups': 'Groups',
  'nav.invitations': 'Invitations',
  'nav.network': 'Network',
  'nav.devices': 'Devices',
  'nav.rules': 'Rules',
  'nav.policy_tests': 'Policy tests',
  'nav.watch': 'Watch',
  'nav.traffic': 'Traffic',
  'nav.refused': 'Refused',
  'nav.explain': 'Would it pass?',
  'nav.audit': 'Audit log',
  'nav.gateway': 'Gateway',
  'nav.settings': 'Settings',
  'nav.api_tokens': 'API tokens',
  'nav.gateways': 'Gateways',

  'sign_in.title': 'Sign in',
  'sign_in.or': 'or',
  'sign_in.with': 'Sign in with {provider}',
  'sign_in.forgot': 'Forgot password?',
  'sign_in.refused': 'Error signing in: user credentials are invalid or user does not exist',
  'sign_in.disabled': 'Your account is disabled. Please ask your administrator.',
  'sign_in.ended':
    'You were signed out: your session ended, or somebody ended it. A form that you sent was not saved. Sign in again, and you come back to the page where you were.',
  'sign_in.waits':
    'Too many sign-ins failed, for this e-mail or from your address. Wait {minutes}, then try again; until then the right password is refused too',
  'sign_in.locks':
    'After 5 wrong passwords an account is locked for 15 minutes; after 50 from one address, so is the address.',
  'sign_in.none':
    'There is no way to sign in here: passwords are switched off and no identity provider is set up.',
  'sign_in.none_command':
    'On the host of the gateway, an administrator can switch passwords on by this command:',
  'sign_in.none_variable':
    'On the host of the gateway, an administrator can switch passwords on by this environment variable of the gateway:',
  'sign_in.none_ask': 'Ask your administrator.',
  'sign_in.switch_on': 'Switch passwords on',
  'sign_in.local_off': 'Local auth disabled',
  'sign_in.local_off_more': 'Signing in with e-mail and password is switched off here.',
  'sign_in.failed': 'Sign-in failed',
  'sign_in.no_provider': 'No such provider',
  'sign_in.signed_out': 'Signed out here',
  'sign_in.sign_out_refused': 'Sign-out refused',
  'sign_out.done': 'You are signed out.',

  'again.title': 'Sign in again',
  'again.by_password':
    'To be sure that it is you, type your password again. Your last sign-in is too long ago for this change, and somebody else may sit at a browser that you left open. Afterwards you come back, and can make the change.',
  'again.by_provider':
    'To be sure that it is you, sign in again. Your last sign-in is too long ago for this change, and somebody else may sit at a browser that you left open. Afterwards you come back, and can make the change.',
  'again.session': 'That renews the VPN session of your devices, and brings you back.',
  'again.too_long_ago': 'Nothing is changed: your sign-in is too long ago for it.',

  'forgot.title': 'Forgot password',
  'forgot.asked':
    'If somebody here has this e-mail and signs in by password, a mail is on its way to them. Its link is good for one hour.',
  'forgot.asked_more':
    'Nothing arrives? Look into the folder for spam, or ask your administrator for a one-time link.',
  'forgot.send': 'Send me a link',

  'link.welcome': 'Welcome',
  'link.back': 'Welcome back',
  'link.reset': 'Choose another password',
  'link.welcome_more':
    'This link is for {email}. It lets you in once, until {until}; then you add your device.',
  'link.back_more':
    'This link is for {email}. It lets you in once, until {until}, also if you forgot your password. Your devices stay as they are.',
  'link.reset_more': 'This link gives {email} another password. It works once, until {until}.',
  'link.go_on': 'Choose password and go on',
  'link.with': 'Go on with {provider}',

  'leave.title': 'One moment',
  'leave.to': 'You are being taken to {host}.',
  'leave.now': 'Go there now',
  'leave.send': 'Go there',

  'error.first_page': 'To the first page',
  'error.sign_in_page': 'To the sign-in page',
  'error.kept': 'What you typed is kept in this window, without passwords and codes.',
  'error.form_again': 'Open the form again',
  'error.request': 'Request',
  'error.unreadable': 'This could not be read',
  'error.unreadable_more':
    'What was sent could not be read. Go back, reload the page and try again.',
  'error.sign_in': 'Please sign in',
  'error.sign_in_more': 'This page is for people who are signed in.',
  'error.forbidden': 'Not for you',
  'error.forbidden_more': 'This page is for administrators. If you should see it, ask one of them.',
  'error.scope': 'Not for this token',
  'error.scope_more':
    'The API token was made for something else. Use one with the scope that is needed.',
  'error.stale': 'This form is out of date',
  'error.stale_more':
    'Somebody signed in or out since it was opened, or it came from another site. Go back, reload the page and try again.',
  'error.not_found': 'Nothing here',
  'error.not_found_more': 'There is no such page, or what it showed was removed.',
  'error.slow': 'Too slow',
  'error.slow_more': 'The request took too long to arrive. Try again.',
  'error.large': 'Too large',
  'error.large_more':
    'What was sent is larger than this page takes, and nothing of it was saved. Go back and send less at once: half of the list and then the rest, or a smaller file.',
  'error.many': 'Too many requests',
  'error.many_more': 'Too many requests came from your address. Wait a moment and try again.',
  'error.captures': 'Two captures run already',
  'error.captures_more':
    'This gateway captures packets for two people at most. Wait until one capture has ended, or end one.',
  'error.internal': 'Something went wrong',
  'error.internal_more': 'This is an error of the gateway. Its log says more, under the id below.',
  'error.bad_gateway': 'The other side did not answer well',
  'error.bad_gateway_more':
    'A service that this page needs is down, or its answer makes no sense. Try again later.',
  'error.unavailable': 'Back in a moment',
  'error.unavailable_more':
    'The database cannot be reached or is too busy. Your devices work meanwhile. Try again soon.',
  'error.upgrade': 'This gateway waits for its upgrade',
  'error.upgrade_more':
    'A later version has changed the database, so nothing can be changed at this gateway until it is upgraded. Your devices work meanwhile. Try again soon: another gateway may answer.',
  'error.away': 'No device is connected',
  'error.away_more':
    'The gateway cannot reach its database for longer than an administrator allows, so it lets no device through until it can. Tell an administrator.',

  'copy.done': 'Copied',
  'copy.what': 'Copied: {what}',
  'copy.selected': 'Selected',
  'copy.failed': 'Not copied; it is selected.',
  'list.selected': '{count} selected',
  'typed.again':
    'What you typed is here again, without passwords and codes. Nothing is changed yet: please send it once more.',
  'time.utc': '(in UTC)',
  'time.no_such': 'This time does not exist in your zone: clocks go forward then.',
  'time.day': '1 day',
  'time.week': '1 week',
  'time.month': '30 days',
  'time.never': 'never',
} as const;
