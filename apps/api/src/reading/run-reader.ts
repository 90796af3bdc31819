/** What is read of a run: its view, its events, contents that it cites, its diff. Rows: RUN-2, CON-1, SEC-1. */
import { LRUCache } from 'lru-cache';
import type { http } from '@n17q/contracts';
import { contentRefsIn, runStream, type ContentRef, type EventEnvelope, type RunId, type RunState, type TenantId } from '@n17q/domain';
import { ContentGone, type BusStore, type ServiceLog } from '@n17q/event-log';
import { ArtifactMissing } from '@n17q/artifacts';
import type { Workspaces } from '@n17q/tools';
import { Problem } from '../http/problem.js';
import { runViewOf } from '../view/run-view.js';
import { patchOf } from './patch.js';

export const GOAL_CHARS_SHOWN = 8_000;
const SCAN = 512;

interface Cited { readonly upTo: number; readonly refs: ReadonlyMap<string, ContentRef> }

export class RunReader {
  readonly #cited = new LRUCache<string, Cited>({ max: 100 });
  constructor(private readonly log: ServiceLog, private readonly store: BusStore, private readonly workspaces: Workspaces) {}

  async view(s: RunState): Promise<http.RunView> {
    return runViewOf(s, s.task === null ? null : await this.shown(s.tenant, s.task.goal), this.log.now());
  }

  async events(s: RunState, after: number, limit: number): Promise<{ readonly events: readonly EventEnvelope[]; readonly next: number | null }> {
    const events = await this.store.readEvents(s.tenant, runStream(s.run), after, limit);
    const last = events.at(-1)?.revision ?? after;
    return { events, next: last < s.revision && events.length > 0 ? last : null };
  }

  async content(s: RunState, commitment: string): Promise<{ readonly ref: ContentRef; readonly bytes: Uint8Array }> {
    const ref = (await this.cited(s)).get(commitment);
    if (ref === undefined) throw new Problem('NOT_FOUND', 'This run cites no such content.');
    if (ref.class === 'continuation') throw new Problem('FORBIDDEN', 'Continuations are the provider gateway\'s alone.', { class: ref.class });
    const bytes = (await this.log.bytes(s.tenant, [ref])).get(commitment);
    if (bytes === undefined) throw new Problem('NOT_FOUND', 'The content is not at hand.');
    return { ref, bytes };
  }

  async diff(s: RunState): Promise<string> {
    if (s.workspace === null) throw new Problem('NOT_FOUND', 'This run has no workspace.');
    return patchOf(this.workspaces, s.tenant, s.workspace);
  }

  /** Every reference that the run's events make, up to its head. */
  private async cited(s: RunState): Promise<ReadonlyMap<string, ContentRef>> {
    const key = `${s.tenant} ${s.run}`;
    const known = this.#cited.get(key);
    const refs = new Map(known?.refs ?? []);
    let upTo = known?.upTo ?? 0;
    while (upTo < s.revision) {
      const page = await this.store.readEvents(s.tenant, runStream(s.run as RunId), upTo, SCAN);
      if (page.length === 0) break;
      for (const e of page) for (const r of contentRefsIn(e.data)) refs.set(r.commitment, r);
      upTo = page.at(-1)?.revision ?? upTo;
    }
    this.#cited.set(key, { upTo, refs });
    return refs;
  }

  private async shown(tenant: TenantId, ref: ContentRef): Promise<http.ShownText> {
    try {
      const text = (await this.log.texts(tenant, [ref])).get(ref.commitment) ?? '';
      return { text: text.slice(0, GOAL_CHARS_SHOWN).toWellFormed(), cut: text.length > GOAL_CHARS_SHOWN, gone: null, ref };
    } catch (e) {
      if (e instanceof ContentGone || e instanceof ArtifactMissing) return { text: null, cut: false, gone: e.message, ref };
      throw e;
    }
  }
}
