// The bill of materials of what a gateway runs with, in CycloneDX. It is the one of npm for
// everything, less what the lock file has for development alone: asked to leave that out itself
// (--omit=dev), npm 11.19 also leaves out what both use, lodash and semver among others. What is
// copied out of a package is added.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { Buffer } from 'node:buffer';
import { iconPackage } from './icons.ts';
import { installedDependencies } from './licenses.ts';
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
  licenses?: { license: { id: string } }[];
  properties?: { name: string; value: string }[];
}

interface Bill {
  serialNumber?: string;
  metadata: { timestamp: string; component: Component };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

const ROOT = join(import.meta.dirname, '..');

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
  const words = [
    'sbom',
    '--package-lock-only',
    '--sbom-format=cyclonedx',
    '--sbom-type=application',
  ];
  const text = execFileSync('npm', words, {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const bill = JSON.parse(text) as Bill;
  const { component } = bill.metadata;
  // npm calls it by the folder that it lies in.
  component.name = component['bom-ref'].split('@')[0] ?? component.name;
  const wanted = new Set(installedDependencies().map(({ name, version }) => `${name}@${version}`));
  bill.components = bill.components
    .filter((one) => wanted.has(nameOf(one)))
    // One that is there twice may be marked as the copy that is for development.
    .map((one) => ({ ...one, scope: 'required', properties: [] }));
  const kept = new Set([component, ...bill.components].map((one) => one['bom-ref']));
  bill.dependencies = bill.dependencies
    .filter(({ ref }) => kept.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((on) => kept.has(on)) }));
  return bill;
}

function addCopy(bill: Bill, copy: ReturnType<typeof copiedPackage>): void {
  const { name, version, license, integrity } = copy;
  const ref = `${name}@${version}`;
  const content = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex');
  bill.components.push({
    'bom-ref': ref,
    type: 'library',
    name,
    version,
    scope: 'required',
    purl: `pkg:npm/${ref}`,
    hashes: [{ alg: 'SHA-512', content }],
    licenses: [{ license: { id: license } }],
  });
  depend(bill, ref);
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

function nameOf({ 'bom-ref': ref }: Component): string {
  return ref.split('|')[0] ?? ref;
}
