/** A frozen batch as the arguments of `n17q.append_batch`: arrays for what every append has, one JSON text for what few have. */
import { canonicalOnce, type AppendOutcome } from '@n17q/contracts';
import { DIMENSIONS } from '@n17q/domain';
import type { PreparedAppend } from '../ports.js';
import { bytesOf, sealedRevision, REFUSAL_OF } from '../prepared.js';
import { metaOf, positionText } from '../row.js';
import { pack, type LastPack, type Packed } from './section-pack.js';

/** An append with its texts made, so that nothing about it can fail once it is queued. */
export interface EncodedAppend { readonly prepared: PreparedAppend; readonly data: readonly string[]; readonly extra: string | null; readonly bytes: number; readonly packed: Packed | null }

const base64 = (b: Uint8Array): string => Buffer.from(b.buffer, b.byteOffset, b.byteLength).toString('base64');

function extraOf(p: PreparedAppend, packed: Packed | null): string | null {
  const x: Record<string, unknown> = {};
  if (p.contents.length > 0) x['contents'] = p.contents.map((c) => ({ commitment: c.ref.commitment, class: c.ref.class, media: c.ref.media, bytes: c.ref.bytes, salt: base64(c.salt), body: base64(c.body) }));
  if (p.cites.length > 0) x['cites'] = p.cites;
  if (Object.keys(p.citedAs).length > 0) x['citedAs'] = p.citedAs;
  if (p.checkpoint !== undefined && packed !== null) x['checkpoint'] = { cut: p.checkpoint.cut, base: packed.base, held: packed.held, sought: packed.sought };
  if (p.openEffects.remove.length > 0) x['removeEffects'] = p.openEffects.remove;
  if (p.openEffects.upsert.length > 0) x['upsertEffects'] = p.openEffects.upsert;
  if (p.releases.length > 0) x['releases'] = p.releases;
  if (p.requires.length > 0) x['requires'] = p.requires;
  if (p.scopesFree.length > 0) x['scopesFree'] = p.scopesFree;
  if (p.debit !== null && DIMENSIONS.some((d) => p.debit?.[d] !== 0)) x['debit'] = p.debit;
  if (p.limits !== undefined) x['limits'] = p.limits;
  if (p.eraseContents) x['eraseContents'] = true;
  return Object.keys(x).length === 0 ? null : JSON.stringify(x);
}

/** Throws TypeError for data that has no canonical form. `last`: the run's last checkpoint that was taken in, if it is known here. */
export function encode(prepared: PreparedAppend, last?: LastPack): EncodedAppend {
  const data = prepared.rows.map((r) => canonicalOnce(r.data));
  const packed = prepared.checkpoint === undefined ? null : pack(prepared.checkpoint, last);
  return { prepared, data, packed, extra: extraOf(prepared, packed), bytes: bytesOf(prepared, data, packed?.body.length ?? 0) };
}

const TYPES = [
  'smallint', 'text[]', 'text[]', 'integer[]', 'uuid[]', 'text[]', 'integer[]', 'text[]', 'text[]', 'bigint[]', 'bigint[]', 'text[]', 'text[]', 'text',
  'integer[]', 'integer[]', 'uuid[]', 'text[]', 'text[]', 'smallint[]', 'text[]', 'text[]', 'text[]', 'text[]',
  'integer[]', 'text[]', 'text[]', 'bigint[]', 'text[]', 'integer[]', 'text[]', 'text[]',
  'integer[]', 'integer[]', 'text[]', 'integer[]', 'integer[]', 'text[]', 'integer[]', 'text[]', 'text[]',
] as const;
/** Lock: lane head row, then streams rows by name. Isolation: READ COMMITTED, one statement, one transaction. */
export const APPEND_STATEMENT = `select item, outcome, revision, head, recorded_at::text as recorded_at, pos::text as pos, facts from n17q.append_batch(${TYPES.map((t, i) => `$${String(i + 1)}::${t}`).join(', ')})`;

export function batchArguments(items: readonly EncodedAppend[], lane: number, foldSchema: string): unknown[] {
  const i = { tenant: [] as string[], stream: [] as string[], expected: [] as number[], append: [] as string[], digest: [] as string[], count: [] as number[], previous: [] as string[], head: [] as string[], recorded: [] as number[], until: [] as (number | null)[], snapshot: [] as (string | null)[], extra: [] as (string | null)[] };
  const e = { item: [] as number[], off: [] as number[], id: [] as string[], type: [] as string[], wake: [] as (string | null)[], schema: [] as number[], data: [] as string[], meta: [] as (string | null)[], trace: [] as (string | null)[], digest: [] as string[] };
  const n = { item: [] as number[], service: [] as string[], reason: [] as string[], due: [] as number[], waits: [] as (string | null)[] };
  const r = { item: [] as number[], service: [] as string[], reason: [] as string[] };
  const c = { item: [] as number[], cut: [] as number[], checkpoint: [] as string[], version: [] as number[], sealed: [] as number[], digest: [] as string[], base: [] as (number | null)[], holds: [] as string[], body: [] as string[] };
  for (const [at, { prepared: p, data, extra, packed }] of items.entries()) {
    const last = p.rows.length - 1;
    i.tenant.push(p.tenant); i.stream.push(p.stream); i.expected.push(p.expected); i.append.push(p.appendId); i.digest.push(p.requestDigest); i.count.push(p.rows.length);
    i.previous.push(p.rows[0]?.previous ?? ''); i.head.push(p.rows[last]?.digest ?? ''); i.recorded.push(p.rows[0]?.recordedAt ?? 0); i.until.push(p.validUntil ?? null);
    i.snapshot.push(p.snapshot ?? null); i.extra.push(extra);
    for (const [off, row] of p.rows.entries()) {
      e.item.push(at + 1); e.off.push(off + 1); e.id.push(row.eventId); e.type.push(row.type); e.wake.push(off === last && p.wake !== 'none' ? p.wake : null);
      e.schema.push(row.schemaVersion); e.data.push(data[off] as string); e.meta.push(metaOf(row)); e.trace.push(row.trace === undefined ? null : JSON.stringify(row.trace)); e.digest.push(row.digest);
    }
    for (const need of p.needs.upsert) { n.item.push(at + 1); n.service.push(need.service); n.reason.push(need.reason); n.due.push(Math.trunc(need.dueAt)); n.waits.push(need.waitsFor); }
    if (p.checkpoint !== undefined && packed !== null) {
      c.item.push(at + 1); c.cut.push(p.checkpoint.cut); c.checkpoint.push(p.checkpoint.checkpoint); c.version.push(p.checkpoint.version); c.sealed.push(sealedRevision(p) as number); c.digest.push(p.checkpoint.manifestDigest);
      c.base.push(packed.base); c.holds.push(`{${packed.holds.join(',')}}`); c.body.push(packed.body.toString('base64'));
    }
    for (const gone of p.needs.remove) { r.item.push(at + 1); r.service.push(gone.service); r.reason.push(gone.reason); }
  }
  const arrays = [
    i.tenant, i.stream, i.expected, i.append, i.digest, i.count, i.previous, i.head, i.recorded, i.until, i.snapshot, i.extra,
    e.item, e.off, e.id, e.type, e.wake, e.schema, e.data, e.meta, e.trace, e.digest,
    n.item, n.service, n.reason, n.due, n.waits, r.item, r.service, r.reason,
    c.item, c.cut, c.checkpoint, c.version, c.sealed, c.digest, c.base, c.holds, c.body,
  ].map(arrayLiteral);
  return [lane, ...arrays.slice(0, 12), foldSchema, ...arrays.slice(12)];
}

const SPECIAL = /["\\]/;
const SPECIALS = /["\\]/g;
/** The driver's own encoding of arrays costs more than all the rest of an append in this process. */
export function arrayLiteral(values: readonly (string | number | null)[]): string {
  let text = '{';
  for (const [at, v] of values.entries()) {
    if (at > 0) text += ',';
    if (v === null) text += 'NULL';
    else if (typeof v === 'number') text += String(v);
    else text += `"${SPECIAL.test(v) ? v.replace(SPECIALS, '\\$&') : v}"`;
  }
  return `${text}}`;
}

export interface OutcomeRow { readonly item: number; readonly outcome: string; readonly revision: number; readonly head: string | null; readonly recorded_at: string | null; readonly pos: string | null; readonly facts: string | null }

/** The caller's words for a row. Undefined for an outcome that is no answer (`chain-broken`). */
export function outcomeOf(p: PreparedAppend, lane: number, r: OutcomeRow): AppendOutcome | undefined {
  if (r.outcome === 'appended' || r.outcome === 'replayed') {
    return { kind: 'appended', fresh: r.outcome === 'appended', first: p.expected + 1, last: r.revision, head: r.head as never, recordedAt: Number(r.recorded_at), position: positionText(lane, r.pos ?? '') };
  }
  if (r.outcome === 'conflict') return { kind: 'conflict', revision: r.revision };
  if (r.outcome === 'clock-skew') return { kind: 'busy', message: 'The time that this append carries is not the store\'s any more: prepare it again.' };
  const refusal = REFUSAL_OF[r.outcome];
  return refusal === undefined ? undefined : { kind: 'refused', ...refusal, facts: r.facts === null ? {} : (JSON.parse(r.facts) as unknown) };
}
