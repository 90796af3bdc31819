/**
 * Judges of one run. They are given the log as the store's tables hold it and what the outside counted, and answer with what is wrong, in words.
 *
 * Deliberately without: the product's fold, its canonical JSON, its tables. A mistake that both made would cancel out.
 *
 * Rows: RUN-1, SEAL-2, SEAL-4, SEAL-6, EFF-1, EFF-2, EFF-10, CON-1, RES-9.
 */
import { createHash } from 'node:crypto';
import type { EventEnvelope } from '@n17q/domain';

type Log = readonly EventEnvelope[];
type Data = Readonly<Record<string, unknown>>;
const dataOf = (e: EventEnvelope): Data => e.data as unknown as Data;

/** RFC 8785 for what stands in events: objects by code units, numbers and texts as ECMAScript writes them. */
function canonical(v: unknown): string {
  if (Array.isArray(v)) return `[${v.map(canonical).join(',')}]`;
  if (v !== null && typeof v === 'object') return `{${Object.entries(v).filter(([, x]) => x !== undefined).sort(([a], [b]) => (a < b ? -1 : 1)).map(([k, x]) => `${JSON.stringify(k)}:${canonical(x)}`).join(',')}}`;
  return JSON.stringify(v);
}

/** Revisions without a hole, each event on its predecessor's digest, each digest right (RUN-1). */
export function chainFaults(log: Log): string[] {
  const wrong: string[] = [];
  let previous = '';
  const ids = new Set<string>();
  log.forEach((e, i) => {
    if (e.revision !== i + 1) wrong.push(`revision ${e.revision} stands at place ${i + 1}`);
    if (e.previous !== previous) wrong.push(`revision ${e.revision} follows another event than the one before it`);
    const { tenant, stream, revision, eventId, type, schemaVersion, data, writer, actor, correlation, causation, segment, appendId, recordedAt } = e;
    const own = createHash('sha256').update(canonical({ v: 1, tenant, stream, revision, eventId, type, schemaVersion, data, writer, actor, correlation, causation, segment, appendId, recordedAt, previous: e.previous })).digest('hex');
    if (own !== e.digest) wrong.push(`the digest of revision ${e.revision} is not that of its bytes`);
    if (ids.has(eventId)) wrong.push(`event id ${eventId} occurs twice`);
    ids.add(eventId);
    previous = e.digest;
  });
  return wrong;
}

export interface CheckpointRow { readonly checkpoint: string; readonly cut: number; readonly sealed_revision: number; readonly manifest: string; readonly manifest_digest: string }

/** A checkpoint and the event that names it are there together or not at all, and the checkpoint is of the event before it (SEAL-2). */
export function sealFaults(log: Log, rows: readonly CheckpointRow[]): string[] {
  const wrong: string[] = [];
  const seals = log.filter((e) => e.type === 'checkpoint.sealed');
  for (const r of rows) {
    const e = log[r.sealed_revision - 1];
    if (e?.type !== 'checkpoint.sealed' || dataOf(e)['checkpoint'] !== r.checkpoint) wrong.push(`checkpoint ${r.checkpoint} has no event at revision ${r.sealed_revision}`);
    const m = JSON.parse(r.manifest) as { cut: number; head: string };
    if (createHash('sha256').update(r.manifest).digest('hex') !== r.manifest_digest) wrong.push(`the manifest of ${r.checkpoint} has another digest`);
    if (m.cut !== r.cut || r.cut !== r.sealed_revision - 1 || m.head !== log[r.cut - 1]?.digest) wrong.push(`checkpoint ${r.checkpoint} is not of the boundary at ${r.cut}`);
  }
  for (const e of seals) if (!rows.some((r) => r.checkpoint === dataOf(e)['checkpoint'] && r.manifest_digest === dataOf(e)['manifest'])) wrong.push(`revision ${e.revision} names checkpoint ${String(dataOf(e)['checkpoint'])}, which does not exist`);
  return wrong;
}

/** Where SEAL-6 wants a seal: by hand from its words. */
const BOUNDARY: Readonly<Record<string, string>> = {
  'generation.accepted': 'model-output',
  'effect.observed': 'tool-observation', 'effect.refused': 'tool-observation', 'call.refused': 'tool-observation',
  'generation.permitted': 'decision', 'generation.denied': 'decision', 'effect.permitted': 'decision', 'effect.denied': 'decision', 'approval.decided': 'decision', 'approval.requested': 'decision',
  'effect.outcome-unknown': 'world-reconciliation', 'effect.reconciled': 'world-reconciliation', 'generation.outcome-unknown': 'world-reconciliation',
  'workspace.changed': 'workspace', 'run.created': 'run-state', 'run.ended': 'run-state', 'run.paused': 'run-state', 'run.resumed': 'run-state',
};
const STARTS: ReadonlySet<string> = new Set(['context.compiled', 'effect.intended', 'effect.attempt-started', 'generation.started']);

/** Nothing starts while a boundary is unsealed, every boundary is sealed in the end, and nothing is sealed for nothing (SEAL-6). */
export function boundaryFaults(log: Log): string[] {
  const wrong: string[] = [];
  let open: string[] = [];
  for (const e of log) {
    if (e.type === 'checkpoint.sealed') {
      const said = dataOf(e)['boundaries'] as readonly string[];
      for (const b of open) if (!said.includes(b)) wrong.push(`the seal at ${e.revision} does not name the boundary ${b}`);
      if (said.length === 0) wrong.push(`revision ${e.revision} seals no boundary`);
      open = [];
    } else if (STARTS.has(e.type) && open.length > 0) wrong.push(`${e.type} at ${e.revision} started while ${open.join(', ')} was unsealed`);
    const b = BOUNDARY[e.type];
    if (b !== undefined) open.push(b);
  }
  return open.length > 0 ? [...wrong, `${open.join(', ')} is unsealed at the end`] : wrong;
}

/** One open attempt at a time, each with its number and at most one end; a second send only where the contract allows it (EFF-1, EFF-2, EFF-4). */
export function effectFaults(log: Log): string[] {
  const wrong: string[] = [];
  const contracts = new Map<string, string>();
  const attempts = new Map<string, { attempt: string; end: string | null }[]>();
  const permits = new Set<string>();
  for (const e of log) {
    const d = dataOf(e);
    const effect = typeof d['effect'] === 'string' ? d['effect'] : '';
    const list = attempts.get(effect) ?? [];
    const last = list.at(-1);
    switch (e.type) {
      case 'effect.intended': contracts.set(effect, (d['contract'] as { kind: string }).kind); attempts.set(effect, list); break;
      case 'effect.attempt-started': {
        if (last !== undefined && last.end === null) wrong.push(`${effect} has two open attempts at ${e.revision}`);
        if (d['attemptNumber'] !== list.length + 1) wrong.push(`attempt ${String(d['attemptNumber'])} of ${effect} is its ${list.length + 1}.`);
        if (permits.has(String(d['permit']))) wrong.push(`permit ${String(d['permit'])} is spent twice`);
        permits.add(String(d['permit']));
        const kind = contracts.get(effect);
        if ((kind === 'neither' || kind === 'queryable') && list.some((a) => a.end !== 'effect.not-sent')) wrong.push(`${effect} (${String(kind)}) may have been sent before attempt ${list.length + 1}`);
        list.push({ attempt: String(d['attempt']), end: null });
        break;
      }
      case 'effect.observed': case 'effect.refused': case 'effect.not-sent': case 'effect.outcome-unknown':
        if (last === undefined || last.attempt !== d['attempt'] || last.end !== null) wrong.push(`${e.type} at ${e.revision} is of no open attempt`);
        else last.end = e.type;
        break;
      default:
    }
  }
  return wrong;
}

/** What certainly arrived and what may have, by the log: the outside's count must lie between the two (EFF-2, EFF-10). */
export function sendsBetween(log: Log, of: 'effect' | 'generation', effects?: ReadonlySet<string>): { readonly least: number; readonly most: number } {
  const mine = (e: EventEnvelope): boolean => effects === undefined || effects.has(String(dataOf(e)['effect']));
  const count = (type: string, also: (d: Data) => boolean = () => true): number => log.filter((e) => e.type === type && mine(e) && also(dataOf(e))).length;
  const started = count(of === 'effect' ? 'effect.attempt-started' : 'generation.started');
  const most = started - count(`${of}.not-sent`);
  return { least: most - count(`${of}.outcome-unknown`, (d) => d['cause'] === 'CLAIM_EXPIRED'), most };
}

export function generationFaults(log: Log, wire: number): string[] {
  const wrong: string[] = [];
  const { least, most } = sendsBetween(log, 'generation');
  if (wire < least || wire > most) wrong.push(`${wire} requests arrived at the provider; by the log between ${least} and ${most} were sent`);
  let open: string | null = null;
  const accepted = new Set<string>();
  for (const e of log) {
    const d = dataOf(e);
    if (e.type === 'generation.started') {
      if (open !== null) wrong.push(`two model calls are open at ${e.revision}`);
      if (accepted.has(String(d['generation']))) wrong.push(`generation ${String(d['generation'])} was called again after its output was accepted`);
      if (!['first', 'continued', 'exact-replay', 'reconstructed'].includes(String(d['form']))) wrong.push(`the attempt at ${e.revision} does not say what it was`);
      open = String(d['attempt']);
    }
    if (['generation.accepted', 'generation.refused', 'generation.not-sent', 'generation.outcome-unknown'].includes(e.type)) {
      if (open !== d['attempt']) wrong.push(`${e.type} at ${e.revision} is of no open call`);
      open = null;
    }
    if (e.type === 'generation.accepted') accepted.add(String(d['generation']));
  }
  return wrong;
}

/** Opaque pieces as the provider issued them: taken from what was sent back to it. */
export const carriersIn = (bodies: readonly string[]): readonly string[] =>
  [...new Set(bodies.flatMap((b) => [...b.matchAll(/"thought_?[sS]ignature"\s*:\s*"([^"]{16,})"/gu)].map((m) => m[1] as string)))];

/** Where a piece's bytes stand in the open (CON-1). `texts`: by name. */
export function carrierFaults(carriers: readonly string[], texts: ReadonlyMap<string, string>): string[] {
  const forms = carriers.flatMap((c) => [c, JSON.stringify(c).slice(1, -1), Buffer.from(c, 'utf8').toString('base64').slice(0, -4), Buffer.from(c, 'base64').toString('latin1')]).filter((f) => f.length >= 16);
  return [...texts].flatMap(([name, text]) => (forms.some((f) => text.includes(f)) ? [`opaque bytes of the provider stand in ${name}`] : []));
}

/** Every attempt, usage, effect, denial and outcome carries the segment that it belongs to (RES-8). */
export function segmentFaults(log: Log): string[] {
  const wrong: string[] = [];
  let segment = 0;
  for (const e of log) {
    const before = segment;
    if (e.type === 'segment.started') segment = Number(dataOf(e)['segment']);
    if (e.segment !== segment && e.segment !== before) wrong.push(`revision ${e.revision} (${e.type}) carries segment ${e.segment}, the run is in ${segment}`);
  }
  return wrong;
}

export const deadLetters = (log: Log): string[] => log.filter((e) => e.type === 'dead-letter.recorded').map((e) => `dead letter at ${e.revision}: ${JSON.stringify(e.data)}`);

export const runFaults = (log: Log, rows: readonly CheckpointRow[], wire: number): string[] =>
  [...chainFaults(log), ...sealFaults(log, rows), ...boundaryFaults(log), ...effectFaults(log), ...generationFaults(log, wire), ...segmentFaults(log), ...deadLetters(log)];
