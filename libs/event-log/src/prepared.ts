/**
 * What a PreparedAppend must look like before it may wait in a queue: the mistakes that would otherwise fail a whole batch, or break a promise in silence.
 *
 * V1. An event `checkpoint.sealed` and the checkpoint that it names come together or not at all (SEAL-2).
 * V2. Revisions, append id and chain of the rows are consecutive from the expected revision on (RUN-1).
 * V3. Ids and digests have the one spelling that comes back from their binary form.
 *
 * Rows: RUN-1, SEAL-2.
 */
import type { AppendOutcome, AppendRefusalCode } from '@n17q/contracts';
import type { EventData, Scope } from '@n17q/domain';
import type { PreparedAppend } from './ports.js';

const refused = (code: AppendRefusalCode, message: string, facts: unknown = {}): AppendOutcome => ({ kind: 'refused', code, message, facts });
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const DIGEST = /^[0-9a-f]{64}$/;
/** Postgres text holds no NUL, and a lone surrogate would be replaced on its way. */
const storable = (text: string): boolean => !text.includes('\u0000') && text.isWellFormed();

/** The refusal, or undefined when it may be queued. */
export function flawOf(p: PreparedAppend): AppendOutcome | undefined {
  if (p.rows.length === 0) return refused('MALFORMED', 'An append holds at least one event.');
  if (!Number.isSafeInteger(p.expected) || p.expected < 0 || p.expected + p.rows.length > 2_147_483_647) return refused('MALFORMED', 'The expected revision is out of range.');
  let previous = p.rows[0]?.previous;
  for (const [i, row] of p.rows.entries()) {
    if (row.tenant !== p.tenant || row.stream !== p.stream || row.revision !== p.expected + 1 + i || row.appendId !== p.appendId || row.recordedAt !== p.rows[0]?.recordedAt) {
      return refused('MALFORMED', `Event ${String(i + 1)} does not fit its append.`);
    }
    if (row.previous !== previous) return refused('MALFORMED', `Event ${String(i + 1)} does not follow its predecessor's digest.`);
    previous = row.digest;
  }
  if (![p.appendId, ...p.rows.map((r) => r.eventId)].every((id) => UUID.test(id))) return refused('MALFORMED', 'Ids of appends and events are UUIDs in lower case.');
  if (![p.requestDigest, ...p.rows.map((r) => r.digest)].every((d) => DIGEST.test(d))) return refused('MALFORMED', 'A digest is 64 hexadecimal digits in lower case.');
  if (![p.tenant, p.stream, p.snapshot ?? '', ...p.rows.flatMap((r) => [r.correlation, r.actor.id]), ...besides(p)].every(storable)) return refused('MALFORMED', 'NUL and lone surrogates cannot be stored.');
  return checkpointFlaw(p);
}

/** Texts beside the events that become columns, or keys and values of jsonb. */
function besides(p: PreparedAppend): readonly string[] {
  const named = (s: Scope): readonly string[] => [s.target, ...Object.keys(s.fields)];
  return [
    ...p.scopesFree.flatMap((s) => [...named(s.scope), ...s.except]), ...p.openEffects.upsert.flatMap((e) => [e.effect, e.tool, e.generation, ...named(e.scope)]), ...p.openEffects.remove,
    ...p.contents.map((c) => c.ref.media), ...p.needs.upsert.map((n) => n.reason), ...p.needs.remove.map((n) => n.reason), ...p.requires.map((r) => r.stream),
  ];
}

function checkpointFlaw(p: PreparedAppend): AppendOutcome | undefined {
  const seals = p.rows.filter((r) => r.type === 'checkpoint.sealed');
  const c = p.checkpoint;
  if (seals.length === 0 && c === undefined) return undefined;
  const seal = seals[0];
  if (seals.length !== 1 || seal === undefined || c === undefined) return refused('CHECKPOINT_WRONG', 'A checkpoint and the event that seals it come together.');
  const d = seal.data as EventData['checkpoint.sealed'];
  if (d.checkpoint !== c.checkpoint || d.cut !== c.cut || d.manifest !== c.manifestDigest || d.version !== c.version) return refused('CHECKPOINT_WRONG', 'The event names another checkpoint than the append carries.');
  if (c.cut >= seal.revision) return refused('CHECKPOINT_WRONG', 'A checkpoint is cut before the event that seals it.');
  return undefined;
}

/** Where the checkpoint's event stands, or undefined. */
export const sealedRevision = (p: PreparedAppend): number | undefined => p.rows.find((r) => r.type === 'checkpoint.sealed')?.revision;

/** About how many bytes the append costs on its way to Postgres. */
export function bytesOf(p: PreparedAppend, data: readonly string[], packBytes: number): number {
  let bytes = 1000 + (p.snapshot?.length ?? 0) + packBytes * 2;
  for (const d of data) bytes += d.length + 600;
  for (const c of p.contents) bytes += c.body.length + 200;
  return bytes;
}

/** The largest balance of an account: a grant beyond it is refused. */
export const BALANCE_MAX = Number.MAX_SAFE_INTEGER;
/** How an outcome of the transaction is said to the caller. Both implementations use this table. */
export const REFUSAL_OF: { readonly [outcome: string]: { readonly code: AppendRefusalCode; readonly message: string } | undefined } = {
  'id-reused': { code: 'ID_REUSED', message: 'This append id was used for another append.' },
  'requirement-failed': { code: 'REQUIREMENT_FAILED', message: 'A stream that this append rests on has moved.' },
  expired: { code: 'PERMIT_EXPIRED', message: 'The time until which this append was valid has passed.' },
  suspect: { code: 'INCARNATION_SUSPECT', message: 'This run lost acknowledged events: nothing that acts on the world until somebody has looked.' },
  'scope-busy': { code: 'SCOPE_BUSY', message: 'Another unresolved effect has this scope.' },
  'budget-short': { code: 'BUDGET_SHORT', message: "The tenant's account does not cover this." },
  'budget-over': { code: 'BALANCE_TOO_LARGE', message: `A balance is at most ${String(BALANCE_MAX)}, the largest number that is still exact everywhere; this grant would exceed it.` },
  'content-missing': { code: 'CONTENT_MISSING', message: 'The append cites content that is not complete here, or is of another class or size than it says.' },
  'checkpoint-wrong': { code: 'CHECKPOINT_WRONG', message: 'This checkpoint cannot be taken in.' },
};
/** Further than this from the store's clock an append's time is not accepted. */
export const CLOCK_SKEW_MS_MAX = 2000;
/** An append id is recognised at the right revision among this many last appends of the stream. */
export const RECENT_APPENDS = 32;
