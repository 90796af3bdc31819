/**
 * The doctor: reads a store and says what is wrong with it. It changes nothing, and takes nobody's word: it recomputes every digest, folds every run anew,
 * and compares with what the store keeps beside the log.
 *
 * Findings name the stream, the check and what differs; none means that everything that was looked at holds. It does not judge whether what a
 * run recorded is true (a digest proves identity, not truth).
 *
 * Rows: SVC-5, CON-4, SEAL-2, SEAL-5, SEAL-8, EFF-6.
 */
import { canonical, commitment, eventDigest, sha256 } from '@n17q/contracts';
import { contentRefsIn, cutOf, differences, emptyRun, evolve, isUnresolved, needsOf, runOf, unresolvedOf, type ContentRef, type EventData, type EventEnvelope, type Manifest, type RunState, type ServiceName, type StreamId, type TenantId } from '@n17q/domain';
import { PAGE_EVENTS_MAX, type EventStoreReads } from '../store-port.js';
import type { OutsideContent } from '../service/service-log.js';
import { DecisionExaminer, type RulesOf } from './examine-decisions.js';

export const CHECKS = ['chain', 'revision', 'checkpoint', 'section', 'open-effects', 'needs', 'content', 'boundary', 'unresolved', 'head', 'decision'] as const;
export interface Finding { readonly stream: StreamId; readonly check: (typeof CHECKS)[number]; readonly words: string; /** false: worth knowing, nothing is broken. */ readonly wrong: boolean }
export interface Examination { readonly streams: number; readonly events: number; readonly checkpoints: number; readonly contents: number; readonly findings: readonly Finding[] }

type Reads = Pick<EventStoreReads, 'readEvents' | 'head' | 'needsOf' | 'openEffects' | 'checkpointAt' | 'sectionBodies' | 'contents' | 'listRuns'>;
interface Count { events: number; checkpoints: number; contents: number }

const TENANT_STREAMS = ['policy', 'registry', 'profiles', 'roles', 'budget'].map((t) => `tenant/${t}` as StreamId);
/** The doctor reads with every right but that to continuations, whose bytes it needs not see. */
const READER: ServiceName = 'event-store';

/** Examines all streams of a tenant. `rulesOf` reads the tenants' rules: without it no decision is derived again. `outside` gives bytes that are held in the artifact store; without it they are counted, not verified. */
export async function examine(store: Reads, tenant: TenantId, outside: OutsideContent | null = null, rulesOf: RulesOf | null = null): Promise<Examination> {
  const findings: Finding[] = [];
  const count: Count = { events: 0, checkpoints: 0, contents: 0 };
  let streams = 0;
  for (const stream of TENANT_STREAMS) { if (await examineStream(store, tenant, stream, outside, findings, count)) streams++; }
  for (let after: StreamId | '' = ''; ;) {
    const page = await store.listRuns(tenant, after, 100);
    for (const r of page) { await examineStream(store, tenant, r.stream, outside, findings, count, rulesOf); streams++; }
    const last = page.at(-1);
    if (last === undefined || page.length < 100) break;
    after = last.stream;
  }
  return { streams, ...count, findings };
}

async function examineStream(store: Reads, tenant: TenantId, stream: StreamId, outside: OutsideContent | null, findings: Finding[], count: Count, rulesOf: RulesOf | null = null): Promise<boolean> {
  const say = (check: Finding['check'], words: string, wrong = true): void => { findings.push({ stream, check, words, wrong }); };
  const run = runOf(stream);
  let state = emptyRun(tenant, run ?? '');
  let previous = '';
  let revision = 0;
  const cited = new Map<string, ContentRef>();
  const decisions = run === undefined || rulesOf === null ? null : new DecisionExaminer(store, tenant, rulesOf, textOf(store, tenant, outside));
  const again = async (e: EventEnvelope | null): Promise<void> => { for (const words of (await decisions?.next(state, e)) ?? []) say('decision', words); };
  for (;;) {
    const page = await store.readEvents(tenant, stream, revision, PAGE_EVENTS_MAX);
    if (page.length === 0) break;
    for (const e of page) {
      count.events++;
      if (e.revision !== revision + 1) say('revision', `revision ${e.revision} follows ${revision}`);
      if (e.previous !== previous) say('chain', `revision ${e.revision} names another predecessor`);
      const { position: _p, trace: _t, digest, ...said } = e;
      if (eventDigest(said as Parameters<typeof eventDigest>[0]) !== digest) say('chain', `revision ${e.revision} (${e.type}) does not have the digest that it carries`);
      if (e.type === 'checkpoint.sealed') { count.checkpoints++; await examineCheckpoint(store, tenant, stream, state, e.data, say); }
      for (const r of contentRefsIn(e.data)) cited.set(r.commitment, r);
      await again(e as EventEnvelope);
      if (run !== undefined) state = evolve(state, e as EventEnvelope);
      previous = e.digest;
      revision = e.revision;
    }
  }
  await again(null);
  const head = await store.head(tenant, stream);
  if (head.revision !== revision || head.head !== previous) say('head', `the head says revision ${head.revision}, the log ends at ${revision}`);
  if (revision === 0) return false;
  if (run !== undefined) await examineDerived(store, tenant, stream, state, say);
  await examineContents(store, tenant, [...cited.values()], state.boundary.length === 0, outside, say, count);
  return true;
}

/** A text that a decision rests on; null when it is not to be had, which is another check's finding. */
function textOf(store: Reads, tenant: TenantId, outside: OutsideContent | null): (commitment: string) => Promise<string | null> {
  return async (c) => {
    const [found] = await store.contents(tenant, [c], { reader: READER });
    if (found === undefined || found.state !== 'complete') return null;
    const bytes = found.body ?? (outside === null ? null : await outside.get(tenant, c).catch(() => null));
    return bytes === null ? null : Buffer.from(bytes).toString('utf8');
  };
}

type Say = (check: Finding['check'], words: string, wrong?: boolean) => void;

async function examineCheckpoint(store: Reads, tenant: TenantId, stream: StreamId, before: RunState, d: EventData['checkpoint.sealed'], say: Say): Promise<void> {
  const row = await store.checkpointAt(tenant, stream, d.cut);
  if (row === null) return say('checkpoint', `checkpoint ${d.checkpoint} of cut ${d.cut} has an event and no manifest`);
  if (row.checkpoint !== d.checkpoint || sha256(row.manifest) !== d.manifest) return say('checkpoint', `the manifest of checkpoint ${d.checkpoint} is not the one that was sealed`);
  const given = JSON.parse(row.manifest) as Manifest;
  const wrong = differences(given, cutOf(before, canonical, sha256).manifest);
  if (wrong.length > 0) say('checkpoint', `checkpoint ${d.checkpoint} differs from the log at its cut in: ${wrong.join(', ')}`);
  const bodies = await store.sectionBodies(tenant, stream, d.cut);
  for (const [name, digest] of Object.entries(given.sections)) {
    const body = bodies[digest];
    if (body === undefined) say('section', `section ${name} of checkpoint ${d.checkpoint} is missing`);
    else if (sha256(body) !== digest) say('section', `section ${name} of checkpoint ${d.checkpoint} is altered`);
  }
}

async function examineDerived(store: Reads, tenant: TenantId, stream: StreamId, s: RunState, say: Say): Promise<void> {
  const kept = (await store.openEffects(tenant, 'all')).filter((o) => o.stream === stream).map((o) => `${o.effect} ${o.stage} ${canonical(o.scope)}`).sort();
  const folded = Object.values(s.effects).filter(isUnresolved).map((e) => `${e.effect} ${e.stage} ${canonical(e.scope)}`).sort();
  if (kept.join() !== folded.join()) say('open-effects', `the store lists ${kept.length} unresolved effects, the log says ${folded.length}: ${[...kept, ...folded].join('; ')}`);
  const rows = (await store.needsOf(tenant, stream)).map((n) => `${n.service} ${n.reason}`).sort();
  const due = needsOf(s).map((n) => `${n.service} ${n.reason}`).sort();
  if (rows.join() !== due.join()) say('needs', `the store keeps other needs than the log gives: kept ${rows.join(', ') || 'none'}; folded ${due.join(', ') || 'none'}`);
  if (s.boundary.length > 0) say('boundary', `unsealed: ${s.boundary.join(', ')}`, false);
  for (const e of unresolvedOf(s)) say('unresolved', `effect ${e.effect} (${e.tool}) is ${e.stage}${e.needsPerson === null ? '' : `: ${e.needsPerson}`}`, false);
}

async function examineContents(store: Reads, tenant: TenantId, refs: readonly ContentRef[], settled: boolean, outside: OutsideContent | null, say: Say, count: Count): Promise<void> {
  const readable = refs.filter((r) => r.class !== 'continuation');
  for (let at = 0; at < readable.length; at += 8) {
    const part = readable.slice(at, at + 8);
    const found = new Map((await store.contents(tenant, part.map((r) => r.commitment), { reader: READER })).map((c) => [c.ref.commitment, c]));
    for (const r of part) {
      count.contents++;
      const c = found.get(r.commitment);
      if (c === undefined) say('content', `${r.class} ${r.commitment} is cited and not in the index`);
      else if (c.state === 'erased') {
        const held = settled && outside !== null && await outside.get(tenant, r.commitment).then(() => true, () => false);
        say('content', held ? `${r.class} ${r.commitment} was erased, and its bytes are still held outside` : `${r.class} ${r.commitment} was erased`, held);
      }
      else if (c.state === 'pending') say('content', `${r.class} ${r.commitment} is cited and not complete`);
      else if (c.body !== null && c.salt !== null) { if (commitment(c.salt, c.body) !== r.commitment) say('content', `${r.class} ${r.commitment} is altered`); }
      else if (outside !== null) await outside.get(tenant, r.commitment).catch((e: unknown) => say('content', `${r.class} ${r.commitment}: ${e instanceof Error ? e.message : String(e)}`));
    }
  }
}
