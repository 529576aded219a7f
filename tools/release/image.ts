// The container image, for all kinds of machines in one OCI archive. Nothing of another machine
// needs to run: a layer with a small Debian, whose packages are unpacked and not installed, and a
// layer with the folder of a release. The Dockerfile makes the same of a checkout.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  createReadStream,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { pipeline } from 'node:stream/promises';
import { PUBLISHER } from '../publisher.ts';
import { tar } from './archive.ts';
import type { Architecture } from './architectures.ts';

const DEBIAN = 'bookworm';
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
/** What the entrypoint calls, what Node is linked to, and nft for doctor. */
const PACKAGES = [
  'base-files',
  'coreutils',
  'dash',
  'findutils',
  'libgcc-s1',
  'libstdc++6',
  'nftables',
  'sed',
  'util-linux',
];
/** What people read, what installs, and what the host of the build is called. */
const LEFT_OUT = [
  'etc/apt',
  'etc/hostname',
  'etc/resolv.conf',
  'usr/share/bash-completion',
  'usr/share/doc-base',
  'usr/share/info',
  'usr/share/lintian',
  'usr/share/locale',
  'usr/share/man',
  'usr/share/perl5',
  'var/cache',
  'var/lib/apt',
  'var/log',
];
const TYPES = 'application/vnd.oci.image';
const SECOND_NS = 1_000_000_000;

/** What the image says of itself to those who run it; the same is in the Dockerfile. */
export const SETTINGS = {
  Env: [
    'NODE_COMPILE_CACHE=node_modules/.cache/postern',
    'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    'DATA_DIR=/data',
    'HTTP_HOST=0.0.0.0',
    'WIREGUARD_UAPI=off',
    'LOG_FORMAT=json',
  ],
  WorkingDir: '/app',
  Entrypoint: ['postern'],
  Cmd: ['serve'],
  ExposedPorts: { '51820/udp': {}, '13000/tcp': {} },
  Volumes: { '/data': {} },
  // Of OCI images Docker alone obeys it.
  Healthcheck: {
    Test: ['CMD', 'node', 'lib/start/ready.js'],
    Interval: 15 * SECOND_NS,
    Timeout: 5 * SECOND_NS,
    StartPeriod: 30 * SECOND_NS,
    Retries: 3,
  },
} as const;

/** A blob as others name it. */
interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: { readonly os: 'linux'; readonly architecture: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

/** What an image is made for. */
interface ImageOf {
  readonly version: string;
  /** Seconds since 1970 that all files get. */
  readonly epoch: number;
}

/** An OCI archive that grows by one kind of machine after another. */
export class Image {
  readonly #folder: string;
  readonly #about: ImageOf;
  readonly #manifests: Descriptor[] = [];

  /** Makes it in a folder, which is empty. */
  constructor(folder: string, about: ImageOf) {
    this.#folder = folder;
    this.#about = about;
    mkdirSync(join(folder, 'blobs/sha256'), { recursive: true });
  }

  /** Adds a kind of machine with the folder of its release; `staging` is empty. */
  async add(architecture: Architecture, program: string, staging: string): Promise<void> {
    const { version, epoch } = this.#about;
    const root = join(staging, 'root');
    makeRoot(root, architecture, epoch);
    const layers = [await this.#layer(staging, root), await this.#program(staging, program)];
    const created = new Date(epoch * 1_000).toISOString();
    const config = this.#json('config.v1+json', {
      created,
      architecture: architecture.debian,
      os: 'linux',
      config: { ...SETTINGS, Labels: labelsOf(version) },
      rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
      history: [
        { created, created_by: `Debian ${DEBIAN}: ${PACKAGES.join(' ')}` },
        { created, created_by: `Postern ${version}` },
      ],
    });
    const manifest = this.#json('manifest.v1+json', {
      schemaVersion: 2,
      mediaType: `${TYPES}.manifest.v1+json`,
      config,
      layers: layers.map(({ descriptor }) => descriptor),
    });
    const platform = { os: 'linux', architecture: architecture.debian } as const;
    this.#manifests.push({ ...manifest, platform });
  }

  /** Packs the archive; returns the digest by which registries know the image. */
  pack(file: string): string {
    const { version, epoch } = this.#about;
    const index = this.#json('index.v1+json', {
      schemaVersion: 2,
      mediaType: `${TYPES}.index.v1+json`,
      manifests: this.#manifests,
    });
    const annotations = { 'org.opencontainers.image.ref.name': `${PUBLISHER.image}:${version}` };
    const outer = { schemaVersion: 2, manifests: [{ ...index, annotations }] };
    writeFileSync(join(this.#folder, 'index.json'), JSON.stringify(outer));
    writeFileSync(join(this.#folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
    tar(file, this.#folder, ['blobs', 'index.json', 'oci-layout'], { epoch });
    return index.digest;
  }

  async #layer(staging: string, root: string): Promise<Layer> {
    const { epoch } = this.#about;
    const file = join(staging, 'system.tar');
    const forAll = ['data', 'tmp'];
    const others = readdirSync(root).filter((name) => !forAll.includes(name));
    tar(file, root, others.toSorted(), { epoch });
    // Whoever starts the image as some user can write there; the entrypoint closes the folder.
    const open = { epoch, rights: '1777', isAppended: true };
    tar(file, root, ['data'], { ...open, owner: 1000 });
    tar(file, root, ['tmp'], open);
    rmSync(root, { recursive: true });
    return this.#compressed(file);
  }

  async #program(staging: string, program: string): Promise<Layer> {
    const file = join(staging, 'program.tar');
    const [parent, name] = [join(program, '..'), program.slice(join(program, '..').length + 1)];
    const { epoch } = this.#about;
    tar(file, parent, [name], { epoch, renaming: `s,^${name},app,S` });
    return this.#compressed(file);
  }

  async #compressed(file: string): Promise<Layer> {
    const diffId = await digestOf(file);
    execFileSync('gzip', ['-n', file]);
    const digest = await digestOf(`${file}.gz`);
    const { size } = statSync(`${file}.gz`);
    renameSync(`${file}.gz`, this.#blob(digest));
    return { diffId, descriptor: { mediaType: `${TYPES}.layer.v1.tar+gzip`, digest, size } };
  }

  #json(type: string, value: object): Descriptor {
    const text = JSON.stringify(value);
    const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`;
    writeFileSync(this.#blob(digest), text);
    return { mediaType: `${TYPES}.${type}`, digest, size: Buffer.byteLength(text) };
  }

  #blob(digest: string): string {
    return join(this.#folder, 'blobs', digest.replace(':', '/'));
  }
}

interface Layer {
  /** The digest of the layer before it was compressed. */
  readonly diffId: string;
  readonly descriptor: Descriptor;
}

/** The system that runs the program, for any kind of machine. */
function makeRoot(root: string, { name, debian, loader }: Architecture, epoch: number): void {
  const sources = ['debian DEBIAN', 'debian DEBIAN-updates', 'debian-security DEBIAN-security'].map(
    (place) =>
      `deb [signed-by=${KEYRING}] http://deb.debian.org/${place.replace('DEBIAN', DEBIAN)} main\n`,
  );
  const words = ['--quiet', '--variant=extract', `--architectures=${debian}`];
  execFileSync('mmdebstrap', [...words, `--include=${PACKAGES.join()}`, DEBIAN, root, '-'], {
    input: sources.join(''),
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { ...process.env, SOURCE_DATE_EPOCH: String(epoch) },
  });
  if (!statSync(join(root, loader), { throwIfNoEntry: false })?.isFile())
    throw new Error(`the packages of ${name} have no ${loader}`);
  for (const path of LEFT_OUT) rmSync(join(root, path), { recursive: true, force: true });
  // Licences stay.
  for (const path of readdirSync(join(root, 'usr/share/doc'), {
    recursive: true,
    encoding: 'utf8',
  }))
    if (/\/(changelog|NEWS|README|AUTHORS|THANKS|TODO)/i.test(path))
      rmSync(join(root, 'usr/share/doc', path), { recursive: true, force: true });
  write(root, 'etc/passwd', 'root:x:0:0:root:/root:/bin/sh\nnode:x:1000:1000::/data:/bin/sh\n');
  write(root, 'etc/group', 'root:x:0:\nnode:x:1000:\n');
  for (const path of ['data', 'tmp', 'root', 'usr/local/bin'])
    mkdirSync(join(root, path), { recursive: true });
  symlinkSync('/app/config/container/entrypoint', join(root, 'usr/local/bin/postern'));
  symlinkSync('/app/runtime/node', join(root, 'usr/local/bin/node'));
}

function write(root: string, name: string, text: string): void {
  writeFileSync(join(root, name), text);
  chmodSync(join(root, name), 0o644);
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return `sha256:${hash.digest('hex')}`;
}

function labelsOf(version: string): Readonly<Record<string, string>> {
  return {
    'org.opencontainers.image.title': 'Postern',
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.licenses': 'Apache-2.0',
  };
}
