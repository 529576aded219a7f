// The files by which Compose and Kubernetes run the image of a release; what kubectl makes of
// them is in test/ops/release.test.ts.

import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'ava';
import { parse } from 'yaml';
import { PUBLISHER } from '../../../tools/publisher.ts';
import { writeDeployment } from '../../../tools/release/deployment.ts';
import { temporaryFolder } from '../../support/suite/temporary-folder.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const DIGEST = `sha256:${'ab'.repeat(32)}`;
const folder = temporaryFolder('postern-deployment-');
writeDeployment(folder, DIGEST);

interface Compose {
  readonly services: Readonly<Record<string, { image?: string; build?: string }>>;
}

interface Kustomization {
  readonly resources: readonly string[];
  readonly images: readonly { name: string; newName: string; digest: string }[];
  readonly patches?: readonly { path: string }[];
}

test('compose files name the image by its digest where a checkout builds it', (t) => {
  const read = (path: string): Compose => parse(readFileSync(path, 'utf8')) as Compose;
  const names = readdirSync(ROOT).filter((name) => /^compose\.(.*\.)?yaml$/.test(name));
  t.is(names.length, 4);
  for (const name of names) {
    const [own, released] = [read(join(ROOT, name)), read(join(folder, name))];
    const gateway = own.services['gateway'];
    if (gateway?.build !== undefined) {
      t.is(gateway.image, 'postern');
      delete gateway.build;
      gateway.image = `${PUBLISHER.image}@${DIGEST}`;
    }
    t.deepEqual(released, own, name);
    t.notRegex(readFileSync(join(folder, name), 'utf8'), /--build|build: \./, name);
  }
});

test('each way to run it on Kubernetes takes the manifests of a checkout, and the image', (t) => {
  for (const variant of ['sqlite', 'mysql', 'restricted']) {
    const path = join(folder, 'kubernetes', variant);
    const {
      resources,
      images,
      patches = [],
    } = parse(readFileSync(join(path, 'kustomization.yaml'), 'utf8')) as Kustomization;
    const files = [...resources, ...patches.map((patch) => patch.path)];
    t.deepEqual(readdirSync(path).toSorted(), [...files, 'kustomization.yaml'].toSorted());
    for (const name of files) {
      const text = readFileSync(join(ROOT, 'config/kubernetes', name), 'utf8');
      t.is(readFileSync(join(path, name), 'utf8'), text, name);
      for (const [, image] of text.matchAll(/ image: (.*)$/gm))
        t.is(image, `${images[0]?.name}:VERSION`, name);
    }
    t.like(images, [{ newName: PUBLISHER.image, digest: DIGEST }]);
    t.is(patches.length, variant === 'mysql' ? 1 : 0);
  }
});
