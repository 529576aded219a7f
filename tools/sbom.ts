// The bill of materials of what a gateway runs with, in CycloneDX. It is made of the lock file: the
// npm of Debian 12 has no command for it, and that of others writes its own version into it. What
// is copied out of a package is added.

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Buffer } from 'node:buffer';
import { iconPackage } from './icons.ts';
import { installedDependencies } from './licenses.ts';
import type { LockedPackage } from './locked-package.ts';
import { PINS } from './release/node.ts';
import { copiedPackage } from './swagger-ui.ts';

interface Component {
  'bom-ref': string;
  name: string;
  type?: string;
  version?: string;
  scope?: string;
  purl?: string;
  hashes?: { alg: string; content: string }[];
  licenses?: ({ license: { id: string } } | { expression: string })[];
}

interface Bill {
  readonly bomFormat: string;
  readonly specVersion: string;
  serialNumber?: string;
  readonly version: number;
  metadata: { timestamp: string; component: Component };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

/** What the lock file says of a package. */
interface Locked extends Omit<LockedPackage, 'name'> {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const ROOT = join(import.meta.dirname, '..');
const FOLDER = 'node_modules/';

/** The bill of a release differs from that of a checkout: it has a version, a time, and a Node. */
interface Release {
  readonly version: string;
  /** Seconds since 1970, which stand in place of the time at which the bill is made. */
  readonly epoch: number;
}

/** The bill, as JSON. */
export function billOfMaterials(release?: Release): string {
  const bill = readBill();
  for (const copy of [copiedPackage(), iconPackage()]) addCopy(bill, copy);
  if (release !== undefined) addRelease(bill, release);
  return `${JSON.stringify(bill, null, 2)}\n`;
}

function readBill(): Bill {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, Locked>>;
  };
  const installed = new Map(installedDependencies().map((one) => [one.path, refOf(one)]));
  const own = packages['']!;
  const component = {
    'bom-ref': `postern@${own.version}`,
    type: 'application',
    name: 'postern',
    version: own.version,
    scope: 'required',
    purl: purlOf('postern', own.version),
    licenses: [{ license: { id: own.license } }],
  };
  const components = new Map<string, Component>();
  const dependencies = new Map([
    [component['bom-ref'], neededBy('', { dependencies: own.dependencies ?? {} }, installed)],
  ]);
  for (const { name, path } of installedDependencies()) {
    const locked = packages[path]!;
    const one = componentOf({ ...locked, name });
    components.set(one['bom-ref'], one);
    const others = dependencies.get(one['bom-ref']) ?? [];
    dependencies.set(one['bom-ref'], new Set([...others, ...neededBy(path, locked, installed)]));
  }
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: `urn:uuid:${randomUUID()}`,
    version: 1,
    metadata: { timestamp: new Date().toISOString(), component },
    components: [...components.values()],
    dependencies: [...dependencies].map(([ref, on]) => ({ ref, dependsOn: [...on] })),
  };
}

/** The installed packages that the one in a folder finds, as Node looks for them: upwards. */
function neededBy(
  path: string,
  locked: Pick<Locked, 'dependencies' | 'optionalDependencies' | 'peerDependencies'>,
  installed: ReadonlyMap<string, string>,
): Set<string> {
  const { dependencies, optionalDependencies, peerDependencies } = locked;
  const names = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
  const found = names.toSorted().map((name) => {
    const parts = path === '' ? [] : path.split(`/${FOLDER}`);
    for (let depth = parts.length; depth >= 0; depth -= 1) {
      const folder = parts.slice(0, depth).join(`/${FOLDER}`);
      const ref = installed.get(`${folder === '' ? '' : `${folder}/`}${FOLDER}${name}`);
      if (ref !== undefined) return ref;
    }
    return null;
  });
  return new Set(found.filter((ref) => ref !== null));
}

function componentOf({ name, version, license, integrity }: LockedPackage): Component {
  const content = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex');
  return {
    'bom-ref': refOf({ name, version }),
    type: 'library',
    name,
    version,
    scope: 'required',
    purl: purlOf(name, version),
    hashes: [{ alg: 'SHA-512', content }],
    licenses: [/[ (]/.test(license) ? { expression: license } : { license: { id: license } }],
  };
}

function addCopy(bill: Bill, copy: LockedPackage): void {
  const component = componentOf(copy);
  bill.components.push(component);
  depend(bill, component['bom-ref']);
}

function addRelease(bill: Bill, { version, epoch }: Release): void {
  const { metadata } = bill;
  delete bill.serialNumber;
  metadata.timestamp = new Date(epoch * 1_000).toISOString();
  metadata.component.version = version;
  metadata.component.purl = `pkg:generic/postern@${version}`;
  const ref = `node@${PINS.version}`;
  bill.components.push({
    'bom-ref': ref,
    type: 'platform',
    name: 'node',
    version: PINS.version,
    scope: 'required',
    purl: `pkg:generic/${ref}`,
    licenses: [{ license: { id: 'MIT' } }],
  });
  depend(bill, ref);
}

/** The gateway itself depends on it. */
function depend({ metadata, dependencies }: Bill, ref: string): void {
  dependencies.push({ ref, dependsOn: [] });
  const own = metadata.component['bom-ref'];
  dependencies.find((one) => one.ref === own)?.dependsOn.push(ref);
}

const refOf = ({ name, version }: Pick<LockedPackage, 'name' | 'version'>): string =>
  `${name}@${version}`;

const purlOf = (name: string, version: string): string =>
  `pkg:npm/${name.replace('@', '%40')}@${version}`;
