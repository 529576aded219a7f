// The files by which Compose and Kubernetes run the image of a release: those of a checkout, with
// the image by its digest in place of a build, so that what is started is what was released.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PUBLISHER } from '../publisher.ts';
import { readPage } from './notes.ts';

/** What the manifests of a checkout have in its place. */
const PLACEHOLDER = 'REGISTRY/postern';
const COMPOSE = [
  'compose.yaml',
  'compose.mysql.yaml',
  'compose.caddy.yaml',
  'compose.restricted.yaml',
];

/** The ways to run it on Kubernetes: the manifests of each, and what is patched in them. */
const VARIANTS: Readonly<Record<string, { resources: string[]; patches?: string[] }>> = {
  sqlite: { resources: ['postern.yaml', 'backup.yaml'] },
  mysql: { resources: ['postern.yaml', 'backup.yaml'], patches: ['mysql.yaml'] },
  restricted: { resources: ['restricted.yaml', 'backup.yaml'] },
};

/** Writes the files into a folder: `kubectl apply -k FOLDER/kubernetes/sqlite`. */
export function writeDeployment(folder: string, digest: string): void {
  mkdirSync(folder, { recursive: true });
  for (const name of COMPOSE)
    writeFileSync(join(folder, name), composeText(readPage(name), digest));
  for (const [name, { resources, patches = [] }] of Object.entries(VARIANTS)) {
    const variant = join(folder, 'kubernetes', name);
    mkdirSync(variant, { recursive: true });
    for (const file of [...resources, ...patches])
      writeFileSync(join(variant, file), readPage(`config/kubernetes/${file}`));
    const text = [
      'apiVersion: kustomize.config.k8s.io/v1beta1',
      'kind: Kustomization',
      ...listOf('resources', resources),
      ...listOf(
        'patches',
        patches.map((file) => `path: ${file}`),
      ),
      ...listOf('images', [
        `{ name: ${PLACEHOLDER}, newName: ${PUBLISHER.image}, digest: '${digest}' }`,
      ]),
    ];
    writeFileSync(join(variant, 'kustomization.yaml'), `${text.join('\n')}\n`);
  }
}

/** A compose file that builds nothing. */
export function composeText(text: string, digest: string): string {
  return text
    .replace(/^ +build: \.\n/m, '')
    .replace(/^( +image: )postern$/m, `$1${PUBLISHER.image}@${digest}`)
    .replaceAll(/^(#.*) --build$/gm, '$1');
}

function listOf(name: string, items: readonly string[]): string[] {
  return items.length === 0 ? [] : [`${name}:`, ...items.map((item) => `  - ${item}`)];
}
