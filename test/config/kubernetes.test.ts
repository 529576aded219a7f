// The manifests for Kubernetes are such by the schemas of Kubernetes, and they agree with what Postern
// is: settings that exist, its ports, the one capability that stays or none, and a readiness probe that
// keeps a pod while the database is away.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import process from 'node:process';
import test from 'ava';
import { parseAllDocuments } from 'yaml';
import { configurationVariables } from '../../config/configuration-variables.ts';
import { type Setting, settings } from '../../config/schema.ts';

const ROOT = resolve(import.meta.dirname, '../..');

interface Container {
  readonly image: string;
  readonly env: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
  }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext: {
    readonly runAsUser?: number;
    readonly allowPrivilegeEscalation: boolean;
    readonly readOnlyRootFilesystem: boolean;
    readonly capabilities: { readonly drop: readonly string[]; readonly add?: readonly string[] };
  };
  readonly readinessProbe: { readonly exec: { readonly command: readonly string[] } };
  readonly livenessProbe: { readonly httpGet: { readonly path: string; readonly port: string } };
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly stringData: Readonly<Record<string, string>>;
  readonly spec: {
    readonly replicas: number;
    readonly selector: object;
    readonly ports: readonly { readonly port: number; readonly targetPort: string }[];
    readonly template: {
      readonly spec: {
        readonly enableServiceLinks: boolean;
        readonly initContainers?: readonly { readonly image: string }[];
        readonly volumes?: readonly object[];
        readonly securityContext?: Readonly<Record<string, unknown>>;
        readonly containers: readonly Container[];
      };
    };
  };
}

function manifestsIn<Kind>(file: string): Kind[] {
  const text = readFileSync(join(ROOT, 'config/kubernetes', file), 'utf8');
  return parseAllDocuments(text).map((document) => {
    if (document.errors.length > 0) throw document.errors[0]!;
    return document.toJS() as Kind;
  });
}

interface BackupPod {
  readonly containers: readonly (Container & { readonly args: readonly string[] })[];
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly volumes: readonly { readonly persistentVolumeClaim: { readonly claimName: string } }[];
}

/** The pod with a TUN, and the one that is given no right. */
const files = ['postern.yaml', 'restricted.yaml'].map((file) => {
  const manifests = manifestsIn<Manifest>(file);
  const of = (kind: string, name = 'postern'): Manifest => {
    const found = manifests.find((one) => one.kind === kind && one.metadata.name === name);
    if (found === undefined) throw new Error(`no ${kind} ${name}`);
    return found;
  };
  const pod = of('StatefulSet').spec.template.spec;
  const [gateway] = pod.containers;
  if (gateway === undefined) throw new Error('no container');
  return { file, manifests, of, pod, gateway };
});
/** What makes backups of either. */
const [claim, cronJob] = manifestsIn<Manifest & { spec: { jobTemplate: { spec: object } } }>(
  'backup.yaml',
);
const [withTun, restricted] = files as [(typeof files)[0], (typeof files)[0]];

/** The model of a kind, made of the OpenAPI schema of Kubernetes. */
async function modelOf({ apiVersion, kind }: Pick<Manifest, 'apiVersion' | 'kind'>) {
  const models = (await import(`kubernetes-models/${apiVersion}`)) as Readonly<
    Record<string, new (data: object) => { validate(): void }>
  >;
  return models[kind]!;
}

test('every manifest is valid by the schemas of Kubernetes', async (t) => {
  for (const { file, manifests } of files) {
    t.true(manifests.length > 3);
    for (const manifest of manifests) {
      const Model = await modelOf(manifest);
      t.notThrows(() => new Model(manifest).validate(), `${file} ${manifest.kind}`);
    }
  }
  for (const manifest of [claim!, cronJob!]) {
    const Model = await modelOf(manifest);
    t.notThrows(() => new Model(manifest).validate(), manifest.kind);
  }
  const { of } = withTun;
  const StatefulSet = await modelOf(of('StatefulSet'));
  const { selector: _, ...spec } = of('StatefulSet').spec;
  t.throws(() => new StatefulSet({ ...of('StatefulSet'), spec }).validate(), {
    message: /must have required property selector/,
  });
});

test('no manifest has a field that Kubernetes does not know', (t) => {
  // The schemas do not refuse such a field, as \`kubectl\` does; their types do.
  const check = (all: readonly Manifest[]): string => {
    const folder = mkdtempSync(join(ROOT, 'node_modules/.cache/kubernetes-'));
    try {
      const lines = all.map(({ apiVersion, kind, ...rest }, i) => {
        const name = `I${kind}`;
        const value = JSON.stringify({ apiVersion, kind, ...rest });
        return `import type { ${name} as T${i} } from 'kubernetes-models/${apiVersion}';\nexport const m${i}: T${i} = ${value};`;
      });
      writeFileSync(join(folder, 'manifests.ts'), lines.join('\n'));
      const words = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext'];
      const tsc = join(ROOT, 'node_modules/.bin/tsc');
      return spawnSync(tsc, [...words, '--ignoreConfig', 'manifests.ts'], {
        cwd: folder,
        encoding: 'utf8',
      }).stdout;
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
  t.is(check([...files.flatMap(({ manifests }) => manifests), claim!, cronJob!]), '');
  const wrong = structuredClone(withTun.of('StatefulSet')) as { spec: object };
  Object.assign(wrong.spec, { replica: 1 });
  t.regex(check([wrong as Manifest]), /"replica"' does not exist in type/);
});

test('the job of backups reads the volume of the gateway as its user, and is granted nothing', (t) => {
  const { spec } = cronJob!.spec.jobTemplate as { spec: { template: { spec: BackupPod } } };
  const { containers, securityContext, volumes } = spec.template.spec;
  const [backup] = containers;
  t.deepEqual(backup?.args, ['backup', '/backups', '--keep', '14']);
  t.is(backup?.image, withTun.gateway.image);
  t.deepEqual(backup?.securityContext, restricted.gateway.securityContext);
  for (const name of ['runAsUser', 'runAsGroup', 'fsGroup', 'runAsNonRoot', 'seccompProfile'])
    t.deepEqual(securityContext[name], restricted.pod.securityContext?.[name], name);
  t.deepEqual(
    volumes.map(({ persistentVolumeClaim }) => persistentVolumeClaim.claimName),
    ['data-postern-0', claim!.metadata.name],
  );
});

for (const { file, manifests, of, pod, gateway } of files) {
  test(`${file}: every variable is a setting, and every secret is there`, (t) => {
    const names = new Set<string>([
      ...(settings as readonly Setting[]).map(({ name }) => name),
      ...configurationVariables.map(({ name }) => name),
    ]);
    const secret = of('Secret');
    t.true(gateway.env.length > 3);
    for (const { name, valueFrom } of gateway.env) {
      t.true(names.has(name), name);
      if (valueFrom === undefined) continue;
      t.is(valueFrom.secretKeyRef.name, secret.metadata.name);
      t.true(valueFrom.secretKeyRef.key in secret.stringData, name);
    }
  });

  test(`${file}: ports and volumes are those of the image`, (t) => {
    const image = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
    for (const { containerPort } of gateway.ports)
      t.regex(image, new RegExp(`^EXPOSE .*\\b${containerPort}/`, 'm'));
    for (const service of ['postern-wireguard', 'postern-console'])
      for (const { port, targetPort } of of('Service', service).spec.ports)
        t.is(gateway.ports.find(({ name }) => name === targetPort)?.containerPort, port);
    t.is(of('StatefulSet').spec.replicas, 1, 'SQLite has one gateway');
    // Variables that Kubernetes makes of services would be read as settings.
    t.false(pod.enableServiceLinks);
    t.is(new Set([...(pod.initContainers ?? []), gateway].map((one) => one.image)).size, 1);
    for (const { kind, metadata } of manifests)
      t.is(metadata.namespace, kind === 'Namespace' ? undefined : 'postern', kind);
  });
}

test('a pod that is granted a TUN needs it', (t) => {
  const { gateway } = withTun;
  t.true(gateway.securityContext.capabilities.add?.includes('NET_ADMIN'));
  t.deepEqual(
    gateway.volumeMounts.map(({ mountPath }) => mountPath),
    ['/data', '/dev/net/tun'],
  );
  t.is(gateway.env.find(({ name }) => name === 'WIREGUARD_TUN')?.value, 'required');
});

// https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
test('the other one is granted nothing that the level `restricted` forbids', (t) => {
  const { pod, gateway, of } = restricted;
  const { labels } = of('Namespace').metadata;
  t.is(labels?.['pod-security.kubernetes.io/enforce'], 'restricted');
  const { sysctls, seccompProfile, runAsNonRoot, runAsUser } = pod.securityContext ?? {};
  t.true(runAsNonRoot);
  t.true(Number(runAsUser) > 0);
  t.deepEqual(seccompProfile, { type: 'RuntimeDefault' });
  t.deepEqual(sysctls, [{ name: 'net.ipv4.ping_group_range', value: '0 2147483647' }]);
  t.deepEqual(gateway.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  });
  t.is(pod.initContainers, undefined);
  t.is(pod.volumes, undefined, 'nothing of the node');
  t.deepEqual(
    gateway.volumeMounts.map(({ mountPath }) => mountPath),
    ['/data'],
  );
  t.is(gateway.env.find(({ name }) => name === 'WIREGUARD_TUN')?.value, 'sockets');
  // All else is the same, so that one page speaks of both.
  for (const name of ['startupProbe', 'livenessProbe', 'readinessProbe', 'ports'] as const)
    t.deepEqual(Reflect.get(gateway, name), Reflect.get(withTun.gateway, name), name);
});

for (const [status, code] of [
  ['ready', 0],
  ['database_unavailable', 0],
  ['database_read_only', 0],
  ['schema_newer', 0],
  ['database_away', 1],
  ['data_plane_down', 1],
  ['starting', 1],
] as const)
  test(`a pod that says ${status} ${code === 0 ? 'keeps' : 'gets no'} traffic`, async (t) => {
    const server = createServer((_, answer) => {
      answer.writeHead(status === 'ready' ? 200 : 503, { 'content-type': 'application/json' });
      answer.end(JSON.stringify({ status, tun: null, masquerade: false }));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.teardown(() => server.close());
    const { port } = server.address() as AddressInfo;
    t.is(await probe(port), code);
  });

test('a pod that does not answer gets no traffic', async (t) => {
  t.is(await probe(1), 1);
});

/** Runs the probe of the manifest at another port; its exit status. */
async function probe(port: number): Promise<number> {
  const [program, ...words] = withTun.gateway.readinessProbe.exec.command;
  if (program !== 'node') throw new Error(`the probe is ${program}`);
  const there = words.map((word) => word.replace('127.0.0.1:13000', `127.0.0.1:${port}`));
  const [code] = (await once(spawn(process.execPath, there), 'close')) as [number];
  return code;
}
