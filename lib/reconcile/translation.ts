// Keeps what all rows mean together: who is served, under which rules, until when. A change costs
// what it touches; the passing of time costs something only when it ends a session or a device.
// Pending changes are kept only here. A change that the data plane did not acknowledge is pending
// again, so that a failure loses nothing (../../dataplane/decisions/2026-11-23-one-ledger.md).

import { type Amendment, MAX_PEERS, type PeerConfig } from '../../dataplane/index.ts';
import { monthOf, type ObeyedDevice, type ObeyedUser } from '../../models/index.ts';
import { effectiveFields } from '../kit/records/effective-configuration.ts';
import { endedDevice, endedUser, idsOf, shorter } from './ends.ts';
import { FormerKeys } from './former-keys.ts';
import { GroupNumbers, holdAll, releaseAll } from './group-numbers.ts';
import {
  type Device,
  type KnownDevice,
  type Owner,
  type Problem,
  type Removal,
  whyStopped,
} from './known.ts';
import { Places } from './places.ts';
import { Quotas } from './quotas.ts';
import { TranslatedRules } from './translated-rules.ts';
import {
  type AllIds,
  NO_SETTINGS,
  OBEYED_SETTINGS,
  type RowChanges,
  type RowEnds,
  type RowSettings,
} from './read.ts';
import {
  defaultMtu,
  deviceEnd,
  isIn,
  NEVER,
  peerLimits,
  resumeOf,
  translateDevice,
  type TranslateSettings,
  type VpnSessionTime,
  vpnSessionTime,
} from './translate.ts';

const NO_CHANGE: Amendment = { peers: new Map(), rules: new Map() };

/** The meaning of the rows. */
export class Translation {
  readonly #settings: TranslateSettings;
  readonly #maxPeers: number;
  readonly #places: Places;
  readonly #numbers: GroupNumbers;
  readonly #owners = new Map<string, Owner>();
  readonly #devices = new Map<string, Device>();
  /** The devices that have an end. */
  readonly #endingDevices = new Set<Device>();
  readonly #deviceIds = new Map<string, string>();
  readonly #former = new FormerKeys();
  readonly #rules: TranslatedRules;
  readonly #quotas = new Quotas();
  readonly #refusedDevices = new Map<string, string>();
  /** Public keys of devices that are pending. */
  readonly #pendingKeys = new Set<string>();
  /** Public keys of devices that are served again; they may have connected since their row came. */
  readonly #returning = new Set<string>();
  /** The configuration as it serves; its default action counts once it is read. */
  #configuration: RowSettings;
  #defaultAction: RowSettings['default_action'] | null = null;
  #handedOverDefault: RowSettings['default_action'] | null = null;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  #nextChangeAtMs = Number.POSITIVE_INFINITY;

  constructor(
    settings: TranslateSettings,
    maxPeers = MAX_PEERS,
    numbers: GroupNumbers = new GroupNumbers(),
  ) {
    this.#settings = settings;
    this.#maxPeers = maxPeers;
    this.#numbers = numbers;
    this.#rules = new TranslatedRules(numbers);
    this.#places = new Places(maxPeers);
    this.#configuration = this.#effective(NO_SETTINGS);
  }

  /** How many devices there are, served or not. */
  get deviceCount(): number {
    return this.#devices.size;
  }

  /** Takes rows that changed, at `nowMs` (Unix time). */
  take(changes: RowChanges, nowMs: number): void {
    const { all, users, groups, devices, rules } = changes;
    this.#rules.opensNothing = false;
    this.#quotas.opensNothing = false;
    if (all !== null) this.#takeGone(all, nowMs);
    if (changes.settings !== null) this.#takeSettings(changes.settings);
    for (const [id, row] of users) this.#takeUser(id, row, nowMs);
    for (const [userId, ids] of groups) this.#takeGroups(userId, ids);
    for (const [id, row] of devices) this.#takeDevice(id, row, nowMs);
    for (const [id, row] of rules) this.#rules.take(id, row, nowMs);
    this.passTo(nowMs);
    // If all rows came just now, the last known endpoints came with them.
    if (all !== null) this.#returning.clear();
  }

  /** Takes what ends of rows on a later schema, at `nowMs` (Unix time); nothing else changes. */
  takeEnds({ isAll, users, devices, vpnSessionDuration }: RowEnds, nowMs: number): void {
    this.#rules.opensNothing = true;
    this.#quotas.opensNothing = true;
    const duration = shorter(this.#configuration.vpn_session_duration, vpnSessionDuration);
    const shortened = { ...this.#configuration, vpn_session_duration: duration };
    this.#configuration = this.#effective(shortened);
    for (const id of idsOf(this.#owners.keys(), users, isAll)) {
      const owner = this.#owners.get(id);
      if (owner?.row == null) continue;
      owner.row = endedUser(owner.row, users.get(id) ?? null, (row) => this.#timeOf(row).untilMs);
    }
    for (const id of idsOf(this.#devices.keys(), devices, isAll)) {
      const device = this.#devices.get(id);
      if (device === undefined) continue;
      const endMs = endedDevice(device, devices.get(id) ?? null, this.#settings);
      if (endMs === null) this.#removeDevice(id, null);
      else this.#checkDevice(Object.assign(device, { endMs }), nowMs);
      if (Number.isFinite(endMs)) this.#endingDevices.add(device);
    }
    this.#nextChangeAtMs = Number.NEGATIVE_INFINITY;
    this.passTo(nowMs);
  }

  /** Ids of devices that are served again; their last known endpoints must be read again. */
  get returning(): string[] {
    return [...this.#returning].map((key) => this.#deviceIds.get(key)).filter((id) => id != null);
  }

  /** Takes the last known endpoints of devices, which change without a change row. */
  hear(rows: readonly ObeyedDevice[]): void {
    for (const row of rows) {
      const device = this.#devices.get(row.id);
      if (device === undefined || 'message' in device.peer) continue;
      device.peer = { ...device.peer, resume: resumeOf(row, this.#settings.gatewayId) };
    }
    this.#returning.clear();
  }

  /** Who has a quota, and who is over it. */
  get quotas(): Pick<Quotas, 'has' | 'limited' | 'lower' | 'overCount' | 'unread'> {
    return this.#quotas;
  }

  /** Takes what users carried in a month, which changes without a change row. */
  hearUsage(...heard: Parameters<Quotas['hear']>): void {
    this.#renew(this.#quotas.hear(...heard));
  }

  /** Sets the time, which also goes back if the clock is set: what has a time may begin or end. */
  passTo(nowMs: number): void {
    if (nowMs >= this.#nextChangeAtMs || nowMs < this.#checkedAtMs) {
      this.#nextChangeAtMs = Number.POSITIVE_INFINITY;
      for (const owner of this.#owners.values()) this.#check(owner, nowMs);
      for (const device of this.#endingDevices) this.#checkDevice(device, nowMs);
    }
    this.#rules.passTo(nowMs);
    this.#renew(this.#quotas.passTo(nowMs));
    this.#checkedAtMs = nowMs;
  }

  /** What is pending; null if nothing is. */
  pending(): Amendment | null {
    const action = this.#defaultAction === this.#handedOverDefault ? null : this.#defaultAction;
    if (this.#pendingKeys.size === 0 && !this.#rules.hasPending && action === null) return null;
    const peers = new Map<string, PeerConfig | null>();
    for (const key of this.#pendingKeys) peers.set(key, this.#peerOf(key));
    for (const key of this.#places.assign(peers)) {
      this.#pendingKeys.add(key);
      peers.set(key, this.#peerOf(key));
    }
    const rules = this.#rules.pending();
    return { peers, rules, ...(action === null ? {} : { defaultAction: action }) };
  }

  /** Notes that the last result of `pending` was sent to the data plane. */
  handOver(): void {
    this.#pendingKeys.clear();
    this.#rules.handOver();
    this.#handedOverDefault = this.#defaultAction;
  }

  /** Hands over what is due and no new row can change: devices that end, rules that turn. */
  handOverDue(): Amendment | null {
    const peers = new Map<string, null>();
    for (const key of this.#pendingKeys) if (this.#peerOf(key) === null) peers.set(key, null);
    const rules = this.#rules.handOverDue();
    if (peers.size === 0 && rules.size === 0) return null;
    for (const key of peers.keys()) this.#pendingKeys.delete(key);
    return { peers, rules };
  }

  /** Notes that the data plane did not acknowledge what `handOverDue` gave: it is due again. */
  takeBackDue({ peers }: Amendment): void {
    for (const key of peers.keys()) this.#pendingKeys.add(key);
    this.#rules.takeBackDue();
  }

  /** Notes that the data plane did not acknowledge an amendment: all of it is pending again. */
  takeBack({ peers, rules, defaultAction }: Amendment): void {
    if (defaultAction !== undefined) this.#handedOverDefault = null;
    for (const key of peers.keys()) this.#pendingKeys.add(key);
    this.#rules.takeBack(rules);
  }

  /**
   * What rows would change of what is in force if they were committed, at `nowMs` (Unix time).
   * `changes` has, beside the rows that change, the owners of its devices with their groups, and
   * all devices of its owners; `used` what they carried this month, with new settings all users.
   */
  tried(changes: RowChanges, used: ReadonlyMap<string, number>, nowMs: number): Amendment {
    const { settings } = changes;
    const after = new Translation(this.#settings, this.#maxPeers, this.#numbers.copy());
    after.take({ ...changes, settings: settings ?? this.#configuration }, nowMs);
    after.hearUsage(monthOf(nowMs), [...changes.users.keys()], used);
    const { peers: tried, rules: triedRules } = after.pending() ?? NO_CHANGE;
    const peers = new Map(tried);
    for (const id of changes.devices.keys()) {
      const publicKey = this.#devices.get(id)?.publicKey;
      if (publicKey !== undefined && !peers.has(publicKey)) peers.set(publicKey, null);
    }
    for (const [id, owner] of this.#owners)
      if (owner.isServed && !changes.users.has(id) && !isIn(after.#timeOf(owner.row), nowMs))
        for (const { publicKey } of owner.devices) peers.set(publicKey, null);
    if (settings !== null) this.#tryDefaultQuota(after.#quotas, changes.users, used, peers);
    const rules = new Map([...triedRules].map(([scope, ofScope]) => [scope, new Map(ofScope)]));
    for (const id of changes.rules.keys()) {
      const scope = this.#rules.scopeOf(id);
      if (scope === undefined || rules.get(scope)?.has(id) === true) continue;
      rules.set(scope, (rules.get(scope) ?? new Map()).set(id, []));
    }
    const isSame = after.#defaultAction === this.#defaultAction;
    const defaultAction = isSame ? null : after.#defaultAction;
    return { peers, rules, ...(defaultAction === null ? {} : { defaultAction }) };
  }

  /** Adds the devices of owners whom the default quota of `after` stops or no longer stops. */
  #tryDefaultQuota(
    after: Quotas,
    tried: RowChanges['users'],
    used: ReadonlyMap<string, number>,
    peers: Map<string, PeerConfig | null>,
  ): void {
    for (const [id, { row, devices }] of this.#owners) {
      if (row === null || tried.has(id)) continue;
      const isOverQuota = after.wouldBeOver(row.quota, used.get(id) ?? 0);
      if (isOverQuota === this.#quotas.isOver(id)) continue;
      for (const { publicKey } of devices) {
        const peer = peers.has(publicKey) ? null : this.#peerOf(publicKey);
        if (peer !== null) peers.set(publicKey, { ...peer, isOverQuota });
      }
    }
  }

  /** The id of the device that has a public key or had it lately; null if there is none. */
  deviceIdOf(publicKey: string): string | null {
    return this.#deviceIds.get(publicKey) ?? this.#former.formerDeviceOf(publicKey);
  }

  /** What `deviceIdOf` says, also of a device that was deleted lately, whose flows are shown. */
  lastDeviceIdOf(publicKey: string): string | null {
    return this.deviceIdOf(publicKey) ?? this.#former.deletedDeviceOf(publicKey)?.id ?? null;
  }

  /** The owner of the device that `lastDeviceIdOf` names; null if there is none. */
  lastOwnerIdOf(publicKey: string): string | null {
    const device = this.#devices.get(this.deviceIdOf(publicKey) ?? '');
    return (device ?? this.#former.deletedDeviceOf(publicKey))?.ownerId ?? null;
  }

  /** The public key of a device; null if the device is not known. */
  publicKeyOf(deviceId: string): string | null {
    return this.#devices.get(deviceId)?.publicKey ?? null;
  }

  /** What `publicKeyOf` says, also of a device that was deleted lately; null if another has it. */
  lastPublicKeyOf(deviceId: string): string | null {
    const known = this.publicKeyOf(deviceId);
    if (known !== null) return known;
    const keys = this.#former.keysOfDeleted(deviceId);
    return keys.find((publicKey) => this.lastDeviceIdOf(publicKey) === deviceId) ?? null;
  }

  /** The device that is served under a public key; null if none is. */
  servedDeviceOf(publicKey: string): KnownDevice | null {
    const device = this.#devices.get(this.#deviceIds.get(publicKey) ?? '');
    if (device === undefined || !this.#isServed(device)) return null;
    if (this.#places.waiting.has(publicKey)) return null;
    return { id: device.id, userId: device.ownerId, name: device.name };
  }

  /** Why the device that has a public key, or had it lately, is not served. */
  whyGone(publicKey: string): Removal {
    const device = this.#devices.get(this.#deviceIds.get(publicKey) ?? '');
    if (device !== undefined) return whyStopped(device, this.#owners.get(device.ownerId));
    if (this.#former.formerDeviceOf(publicKey) !== null) return 'key_replaced';
    return this.#former.deletedDeviceOf(publicKey) === null ? 'removed' : 'deleted';
  }

  /** The rules that are in force, and what each does. */
  ruleActions(): ReturnType<TranslatedRules['actions']> {
    return this.#rules.actions();
  }

  /** The devices that should be served, and the rules, that the gateway cannot obey. */
  get problems(): Problem[] {
    const problems: Problem[] = [];
    for (const [id, message] of this.#refusedDevices)
      if (this.#isServed(this.#devices.get(id))) problems.push({ table: 'devices', id, message });
    const message = `it is not served, because ${this.#maxPeers} devices are served already, which is the most that a gateway can; remove or disable devices that are not needed`;
    for (const key of this.#places.waiting)
      problems.push({ table: 'devices', id: this.#deviceIds.get(key) ?? '', message });
    for (const [id, message] of this.#rules.refused) problems.push({ table: 'rules', id, message });
    return problems;
  }

  /** Unix time in ms at which the same rows mean something else; infinite if never. */
  get nextChangeAtMs(): number {
    return Math.min(this.#nextChangeAtMs, this.#rules.nextChangeAtMs);
  }

  // ---- rows ----

  /** Removes what is no longer among the rows. */
  #takeGone({ users, devices, rules }: AllIds, nowMs: number): void {
    for (const id of this.#devices.keys()) if (!devices.has(id)) this.#takeDevice(id, null, nowMs);
    for (const id of this.#rules.ids) if (!rules.has(id)) this.#rules.take(id, null, nowMs);
    for (const [id, owner] of this.#owners) {
      if (users.has(id)) continue;
      owner.row = null;
      this.#quotas.take(id, null);
      this.#takeGroups(id, []);
      this.#check(owner, this.#checkedAtMs);
      this.#forgetUnused(id, owner);
    }
  }

  #takeSettings(settings: RowSettings): void {
    const before = this.#configuration;
    const after = this.#effective(settings);
    this.#configuration = after;
    this.#defaultAction = after.default_action;
    this.#renew(this.#quotas.setDefault(after.default_quota));
    const isSame = (name: keyof RowSettings): boolean => after[name] === before[name];
    // All sessions must be checked again.
    if (!isSame('vpn_session_duration')) this.#nextChangeAtMs = Number.NEGATIVE_INFINITY;
    const areSameLimits = isSame('default_limit_down') && isSame('default_limit_up');
    if (isSame('default_client_mtu') && areSameLimits) return;
    for (const { publicKey, usesDefaultMtu } of this.#devices.values())
      if (usesDefaultMtu || !areSameLimits) this.#pendingKeys.add(publicKey);
  }

  /** Settings as they serve beside what the environment fixes. */
  #effective(settings: RowSettings): RowSettings {
    return effectiveFields(OBEYED_SETTINGS, settings, this.#settings.fixed);
  }

  #takeUser(id: string, row: ObeyedUser | null, nowMs: number): void {
    const owner = this.#owner(id);
    const before = owner.row;
    owner.row = row;
    if (before?.limit_down !== row?.limit_down || before?.limit_up !== row?.limit_up)
      this.#renew([id]);
    this.#renew(this.#quotas.take(id, row));
    this.#check(owner, nowMs);
    this.#forgetUnused(id, owner);
  }

  #takeGroups(userId: string, ids: readonly string[]): void {
    const owner = this.#owner(userId);
    const before = owner.groups;
    owner.groups = holdAll(this.#numbers, ids);
    releaseAll(this.#numbers, before);
    if (owner.groups !== before) this.#renew([userId]);
    this.#forgetUnused(userId, owner);
  }

  /** All devices of users become pending. */
  #renew(userIds: readonly string[]): void {
    for (const userId of userIds)
      for (const { publicKey } of this.#owners.get(userId)?.devices ?? [])
        this.#pendingKeys.add(publicKey);
  }

  #takeDevice(id: string, row: ObeyedDevice | null, nowMs: number): void {
    this.#removeDevice(id, row);
    if (row === null) return;
    const { user_id: ownerId, public_key: publicKey } = row;
    const peer = translateDevice(row, this.#settings);
    const device = {
      id,
      name: row.name,
      ownerId,
      publicKey,
      usesDefaultMtu: row.use_default_mtu,
      limits: { limit_down: row.limit_down, limit_up: row.limit_up },
      peer,
      endMs: deviceEnd(row),
      isOn: false,
    };
    this.#devices.set(id, device);
    if (Number.isFinite(device.endMs)) this.#endingDevices.add(device);
    this.#checkDevice(device, nowMs);
    this.#deviceIds.set(publicKey, id);
    this.#owner(ownerId).devices.add(device);
    if ('message' in peer) this.#refusedDevices.set(id, peer.message);
    this.#pendingKeys.add(publicKey);
  }

  /** Removes a device, of which `next` is the new row; null if it was deleted. */
  #removeDevice(id: string, next: ObeyedDevice | null): void {
    const device = this.#devices.get(id);
    if (device === undefined) return;
    const { ownerId, publicKey } = device;
    this.#devices.delete(id);
    this.#endingDevices.delete(device);
    this.#refusedDevices.delete(id);
    // Another device may have its key by now.
    if (this.#deviceIds.get(publicKey) === id) this.#deviceIds.delete(publicKey);
    if (next === null) this.#former.noteDeleted(publicKey, { id, ownerId });
    // The last bytes under a key may be sampled after it was replaced.
    else if (next.public_key !== publicKey) this.#former.noteReplaced(publicKey, id);
    const owner = this.#owner(ownerId);
    owner.devices.delete(device);
    this.#forgetUnused(ownerId, owner);
    this.#pendingKeys.add(publicKey);
  }

  // ---- what rows mean ----

  #owner(id: string): Owner {
    let owner = this.#owners.get(id);
    if (owner === undefined) {
      owner = { row: null, isServed: false, groups: '', devices: new Set() };
      this.#owners.set(id, owner);
    }
    return owner;
  }

  #forgetUnused(id: string, owner: Owner): void {
    if (owner.row !== null || owner.devices.size > 0) return;
    releaseAll(this.#numbers, owner.groups);
    this.#owners.delete(id);
  }

  /** Decides whether an owner's devices are served, and when to decide it again. */
  #check(owner: Owner, nowMs: number): void {
    const time = this.#timeOf(owner.row);
    const isServed = isIn(time, nowMs);
    const nextMs = nowMs < time.fromMs ? time.fromMs : time.untilMs;
    if (nowMs < nextMs) this.#nextChangeAtMs = Math.min(this.#nextChangeAtMs, nextMs);
    if (isServed === owner.isServed) return;
    owner.isServed = isServed;
    for (const { publicKey } of owner.devices) {
      this.#pendingKeys.add(publicKey);
      if (isServed) this.#returning.add(publicKey);
    }
  }

  /** When a user's devices are served; null: there is no such user. */
  #timeOf(user: ObeyedUser | null): VpnSessionTime {
    const { vpn_session_duration } = this.#configuration;
    const { requireSignIn } = this.#settings;
    return user === null ? NEVER : vpnSessionTime(user, vpn_session_duration, requireSignIn);
  }

  /** Decides whether a device itself is on, and when to decide it again. */
  #checkDevice(device: Device, nowMs: number): void {
    const isOn = device.endMs > nowMs;
    if (isOn) this.#nextChangeAtMs = Math.min(this.#nextChangeAtMs, device.endMs);
    if (isOn === device.isOn) return;
    device.isOn = isOn;
    this.#pendingKeys.add(device.publicKey);
  }

  #isServed(device: Device | undefined): boolean {
    return device?.isOn === true && this.#owners.get(device.ownerId)?.isServed === true;
  }

  #peerOf(publicKey: string): PeerConfig | null {
    const device = this.#devices.get(this.#deviceIds.get(publicKey) ?? '');
    if (device === undefined || !this.#isServed(device)) return null;
    if ('message' in device.peer) return null;
    const { row: owner, groups } = this.#owner(device.ownerId);
    const limits = peerLimits(device.limits, owner, this.#configuration);
    return {
      ...device.peer,
      ...(device.usesDefaultMtu ? { mtu: defaultMtu(this.#configuration) } : {}),
      ...(groups === '' ? {} : { groups }),
      ...limits,
      ...(this.#quotas.isOver(device.ownerId) ? { isOverQuota: true } : {}),
    };
  }
}
