/**
 * The append in memory: the same judgements in the same order as `n17q.append_batch`, for one item.
 *
 * M1. Everything is judged before anything is written, and no await lies between.
 *
 * Rows: RUN-1, RUN-4, SEAL-2, SEAL-3, EFF-6, EFF-7, BUD-2, BUD-5.
 */
import type { AppendOutcome } from '@n17q/contracts';
import { DIMENSIONS, NOTHING, overlaps, waitCovered, type Digest, type EventEnvelope, type StoreTimeMs } from '@n17q/domain';
import type { PreparedAppend } from '../ports.js';
import { classOf, positionText } from '../row.js';
import { BALANCE_MAX, CLOCK_SKEW_MS_MAX, REFUSAL_OF, sealedRevision } from '../prepared.js';
import { StoreFault } from '../store-fault.js';
import { countDraws, drawable, replaceLimits, windowEndsAt } from '../windows.js';
import { emptyStream, headOf, type HeldStore, type HeldStream, type HeldTenant } from './state.js';

const refused = (outcome: string, facts: unknown): AppendOutcome => {
  const r = REFUSAL_OF[outcome];
  if (r === undefined) throw new TypeError(outcome);
  return { kind: 'refused', ...r, facts };
};

function known(stream: HeldStream | undefined, p: PreparedAppend): AppendOutcome | undefined {
  const earlier = stream?.appends.get(p.appendId);
  if (stream === undefined || earlier === undefined) return undefined;
  if (earlier.requestDigest !== p.requestDigest || earlier.first !== p.expected + 1) return refused('id-reused', { revision: earlier.first });
  const last = stream.events[earlier.first + earlier.count - 2];
  if (last === undefined) throw new TypeError('an append without its events');
  return { kind: 'appended', fresh: false, first: earlier.first, last: last.event.revision, head: last.event.digest, recordedAt: last.event.recordedAt, position: last.event.position };
}

/** The outcome when `p` must not be taken in, or undefined. Reads only. */
export function judge(tenant: HeldTenant, p: PreparedAppend, now: number, suspect: boolean): AppendOutcome | undefined {
  const stream = tenant.streams.get(p.stream);
  const head = headOf(stream);
  const repeat = known(stream, p);
  if (repeat !== undefined) return repeat;
  if (head.revision !== p.expected) return { kind: 'conflict', revision: head.revision };
  if (p.rows[0]?.previous !== head.head) throw new StoreFault('CHAIN_BROKEN', `The append does not follow the head of ${p.stream}.`, false);
  if (Math.abs((p.rows[0].recordedAt as StoreTimeMs) - now) >= CLOCK_SKEW_MS_MAX) return { kind: 'busy', message: 'The time that this append carries is not the store\'s any more: prepare it again.' };
  if (p.validUntil !== undefined && suspect) return refused('suspect', {});
  if (p.validUntil !== undefined && now >= p.validUntil) return refused('expired', { validUntil: p.validUntil, now });
  for (const r of p.requires) {
    const { revision } = headOf(tenant.streams.get(r.stream));
    if (revision !== r.revision) return refused('requirement-failed', { stream: r.stream, required: r.revision, revision });
  }
  return judgeExtra(tenant, p, now);
}

function judgeExtra(tenant: HeldTenant, p: PreparedAppend, now: number): AppendOutcome | undefined {
  for (const s of p.scopesFree) {
    const other = [...tenant.openEffects.values()].filter((o) => overlaps(o.scope, s.scope) && o.kind !== 'read-only' && o.kind !== 'contained' && !s.except.includes(o.effect)).sort((a, b) => (a.effect < b.effect ? -1 : 1))[0];
    if (other !== undefined) return refused('scope-busy', { target: s.scope.target, effect: other.effect, stream: other.stream });
  }
  const free = drawable({ ...NOTHING, ...Object.fromEntries(tenant.account) }, tenant.windows.rows, now);
  for (const d of [...DIMENSIONS].sort()) {
    const balance = tenant.account.get(d) ?? 0;
    const needed = p.debit?.[d] ?? 0;
    if (p.stream === 'tenant/budget' && balance - needed > BALANCE_MAX) return refused('budget-over', { dimension: d, granted: -needed, balance });
    if (needed > 0 && needed > free[d]) return refused('budget-short', { dimension: d, needed, balance: free[d] });
  }
  const uploads = new Set(p.contents.map((c) => c.ref.commitment));
  const missing = [...p.cites.filter((c) => { const held = tenant.contents.get(c); return !uploads.has(c) && (held?.state !== 'complete' || (p.citedAs[c] !== undefined && p.citedAs[c] !== `${held.class} ${held.bytes}`)); }), ...[...uploads].filter((c) => tenant.contents.get(c)?.state === 'erased')].sort()[0];
  if (missing !== undefined) return refused('content-missing', { commitment: missing });
  const c = p.checkpoint;
  const section = c?.citesSections.filter((d) => !(d in c.sections) && !tenant.sections.has(d)).sort()[0];
  if (section !== undefined) return refused('content-missing', { section });
  if (c !== undefined && tenant.streams.get(p.stream)?.checkpoints.has(c.cut)) return refused('checkpoint-wrong', { cut: c.cut, because: 'this cut is sealed already' });
  return undefined;
}

/** Takes `p` in, after `judge` had nothing against it. */
export function take(store: HeldStore, tenant: HeldTenant, p: PreparedAppend, now: number): AppendOutcome {
  const recordedAt = p.rows[0]?.recordedAt ?? now;
  const stream = tenant.streams.get(p.stream) ?? emptyStream(p.stream, recordedAt);
  tenant.streams.set(p.stream, stream);
  for (const [at, row] of p.rows.entries()) {
    const position = store.lane.length + 1;
    const held = { event: JSON.parse(JSON.stringify({ ...row, position: positionText(0, position) })) as EventEnvelope, position, class: classOf(row.type), wake: at === p.rows.length - 1 ? p.wake : 'none' };
    stream.events.push(held);
    store.lane.push(held);
  }
  stream.appends.set(p.appendId, { requestDigest: p.requestDigest, first: p.expected + 1, count: p.rows.length });
  if (p.snapshot !== undefined) stream.snapshot = { revision: stream.events.length, state: p.snapshot };
  takeContents(tenant, p);
  takeCheckpoint(tenant, stream, p);
  for (const e of p.openEffects.remove) tenant.openEffects.delete(e);
  for (const e of p.openEffects.upsert) tenant.openEffects.set(e.effect, { ...e, stream: p.stream });
  for (const d of DIMENSIONS) if (p.debit?.[d]) tenant.account.set(d, (tenant.account.get(d) ?? 0) - p.debit[d]);
  if (p.debit !== null && p.stream !== 'tenant/budget') countDraws(tenant.windows, p.stream, p.debit, now);
  if (p.limits !== undefined) replaceLimits(tenant.windows, p.limits);
  takeNeeds(tenant, stream, p, now);
  const last = stream.events.at(-1)?.event as EventEnvelope;
  return { kind: 'appended', fresh: true, first: p.expected + 1, last: last.revision, head: last.digest, recordedAt: last.recordedAt, position: last.position };
}

function takeContents(tenant: HeldTenant, p: PreparedAppend): void {
  for (const { ref, salt, body } of p.contents) {
    const there = tenant.contents.get(ref.commitment);
    if (there === undefined || there.state === 'pending') tenant.contents.set(ref.commitment, { stream: there?.stream ?? p.stream, class: ref.class, media: ref.media, bytes: ref.bytes, state: 'complete', salt: Buffer.from(salt), body: Buffer.from(body) });
  }
  if (!p.eraseContents) return;
  for (const [c, held] of tenant.contents) if (held.stream === p.stream) tenant.contents.set(c, { ...held, state: 'erased', salt: null, body: null });
}

function takeCheckpoint(tenant: HeldTenant, stream: HeldStream, p: PreparedAppend): void {
  const c = p.checkpoint;
  if (c === undefined) return;
  for (const [digest, body] of Object.entries(c.sections)) if (!tenant.sections.has(digest)) tenant.sections.set(digest, body);
  stream.sections.set(c.cut, [...new Set([...Object.keys(c.sections), ...c.citesSections])]);
  stream.checkpoints.set(c.cut, { checkpoint: c.checkpoint, version: c.version, cut: c.cut, sealedRevision: sealedRevision(p) as number, manifest: c.manifest, manifestDigest: c.manifestDigest as Digest });
}

function takeNeeds(tenant: HeldTenant, stream: HeldStream, p: PreparedAppend, now: number): void {
  const key = (n: { readonly service: string; readonly reason: string }): string => `${n.service}\u0000${n.reason}`;
  for (const n of p.needs.remove) stream.needs.delete(key(n));
  for (const n of p.needs.upsert) stream.needs.set(key(n), { ...n, dueAt: stream.needs.get(key(n))?.dueAt ?? Math.trunc(n.dueAt) });
  const balance = drawable({ ...NOTHING, ...Object.fromEntries(tenant.account) }, tenant.windows.rows, now);
  const opensAt = windowEndsAt(tenant.windows.rows, now) ?? Infinity; // what no balance covers yet may have begun to wait when there was no limit
  for (const s of p.releases.length === 0 ? [] : tenant.streams.values()) {
    for (const [k, n] of s.needs) if ((p.releases as readonly (string | undefined)[]).includes(n.waitsFor?.split(':')[0])) s.needs.set(k, { ...n, dueAt: Math.min(n.dueAt, waitCovered(n.waitsFor, balance) ? now : opensAt) });
  }
}
