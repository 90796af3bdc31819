/**
 * Turns a request into what the transaction takes in: parsed, judged by the domain at the expected revision, chained. Pure but for nothing;
 * the store and the simulation call the same function.
 *
 * Refusals name what was wrong and where; nothing of a refused append stays.
 *
 * Rows: RUN-1, RUN-3, SEAL-2, SEAL-3, SEAL-5, EFF-7, CON-3, CTX-7.
 */
import { APPEND_BYTES_MAX, appendRequest, canonical, canonicalOnce, commitment, digestOf, eventDigest, EVENT_SCHEMAS, INLINE_BYTES_MAX, sha256, type AppendOutcome, type AppendRefusalCode, type AppendRequest, type ContentUpload } from '@n17q/contracts';
import { areAmounts, contentRefsIn, DIMENSIONS, EVENT_TABLE, evolve, isEventType, isNothing, judgeAppend, mayWrite, minus, NOTHING, plus, wakeOf, type Amounts, type Digest, type EventData, type EventEnvelope, type EventType, type Manifest, type RunState, type ServiceName, type TenantTopic } from '@n17q/domain';
import type { EventRow, PreparedAppend, StreamHead } from '../ports.js';

export const SNAPSHOT_EVERY = 64;
const FAR_FUTURE_SCHEMA = 1;

type Refusal = Extract<AppendOutcome, { kind: 'refused' }>;
const refuse = (code: AppendRefusalCode, message: string, facts: unknown = {}): Refusal => ({ kind: 'refused', code, message, facts });
export const isRefusal = (v: object): v is Refusal => (v as { kind?: string }).kind === 'refused';

const TOPIC_OF: { readonly [T in EventType]?: TenantTopic } = { 'policy.published': 'policy', 'registry.published': 'registry', 'profiles.published': 'profiles', 'roles.published': 'roles', 'allowance.granted': 'budget', 'allowance.limited': 'budget' };
const RELEASES: { readonly [T in TenantTopic]: PreparedAppend['releases'] } = { policy: ['policy'], registry: ['policy'], roles: ['policy'], profiles: ['profiles', 'policy'], budget: ['budget'] };

export interface ParsedAppend { readonly request: AppendRequest; readonly contents: readonly ContentUpload[]; readonly requestDigest: Digest }

const issuesOf = (e: { readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[] }): string =>
  e.issues.slice(0, 5).map((i) => `${i.path.map(String).join('.') || '(top)'}: ${i.message}`).join('; ');

/** Shape, sizes, owner and content, before any state is looked at. */
export function parseAppend(raw: unknown, writer: ServiceName, bytes: number): ParsedAppend | Refusal {
  try {
    return parsedAppend(raw, writer, bytes);
  } catch (e) {
    if (e instanceof RangeError) return refuse('MALFORMED', 'the append is nested more deeply than any event is'); // the stack's end, long before any state was looked at
    throw e;
  }
}

function parsedAppend(raw: unknown, writer: ServiceName, bytes: number): ParsedAppend | Refusal {
  if (bytes > APPEND_BYTES_MAX) return refuse('TOO_LARGE', `an append is at most ${APPEND_BYTES_MAX} bytes, this one has ${bytes}; store large content as an artifact first`, { bytes, max: APPEND_BYTES_MAX });
  const parsed = appendRequest.safeParse(raw);
  if (!parsed.success) return refuse('MALFORMED', `the append does not have the documented shape: ${issuesOf(parsed.error)}`);
  const request = parsed.data as unknown as AppendRequest;
  for (const [i, e] of parsed.data.events.entries()) {
    const why = eventFlaw(e, writer, request.stream, i);
    if (why !== null) return why;
  }
  const contents: ContentUpload[] = [];
  for (const c of request.contents) {
    const salt = Buffer.from(c.salt, 'base64');
    const body = Buffer.from(c.body, 'base64');
    if (body.length > INLINE_BYTES_MAX) return refuse('TOO_LARGE', `inline content is at most ${INLINE_BYTES_MAX} bytes, ${c.ref.commitment} has ${body.length}`, { commitment: c.ref.commitment });
    if (body.length !== c.ref.bytes || commitment(salt, body) !== c.ref.commitment) return refuse('CONTENT_ALTERED', `content ${c.ref.commitment} does not have the bytes that its reference commits to`, { commitment: c.ref.commitment });
    if (c.ref.class === 'continuation' && writer !== 'provider-gateway') return refuse('CARRIER_FIELD', 'only the provider gateway may bring a continuation', { path: `contents ${c.ref.commitment}` });
    contents.push({ ref: c.ref, salt, body });
  }
  const requestDigest = digestOfRequest(request, writer);
  return requestDigest === null ? refuse('MALFORMED', 'the append holds a text with half of a character pair, which has no canonical form') : { request, contents, requestDigest };
}

/** Null when it has no canonical form. Bytes of contents are bound by their commitments, which were verified before. */
function digestOfRequest(request: AppendRequest, writer: ServiceName): Digest | null {
  const { trace: _trace, events, contents, ...said } = request;
  try {
    return digestOf({ writer, ...said, events: events.map(({ data, ...e }) => ({ ...e, data: canonicalOnce(data) })), contents: contents.map(({ ref, salt }) => ({ ref, salt })) });
  } catch (e) {
    if (e instanceof RangeError) throw e;
    return null; // schemas let nothing else through that has no canonical form
  }
}

function eventFlaw(e: { type: string; schemaVersion?: number | undefined; data?: unknown }, writer: ServiceName, stream: string, i: number): Refusal | null {
  const at = `event ${i + 1}`;
  if (!isEventType(e.type)) return refuse('UNKNOWN_TYPE', `${at}: "${e.type}" is no event type of this version`, { type: e.type });
  if (e.schemaVersion !== undefined && e.schemaVersion !== FAR_FUTURE_SCHEMA) return refuse('WRONG_VERSION', `${at}: ${e.type} has schema version ${e.schemaVersion}; this store takes version 1`, { type: e.type, version: e.schemaVersion });
  if (!mayWrite(e.type, writer)) return refuse('WRONG_OWNER', `${at}: ${e.type} belongs to ${EVENT_TABLE[e.type].writer}, not to ${writer}`, { type: e.type, owner: EVENT_TABLE[e.type].writer, writer });
  const topic = TOPIC_OF[e.type];
  if (topic === undefined ? !stream.startsWith('run/') : stream !== `tenant/${topic}`) return refuse('WRONG_STREAM', `${at}: ${e.type} does not belong in ${stream}`, { type: e.type, stream });
  const data = EVENT_SCHEMAS[e.type].safeParse(e.data);
  if (!data.success) return refuse('MALFORMED', `${at} (${e.type}): ${issuesOf(data.error)}`, { type: e.type });
  // a continuation may be named only by the gateway's own events
  if (writer !== 'provider-gateway' && contentRefsIn(e.data).some((r) => r.class === 'continuation')) return refuse('CARRIER_FIELD', `${at}: only the provider gateway may refer to a continuation`, { type: e.type });
  return null;
}

/** What the store knows at the expected revision: a run's fold, or a tenant stream's head. */
export type Standing = { readonly kind: 'run'; readonly state: RunState } | { readonly kind: 'tenant'; readonly head: StreamHead };

export interface Prepared { readonly append: PreparedAppend; readonly state: RunState | null }

/** Judges at `standing`, which must be at the request's expected revision. `recordedAt` is the store's clock in ms. */
export function prepareAppend(p: ParsedAppend, writer: ServiceName, standing: Standing, recordedAt: number): Prepared | Refusal {
  const { request } = p;
  const base = {
    tenant: request.tenant, stream: request.stream, expected: request.expected, appendId: request.appendId, requestDigest: p.requestDigest, contents: p.contents,
    requires: [...(request.requires ?? [])], scopesFree: [], openEffects: { upsert: [], remove: [] }, needs: { upsert: [], remove: [] }, rests: false, releases: [], eraseContents: false, debit: null, wake: 'none' as const,
  };
  const uploaded = new Set(p.contents.map((c) => c.ref.commitment));
  const citesOf = (rows: readonly EventRow[]): string[] => [...new Set(rows.flatMap((r) => contentRefsIn(r.data).map((c) => c.commitment)))].filter((c) => !uploaded.has(c));
  const named = namedAs(p);
  if ('kind' in named) return named;
  const { citedAs } = named;

  if (standing.kind === 'tenant') {
    if (request.checkpoint !== undefined) return refuse('CHECKPOINT_WRONG', 'a tenant stream has no checkpoints');
    const rows = chain(request, writer, standing.head.head, () => 0, recordedAt);
    const granted = request.events.reduce((n: Amounts, e) => (e.type === 'allowance.granted' ? plus(n, e.data.amounts) : n), NOTHING);
    if (!areAmounts(granted)) return refuse('BALANCE_TOO_LARGE', `the grants of this append come to more than ${Number.MAX_SAFE_INTEGER}`, { ...granted });
    const topic = request.stream.slice('tenant/'.length) as TenantTopic;
    const limits = request.events.findLast((e) => e.type === 'allowance.limited')?.data.limits;
    return { state: null, append: { ...base, rows, cites: citesOf(rows), citedAs, releases: RELEASES[topic], debit: isNothing(granted) ? null : minus(NOTHING, granted), ...(limits === undefined ? {} : { limits }) } };
  }

  let s = standing.state;
  const rows: EventRow[] = [];
  for (const e of request.events) {
    const row = link(request, writer, e, s.revision + 1, s.head, s.segment, recordedAt);
    rows.push(row);
    s = evolve(s, row as EventEnvelope);
  }
  const manifest = request.checkpoint === undefined ? null : parseManifest(request.checkpoint.manifest);
  const j = judgeAppend(standing.state, writer, rows as unknown as readonly EventEnvelope[], { manifest, canonical, digest: sha256 });
  if (j.kind === 'refused') return refuse(j.code, j.message, j.facts);
  const seal = rows.find((r) => r.type === 'checkpoint.sealed');
  if ((seal === undefined) !== (request.checkpoint === undefined)) return refuse('CHECKPOINT_WRONG', 'a checkpoint and the event that seals it come together, in one append');
  let checkpoint: PreparedAppend['checkpoint'];
  if (seal !== undefined && request.checkpoint !== undefined && j.cut !== null) {
    const d = seal.data as EventData['checkpoint.sealed'];
    const text = canonical(j.cut.manifest);
    if (sha256(text) !== d.manifest || d.checkpoint !== request.checkpoint.checkpoint) return refuse('CHECKPOINT_WRONG', 'the event names another manifest than the append carries', { manifest: d.manifest });
    checkpoint = { checkpoint: d.checkpoint, version: d.version, cut: d.cut, manifest: text, manifestDigest: d.manifest, sections: j.cut.bodies, citesSections: Object.values(j.cut.manifest.sections) };
  }
  const last = request.expected + rows.length;
  const snapshot = Math.floor(last / SNAPSHOT_EVERY) > Math.floor(request.expected / SNAPSHOT_EVERY) ? JSON.stringify(j.state) : undefined;
  const append: PreparedAppend = {
    ...base, rows, citedAs, // what a run that keeps metadata only has let go at its end stays named by its checkpoints
    cites: [...new Set([...citesOf(rows), ...(j.state.contentErased || (j.state.status === 'ended' && j.state.retention === 'metadata-only') ? [] : (j.cut?.cites ?? []))])], ...(checkpoint === undefined ? {} : { checkpoint }), ...(snapshot === undefined ? {} : { snapshot }),
    openEffects: j.openEffects, needs: j.needs, rests: j.rests, requires: [...base.requires, ...j.conditions.requires], ...(j.conditions.validUntil === null ? {} : { validUntil: j.conditions.validUntil }),
    scopesFree: j.conditions.scopesFree, debit: j.debit, releases: givesBack(j.debit) || j.needs.upsert.some((n) => n.waitsFor?.startsWith('budget:')) ? ['budget'] : [], eraseContents: j.eraseContents, wake: wakeOf([...j.needs.upsert], recordedAt),
  };
  return { append, state: j.state };
}

/** What the events say that their contents are: the same as what comes with them, and of what does not, as what it must be stored. */
function namedAs(p: ParsedAppend): { readonly citedAs: { readonly [commitment: string]: string } } | Refusal {
  const said = new Map(p.contents.map((c) => [c.ref.commitment, `${c.ref.class} ${c.ref.bytes}`]));
  const uploaded = new Set(said.keys());
  for (const [i, e] of p.request.events.entries()) {
    for (const r of contentRefsIn(e.data)) {
      if (typeof r.class !== 'string') continue; // a value that only looks like a reference
      const as = `${r.class} ${r.bytes}`;
      const other = said.get(r.commitment);
      if (other !== undefined && other !== as) return refuse('CONTENT_ALTERED', `event ${i + 1} names content ${r.commitment} as ${as} bytes, and it is ${other} bytes elsewhere in this append`, { commitment: r.commitment });
      said.set(r.commitment, as);
    }
  }
  return { citedAs: Object.fromEntries([...said].filter(([c]) => !uploaded.has(c))) };
}

/** What one run gives back may be what another waits for (BUD-5), and may have come back while this one decided to wait. */
const givesBack = (debit: Amounts | null): boolean => debit !== null && DIMENSIONS.some((d) => debit[d] < 0);

function parseManifest(text: string): Manifest | null {
  try { return JSON.parse(text) as Manifest; } catch { return null; }
}

function link(request: AppendRequest, writer: ServiceName, e: AppendRequest['events'][number], revision: number, previous: Digest, segment: number, recordedAt: number): EventRow {
  const said = {
    type: e.type, data: e.data, tenant: request.tenant, stream: request.stream, revision, eventId: e.eventId, schemaVersion: 1, writer, actor: request.actor, correlation: request.correlation,
    causation: request.causation, segment, appendId: request.appendId, recordedAt, previous,
  } as Omit<EventRow, 'digest' | 'trace'>;
  return { ...said, digest: eventDigest(said as Parameters<typeof eventDigest>[0]), ...(request.trace === undefined ? {} : { trace: request.trace }) } as EventRow;
}

function chain(request: AppendRequest, writer: ServiceName, head: Digest, segment: () => number, recordedAt: number): EventRow[] {
  const rows: EventRow[] = [];
  for (const [i, e] of request.events.entries()) rows.push(link(request, writer, e, request.expected + 1 + i, rows.at(-1)?.digest ?? head, segment(), recordedAt));
  return rows;
}
