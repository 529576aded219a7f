// What people should look at first when a packet is dropped. docs/reference/refusal-reasons.md has
// all reasons, with what to do about each.

import type { ExplainedReason } from './gates.ts';

const advice: Readonly<Partial<Record<ExplainedReason, string>>> = {
  device_off: 'Switch the device on.',
  device_ended: 'Give the device a later end, or none.',
  owner_disabled: 'Enable the owner.',
  session_ended: 'Let the owner sign in to this gateway, or lengthen the VPN session.',
  not_served: 'Look at the problems on the page Overview and in the log of this gateway.',
  elsewhere: 'Ask that gateway.',
  no_way_in:
    'Let the device open the connection, or give the gateway a TUN. A host can also be a device.',
  no_way_out:
    'Run the gateway as root with a TUN: without root it carries TCP, UDP and echo requests alone.',
  database_away: 'Bring the database back. Then devices go on by themselves.',
  inner_source_reserved: 'Look at the network settings of the device.',
  inner_source_not_allowed:
    'Let the device send from its two tunnel addresses, or name the network behind it.',
  inner_destination_reserved: 'This address is never reached through the tunnel. Use another one.',
  inner_destination_metadata:
    'Set ALLOW_CLOUD_METADATA=true if the device really needs it: it opens credentials of the host.',
  inner_destination_host:
    'Let the service run on another host, or run the gateway as root with a TUN: else services cannot tell devices from the gateway. If it is the database or an identity provider, add a rule that accepts exactly its address.',
  inner_own_endpoint: 'Take the address of the gateway out of the allowed IPs of the device.',
  rule_drop: 'Change the rule, or add one that is asked before it and accepts.',
  default_drop: 'Add a rule that accepts it, or change the default action.',
  no_peer: 'Look whether the device with this address exists, is on and may connect.',
  no_tun: 'Run “postern doctor”: the gateway has no TUN, so nothing leaves it.',
  no_socket_for_protocol:
    'Give the gateway a TUN: without one it carries TCP, UDP and echo requests alone.',
  hop_limit_exceeded: 'Look for a loop of routes.',
  packet_too_big: 'Lower the MTU of the device.',
  rate_limit: 'Wait for a moment, or raise the limit of the device.',
  quota_exceeded: 'Raise the quota of the user, or wait for the next month.',
  peer_no_endpoint: 'Let the device connect first: this gateway does not know where it is.',
  peer_elsewhere: 'Ask the gateway to which the device is connected.',
  packet_source_forged:
    'Ask with the address of a host that is no device and behind none; or name the device that sends.',
};

/** What to look at first; null: the reason says all. */
export function adviceOn(reason: ExplainedReason): string | null {
  return advice[reason] ?? null;
}
