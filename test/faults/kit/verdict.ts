/** Puts the judges to one run of a scene: reads store, ledgers, logs and what the bus keeps on disk. Rows: CON-1, SEAL-2. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EventEnvelope, RunId } from '@n17q/domain';
import { FolderArtifactStore } from '@n17q/artifacts';
import { examine, PostgresEventStore, unpacker, type PackRow } from '@n17q/event-log';
import { rulesFrom } from '@n17q/rules';
import { carrierFaults, carriersIn, runFaults, type CheckpointRow } from './judges.js';
import { SERVICES, type Scene, type Started } from './scene.js';

type Stored = PackRow & Omit<CheckpointRow, 'manifest'>;
export async function checkpointRows(scene: Scene, run: RunId): Promise<readonly CheckpointRow[]> {
  const rows = await scene.owner<Stored>('select checkpoint, cut, sealed_revision, manifest_digest, base, body from n17q.checkpoints where tenant = $1 and stream = $2 order by cut', [scene.stack.tenant, `run/${run}`]);
  const unpacked = unpacker(rows);
  return rows.map((r) => ({ checkpoint: r.checkpoint, cut: r.cut, sealed_revision: r.sealed_revision, manifest_digest: r.manifest_digest, manifest: unpacked(r.cut).manifest }));
}

/** Everything that is readable where no opaque byte may be: the tables' texts, contents that are not continuations, logs, and the stream's files. */
async function openTexts(scene: Scene): Promise<ReadonlyMap<string, string>> {
  const { reader, tenant, sandbox } = scene.stack;
  const texts = new Map<string, string>();
  (await reader.texts(tenant)).forEach((t, i) => texts.set(`row ${i} of the store`, t));
  for (const c of await reader.contents(tenant)) texts.set(`content ${c.commitment} (${c.class})`, c.body === null ? '' : c.body.toString('latin1'));
  for (const s of SERVICES) texts.set(`output of ${s}`, readFileSync(scene.stack.service(s).handle.stdoutFile, 'utf8') + readFileSync(scene.stack.service(s).handle.stderrFile, 'utf8'));
  const files = (dir: string): string[] => readdirSync(dir, { withFileTypes: true }).flatMap((f) => (f.isDirectory() ? files(join(dir, f.name)) : [join(dir, f.name)]));
  for (const f of [...files(sandbox.nats.storeDir), ...files(scene.stack.site.artifactsDir)]) texts.set(f, readFileSync(f).toString('latin1'));
  return texts;
}

/** What is wrong with a run that ended; empty: nothing. */
export async function verdict(scene: Scene, s: Started, log: readonly EventEnvelope[]): Promise<readonly string[]> {
  const wire = scene.wire(s.tag);
  return [...runFaults(log, await checkpointRows(scene, s.run), wire.length), ...wire.filter((w) => w.refused !== undefined).map((w) => `request ${w.order} was refused with ${String(w.refused)}`)];
}

export async function carrierVerdict(scene: Scene): Promise<{ readonly carriers: number; readonly faults: readonly string[] }> {
  const bodies = scene.emulator.ledger().entries.map((e) => scene.emulator.requestBody(e.order) ?? '');
  const carriers = carriersIn(bodies);
  return { carriers: carriers.length, faults: carrierFaults(carriers, await openTexts(scene)) };
}

/** What the doctor finds wrong in the whole store. */
export async function doctorVerdict(scene: Scene): Promise<{ readonly events: number; readonly wrong: readonly string[] }> {
  const store = await PostgresEventStore.open({ url: scene.stack.site.databases.store });
  try {
    const { events, findings } = await examine(store, scene.stack.tenant, new FolderArtifactStore(scene.stack.site.artifactsDir), rulesFrom);
    return { events, wrong: findings.filter((f) => f.wrong).map((f) => `${f.stream} ${f.check}: ${f.words}`) };
  } finally { await store.close(); }
}
