// The English texts of pages for people who are no administrators.

/** By key; {name} is the place of a value, or of what is marked. */
export const portal = {
  'my_devices.title': 'My devices',
  'my_devices.hello': 'Hello, {name}.',
  'my_devices.managed_here': 'Here administrators add, change and remove devices. Ask one of them.',
  'my_devices.none': 'No device yet',
  'my_devices.none_add':
    'Add your laptop or phone; you get the file, or the code to scan, that its WireGuard app needs.',
  'my_devices.none_ask': 'An administrator can add one for you.',
  'my_devices.file_old': 'File is out of date',
  'my_devices.count': '{count} of at most {most} devices',
  'my_devices.managed': 'Managed by an administrator',
  'my_devices.managed_more':
    'Only administrators add, change and remove devices here. Ask one of them.',

  'device.add': 'Add a device',
  'device.change': 'Change {name}',
  'device.key_stays':
    "Its key pair is made in this browser. The private key stays here and is in the next page's file alone: save that file, or scan its code, before you leave it.",
  'device.add_it': 'Add the device',
  'device.change_it': 'Change',
  'device.unsure':
    'No answer came, so it is not known whether the device was added. Try again: it will not be added twice.',
  'device.switch_off': 'Switch off',
  'device.switch_off_ask': 'Switch {name} off?',
  'device.switch_off_more':
    'For a device that is lost: it passes no packet until you or an administrator switch it on again.',
  'device.switch_it_off': 'Switch it off',
  'device.file_old':
    'The configuration of this device is out of date: settings or keys changed since its file was made. {file} and import it again.',
  'device.file_get': 'Get the present file',
  'device.file': 'File and QR code',
  'device.switch_on': 'Switch on',
  'device.status': 'Status',
  'device.network': 'Network',
  'device.connection': 'Connection',
  'device.remove': 'Remove',
  'device.last_handshake': 'Last handshake',
  'device.remote': 'Connects from',
  'device.download': '↓ Download',
  'device.upload': '↑ Upload',
  'device.address': 'Address',
  'device.public_key': 'Public key',
  'device.handshake': 'Handshake',
  'device.traffic': 'Traffic',
  'device.never': 'never',
  'device.reload': 'Reload the page for newer values. With scripts the page updates itself.',
  'device.allowed_ips': 'Allowed IPs',
  'device.dns': 'DNS servers',
  'device.endpoint': 'Endpoint',
  'device.mtu': 'MTU',
  'device.persistent_keepalive': 'Persistent keepalive',
  'device.none': 'none',
  'device.by_default': 'by default',
  'device.held_there': 'It is off by an administrator, or ended: remove it on {page}.',
  'device.held_page': 'its page under {devices}',
  'device.held_devices': 'Devices',
  'device.remove_this': 'Remove this device',
  'device.remove_ask': 'Remove {name}?',
  'device.remove_more':
    'It passes no packet from then on, and its file no longer works. This cannot be undone.',
  'device.remove_it': 'Remove it',
  'device.held': 'It is off by an administrator, or ended: only an administrator removes it.',
  'device.remove_lost': 'Remove a device that is lost or replaced.',
  'device.is_added': '{name} is added.',
  'device.is_removed': '{name} is removed. It passes no packet any more.',
  'device.is_changed': 'The changes are in force.',
  'device.is_on': '{name} is switched on.',
  'device.is_off': '{name} is switched off. It passes no packet any more.',
  'device.not_yours': 'An administrator switched it off; ask one of them.',
  'device.unknown': 'unknown',
  'device.description': 'Description',
  'device.name_more':
    'For example laptop or phone. If you leave it empty, the gateway chooses a name.',
  'device.routes': 'Networks behind it',
  'device.routes_more':
    'Of a branch office or a LAN to which this device leads, with commas between: 10.1.0.0/16. Most devices have none.',
  'device.settings': 'Network settings',
  'device.settings_more':
    'These values are in the file of the device. The rules of the gateway decide what the device may reach. An empty field follows the default, also when it changes.',
  'device.allowed_ips_more':
    'What the device sends through the VPN: addresses and networks, with commas between.',
  'device.dns_more': 'Addresses or search domains, with commas between; {none} for no DNS server.',
  'device.endpoint_more': 'Where the device finds the gateway: host or host:port.',
  'device.mtu_more': '576 to 1500 bytes.',
  'device.persistent_keepalive_more': '0 to 120 seconds; 0 switches it off.',
  'device.client_default': '{value} · the client default',
  'device.the_default': 'the default',

  'limit.down': 'Download limit',
  'limit.up': 'Upload limit',
  'limit.more': 'For example 10 Mbit/s. Empty: what its owner or the settings say.',
  'limit.of_user': 'of the user',
  'limit.none': 'no limit',

  'state.online': 'Online',
  'state.offline': 'Offline',
  'state.never_seen': 'Never seen',
  'state.off': 'Switched off',
  'state.ended': 'Ended',
  'state.owner_disabled': 'Owner disabled',
  'state.session_ended': 'VPN session ended',

  'chart.all': 'Traffic in the last five minutes',
  'chart.here': 'Traffic at this gateway in the last five minutes',
  'chart.idle': 'No traffic in the last five minutes.',
  'chart.idle_here': 'No traffic at this gateway in the last five minutes.',
  'chart.of_one': 'The chart shows what this gateway carries.',
  'chart.time': 'Time',
  'chart.since': 'Since',
  'chart.download': 'Download',
  'chart.upload': 'Upload',
  'live.pause': 'Pause',
  'live.go_on': 'Go on',
  'live.upgraded': 'Postern was upgraded · Reload',
  'live.changes_one': '1 change · Show',
  'live.changes': '{count} changes · Show',

  'file.of': 'File of {name}',
  'file.save_now':
    '{now} The private key in it was made in this browser. It was not sent to the gateway and is stored nowhere: when you leave this page, it is gone.',
  'file.now': 'Save this now.',
  'file.hand_over':
    'Give the file to {owner} in a way that you trust: whoever has the file can connect as this device.',
  'file.old':
    'Settings or keys changed since the file of this device was made. Import this file on the device in place of the older one. The private key stays the same: it is in the older file.',
  'file.old_ask': 'Did you import it already?',
  'file.old_done': 'Yes, the device has this file now',
  'file.tell': 'Tell an administrator of this gateway.',
  'file.key_missing': 'The private key is missing',
  'file.key_missing_more':
    'This page does not have the private key; only the device has it. Open the file that the device has now, and find the line that begins with {line}. Here that line has {blank} in place of the key.',
  'file.key': 'Private key of this device',
  'file.key_more':
    'Paste the key, or the whole line {line}. It stays in this browser, and completes the file and its QR code.',
  'file.the': 'The file',
  'file.on_computer':
    'Windows and macOS: import it in the WireGuard app. Linux: save it as {place} and run {command}.',
  'file.on_phone':
    'For this phone: download the file. Then open the WireGuard app, touch “+” and choose “Import from file or archive”.',
  'file.download': 'Download {name}',
  'file.download_blank': 'Download it without the private key',
  'file.no_app':
    'You do not have the WireGuard app yet? Phones find it as “WireGuard” in the App Store or in Google Play, computers at {site}. On Debian and Ubuntu: {command}.',
  'file.session':
    'The VPN session ends some time after each sign-in at this site; then the device passes no packet. If this site does not load then: switch the VPN off, sign in, and switch the VPN on again.',
  'file.dns': 'What the line DNS needs',
  'file.dns_more':
    'While the tunnel is up, the device asks these DNS servers. The WireGuard apps do this by themselves. On Linux {tool} needs the command {resolver}. If it says “resolvconf: command not found”, install it (Debian and Ubuntu: {command}; Fedora and Arch: the package {first} or {second}), or delete the line {line}: then the device keeps the DNS servers that it has.',
  'file.qr': 'The QR code',
  'file.qr_too_long':
    'This file is too long for a QR code. Use the file: download it, bring it to the device and import it there.',
  'file.qr_computer': 'For a phone: in the WireGuard app touch “+” and choose “Scan from QR code”.',
  'file.qr_phone':
    'For another phone: in its WireGuard app touch “+” and choose “Scan from QR code”. A phone cannot scan its own screen; here, import the file.',
  'file.new_key': 'A new key pair',
  'file.new_key_more':
    'Is the private key lost? A new key pair brings a complete file. When the new key is in force, the key that the device has now no longer works, and no file with that key works.',
  'file.staged':
    '{not_yet} The file below has the new private key. First save it, or scan its code. Then put the new key in force.',
  'file.not_yet': 'Nothing has changed yet.',
  'file.staged_more':
    'If this browser uses the VPN of this very device, the connection stops at that moment. Then import the new file, and the connection is back.',
  'file.put_in_force': 'Put the new key in force',
  'file.make_key': 'Make a new key pair',
  'file.keep_key': 'Keep the present key',
  'file.qr_of': 'QR code of {name}',
  'file.no_key': 'This is not a private key.',
  'file.other_key': 'This is the key of another device.',
  'file.key_right': 'The private key is right: the file is complete',
  'file.key_sent': 'The new key is sent. If the connection stops now, import the new file.',
  'file.key_signed_out':
    'You are signed out. Sign in again in another window, then put the new key in force here.',
  'file.key_unsure':
    'No answer came, so it is not known whether the new key is in force. Keep this page open and save the new file. This page finds out as soon as it reaches the gateway again.',
  'file.key_former': 'The gateway still has the former key. Put the new key in force again.',
  'file.key_in_force': 'The new key is in force. Files with the former key no longer work.',
  'file.key_is_new': 'The new key of {name} is in force. Files with the former key no longer work.',

  'field.name': 'Name',
  'field.email': 'E-mail',
  'field.password': 'Password',
  'field.code': 'Code',

  'account.title': 'Account',
  'account.you': 'You',
  'account.role': 'Role',
  'account.administrator': 'Administrator',
  'account.user': 'User',
  'account.last': 'Last sign-in',
  'account.last_by': '{when}, by {method}',
  'account.password_more': 'If you change it, your other browsers are signed out.',
  'account.no_password':
    'You have none: you sign in through an identity provider. An administrator can give you one.',

  'password.title': 'Change your password',
  'password.change_it': 'Change password',
  'password.present': 'Present password',
  'password.new': 'New password',
  'password.new_more': '12 to 64 characters. Several words are easy to remember and hard to guess.',
  'password.again': 'New password again',
  'password.none':
    'You have no password: you sign in through an identity provider. An administrator can give you one.',
  'password.wrong':
    'This is not your present password. After 5 wrong passwords you must wait 15 minutes.',
  'password.same': 'This is your present password. Please choose another one.',
  'password.is_changed': 'Your password is changed. Other browsers were signed out.',

  'sessions.title': 'Where you are signed in',
  'sessions.yours': 'Your sessions',
  'sessions.end_others': 'Sign out everywhere else',
  'sessions.by': '{address}, by {method}',
  'sessions.password': 'password',
  'sessions.now': 'now',
  'sessions.this': 'this browser',
  'sessions.browser': 'Browser',
  'sessions.unknown': 'Unknown browser',
  'sessions.since': 'Since',
  'sessions.seen': 'Last seen',
  'sessions.none': 'None',
  'sessions.ended_one': 'One session is ended.',
  'sessions.ended': '{count} sessions are ended.',
  'sign_out.it': 'Sign out',

  'keys.title': 'Keyboard',
  'keys.search': 'The key / leads to the search',
  'keys.search_more':
    'Kept in this browser. Switch it off if a screen reader or speech input uses this key.',

  'factors.title': 'Second factors',
  'factors.yours': 'Your second factors',
  'factors.more': 'If you add or remove one, your other browsers are signed out.',
  'factors.add': 'Add a second factor',
  'factors.add_it': 'Add it',
  'factors.added': 'Added',
  'factors.used': 'Last used',
  'factors.none': 'No second factor',
  'factors.none_more':
    'With one, your password alone opens nothing: signing in also asks for a code from your phone.',
  'factors.scan':
    'Scan this with an authenticator (any app that shows codes of six digits), then type the code that it shows. Your other browsers are then signed out.',
  'factors.qr': 'QR code of the secret, which is also shown below as text',
  'factors.no_camera': 'Without a camera:',
  'factors.same_phone': 'This phone cannot scan its own screen: {app}, or copy the secret.',
  'factors.same_phone_app': 'open the authenticator of this phone',
  'factors.secret': 'the secret',
  'factors.phone': 'Phone',
  'factors.name_more': 'So that you know which one it is.',
  'factors.new_code': 'Code of the new one',
  'factors.present_code': 'Code of one that you have',
  'factors.present_code_more':
    'A code of an authenticator that you already have, or a recovery code. So nobody who finds this browser open can add a second factor.',
  'factors.wrong_code':
    'This is not the code that your authenticator shows now. Type the one that it shows now; if that is refused too, check the clock of your phone.',
  'factors.too_many': 'You have {most} second factors, which is the most. Remove one first.',
  'factors.is_added': 'The second factor “{name}” is set up. Other browsers were signed out.',
  'factors.remove': 'Remove',
  'factors.removal': 'Remove a second factor',
  'factors.removal_more':
    'You cannot sign in with its codes any more. If it is your last one, your recovery codes are removed too. Your other browsers are signed out.',
  'factors.remove_it': 'Remove it',
  'factors.is_removed': 'The second factor is removed. Other browsers were signed out.',

  'codes.title': 'Your recovery codes',
  'codes.more':
    'Each lets you in once when your authenticator is not at hand. {now} Write them down or print them, and keep them in a safe place, but not on your phone. Your other browsers were signed out.',
  'codes.now': 'They are shown only now.',
  'codes.saved': 'I have saved the codes',
  'codes.left_one': 'One recovery code is left.',
  'codes.left': '{count} recovery codes are left.',
  'codes.make_new': 'Make new ones',
  'codes.renewal': 'New recovery codes',
  'codes.renewal_more':
    'You get ten new codes. The old codes no longer work, and your other browsers are signed out.',

  'code.title': 'Second step',
  'code.open': 'Open your authenticator and type the code that it shows for Postern.',
  'code.step_more': 'Six digits, or one of your recovery codes.',
  'code.go_on': 'Continue',
  'code.lost':
    'Lost your authenticator and your recovery codes? An administrator can reset your second factors.',
  'code.more': 'Six digits of one of your authenticators, or a recovery code.',
  'code.wrong':
    'This code is wrong, or it was used before. After 5 wrong codes you must wait 15 minutes, after 5 more twice as long, up to a day.',

  'form.save': 'Save',
  'form.cancel': 'Cancel',
  'form.back': 'Back',
  'form.copy': 'Copy',
  'form.wrong': 'Nothing was saved. Please correct what is marked below.',
  'form.forgets': 'Passwords and keys are not shown again: please type them once more.',
  'table.action': 'Action',

  'own_key.early':
    'Nothing has changed yet: the form was sent before the script of this page had run. Press the button again.',
  'own_key.title': 'Use a key pair of my own',
  'own_key.more':
    'Where no script runs, make the key pair yourself: wg genkey | tee private.key | wg pubkey. Give the line that it prints; keep private.key to yourself.',

  'switches.problem_own':
    'The gateway cannot serve this device at present: it does not connect. Please ask an administrator.',
  'switches.ask': 'Ask an administrator if you need it.',
  'switches.problem': 'The gateway cannot serve this device: {problem}.',
  'switches.off_by_you':
    'You switched it off {when}: it passes no packet. If it is lost, end its {sessions} too.',
  'switches.sessions': 'browser sessions',
  'switches.off_by_owner': 'Its owner switched it off {when}: it passes no packet.',
  'switches.off': 'Switched off since {when}: it passes no packet.',
  'switches.ended': 'It ended at {when}: it passes no packet.',
  'switches.ends': 'It works until {when}. An administrator set this end.',

  'session.over_since':
    'Your VPN session has ended {when}. Your devices pass no packet until you sign in again.',
  'session.over':
    'Your VPN session has ended. Your devices pass no packet until you sign in again.',
  'session.over_more':
    'If this page does not load while the VPN is on: switch the VPN off, sign in, and switch the VPN on again.',
  'session.again': 'Sign in again',
  'session.ends': 'Your VPN session ends {when}. Your devices pass packets until then.',
  'session.ends_more':
    'Renew it before it ends. Later, a device that sends everything through the VPN cannot reach this page: then switch the VPN off, sign in, and switch the VPN on again.',
  'session.renew': 'Renew it',

  'quota.over':
    'You used {used} of {quota} this month. Your devices reach nothing but this gateway until {until}. If you need more, ask an administrator.',
  'quota.used': 'You used {used} of {quota} this month.',

  'blocked.title': 'What was blocked',
  'blocked.lead':
    'What your devices sent lately and this gateway did not let pass. Ask an administrator if you need one of these places.',
  'blocked.elsewhere':
    'Connected to another gateway: {devices}. What is blocked there is not in this list.',
  'blocked.latest': 'Latest',
  'blocked.device': 'Device',
  'blocked.to': 'To',
  'blocked.why': 'Why',
  'blocked.packets': 'Packets',
  'blocked.none': 'Nothing was blocked lately',
  'blocked.none_more': 'What your devices send and may not reach is listed here.',
  'blocked.your_devices': 'your devices',
  'blocked.by_rule': 'A rule of your administrator blocks it.',
  'blocked.by_default': 'No rule of your administrator allows it.',

  'handshake.title': 'First connection',
  'handshake.again': 'Look again',
  'handshake.waiting': 'Waiting for the first handshake. Import the file and switch the tunnel on.',
  'handshake.connected': 'Connected: the device has made a handshake.',
} as const;
