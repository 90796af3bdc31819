/**
 * The gate's newest decisions of a tenant, each with what it rested on: the run before it, the documents at the revisions that it names, the arguments.
 * Reads the log only, within bounds; what cannot be had any more is counted, not guessed.
 *
 * Rows: POL-3.
 */
import { ArtifactErased, ArtifactMissing } from '@n17q/artifacts';
import { emptyRun, evolve, revisionsOf, runStream, tenantStream, type Decided, type EventEnvelope, type Json, type TenantId, type TenantState } from '@n17q/domain';
import { ContentGone, type BusStore, type ServiceLog } from '@n17q/event-log';
import type { RunList } from '../read-model/run-list.js';

export const DECISIONS_MAX = 200;
const RUNS_MAX = 100;
/** Over all runs: a run is folded from its first event. */
const EVENTS_MAX = 50_000;
const PAGE = 512;

/** What of a decision is compared: what is permitted, refused or asked. */
const COMPARED = new Set(['effect.permitted', 'effect.denied', 'approval.requested', 'generation.permitted', 'generation.denied']);
export const isCompared = (e: { readonly type: string }): boolean => COMPARED.has(e.type);

export interface Recorded { readonly run: string; readonly decided: Decided; readonly tenant: TenantState; readonly args: ReadonlyMap<string, Json> }
export interface Newest { readonly decisions: readonly Recorded[]; readonly runs: number; readonly skipped: number; readonly complete: boolean }

type Found = { readonly run: string; readonly decided: Decided };
const countOf = (d: Decided): number => d.events.filter(isCompared).length;

export class RecordedDecisions {
  constructor(private readonly list: RunList, private readonly store: BusStore, private readonly log: ServiceLog) {}

  async newest(tenant: TenantId): Promise<Newest> {
    const found: Found[] = [];
    let [room, events, runs] = [DECISIONS_MAX, EVENTS_MAX, 0];
    const page = await this.list.page(tenant, undefined, RUNS_MAX);
    let complete = page.next === null;
    for (const { run } of page.runs) {
      const read = room > 0 ? await this.ofRun(tenant, run, events) : null;
      if (read === null) { complete = false; break; }
      runs += 1;
      events -= read.events;
      const kept = lastOf(read.decisions, room);
      complete &&= kept.length === read.decisions.length;
      room -= kept.reduce((n, d) => n + countOf(d), 0);
      found.push(...kept.map((decided) => ({ run, decided })));
    }
    const decisions: Recorded[] = [];
    let skipped = 0;
    const documents = new Map<string, EventEnvelope | null>();
    for (const f of found) {
      const whole = await this.whole(tenant, f, documents);
      if (whole === null) skipped += countOf(f.decided);
      else decisions.push(whole);
    }
    return { decisions, runs, skipped, complete };
  }

  /** Null: reading it would go beyond the bound. */
  private async ofRun(tenant: TenantId, run: string, eventsMax: number): Promise<{ readonly decisions: readonly Decided[]; readonly events: number } | null> {
    const decisions: Decided[] = [];
    let state = emptyRun(tenant, run);
    let open: { readonly before: Decided['before']; readonly events: EventEnvelope[] } | null = null;
    let events = 0;
    for (let after = 0; ; ) {
      const page: readonly EventEnvelope[] = await this.store.readEvents(tenant, runStream(run), after, PAGE);
      events += page.length;
      if (events > eventsMax) return null;
      for (const e of page) {
        if (open !== null && e.appendId !== open.events[0]?.appendId) open = null;
        if (e.writer === 'policy-gate') {
          if (open === null) { open = { before: state, events: [] }; decisions.push(open); }
          open.events.push(e);
        }
        state = evolve(state, e);
      }
      const last = page.at(-1);
      if (last === undefined) return { decisions: decisions.filter((d) => countOf(d) > 0 && (revisionsOf(d)?.policy ?? 0) > 0), events };
      after = last.revision;
    }
  }

  private async whole(tenant: TenantId, f: Found, documents: Map<string, EventEnvelope | null>): Promise<Recorded | null> {
    const at = revisionsOf(f.decided);
    const { before } = f.decided;
    if (at === null || before.contentErased) return null;
    const args = new Map<string, Json>();
    try {
      const refs = Object.values(before.effects).filter((e) => !e.erased).map((e) => e.args);
      for (const [commitment, text] of await this.log.texts(tenant, refs)) args.set(commitment, JSON.parse(text) as Json);
    } catch (e) {
      if (e instanceof ContentGone || e instanceof ArtifactMissing || e instanceof ArtifactErased) return null;
      throw e;
    }
    const doc = <T>(topic: 'policy' | 'registry' | 'profiles' | 'roles'): Promise<{ readonly revision: number; readonly document: T; readonly digest: string } | null> => this.document<T>(tenant, topic, at[topic], documents);
    return { ...f, args, tenant: { policy: await doc('policy'), registry: await doc('registry'), profiles: await doc('profiles'), roles: await doc('roles') } };
  }

  private async document<T>(tenant: TenantId, topic: 'policy' | 'registry' | 'profiles' | 'roles', revision: number, known: Map<string, EventEnvelope | null>): Promise<{ readonly revision: number; readonly document: T; readonly digest: string } | null> {
    if (revision === 0) return null;
    const key = `${topic} ${revision}`;
    let e = known.get(key);
    if (e === undefined) known.set(key, (e = (await this.store.readEvents(tenant, tenantStream(topic), revision - 1, 1))[0] ?? null));
    return e === null ? null : { revision, document: e.data as T, digest: e.digest };
  }
}

/** The last decisions, of at most so many answers together; at least one. */
function lastOf(all: readonly Decided[], room: number): readonly Decided[] {
  let from = all.length;
  for (let left = room; from > 0 && left > 0; ) { from -= 1; left -= countOf(all[from] as Decided); }
  return all.slice(from);
}
