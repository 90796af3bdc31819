/** What is read of a run: its view, its events, contents that it cites, its diff, its sources, what the gate decided. Rows: RUN-2, CON-1, SEC-1, SRC-1, POL-3. */
import type { http } from '@n17q/contracts';
import { replayOf, runStream, sourceGaps, type ContentRef, type EventEnvelope, type RunState, type Source, type TenantId } from '@n17q/domain';
import { ContentGone, type BusStore, type ServiceLog } from '@n17q/event-log';
import { ArtifactMissing } from '@n17q/artifacts';
import type { Workspaces } from '@n17q/tools';
import { Problem } from '../http/problem.js';
import { runViewOf } from '../view/run-view.js';
import { decisionOf } from './decisions.js';
import { patchOf } from './patch.js';
import type { RunIndex } from './run-index.js';

export const GOAL_CHARS_SHOWN = 8_000;
const SCAN = 512;

export class RunReader {
  constructor(private readonly log: ServiceLog, private readonly store: BusStore, private readonly workspaces: Workspaces, private readonly index: RunIndex) {}

  async view(s: RunState): Promise<http.RunView> {
    return runViewOf(s, s.task === null ? null : await this.shown(s.tenant, s.task.goal), this.log.now(), (await this.index.of(s)).chronicle);
  }

  async events(s: RunState, after: number, limit: number): Promise<{ readonly events: readonly EventEnvelope[]; readonly next: number | null }> {
    const events = await this.store.readEvents(s.tenant, runStream(s.run), after, limit);
    const last = events.at(-1)?.revision ?? after;
    return { events, next: last < s.revision && events.length > 0 ? last : null };
  }

  async content(s: RunState, commitment: string): Promise<{ readonly ref: ContentRef; readonly bytes: Uint8Array }> {
    const ref = (await this.index.of(s)).refs.get(commitment);
    if (ref === undefined) throw new Problem('NOT_FOUND', 'This run cites no such content.');
    if (ref.class === 'continuation') throw new Problem('FORBIDDEN', 'Continuations are the provider gateway\'s alone.', { class: ref.class });
    return { ref, bytes: await this.bytes(s, ref) };
  }

  /** What the run retrieved, the newest of each identity. */
  async sources(s: RunState): Promise<http.SourcesView> {
    const gaps = new Set(sourceGaps(s).map((x) => x.source));
    return { sources: await Promise.all(s.sources.map(async (x) => shownSource(x, gaps.has(x.source), await this.shown(s.tenant, x.excerpt)))), omitted: s.sourcesOmitted };
  }

  /** What was recorded of a source, and only if a person approved exactly that recording (SRC-1). */
  async recording(s: RunState, source: string): Promise<{ readonly ref: ContentRef; readonly bytes: Uint8Array }> {
    const x = s.sources.find((y) => y.source === source);
    if (x === undefined) throw new Problem('NOT_FOUND', 'This run has no source of this name, or a newer observation took its place.');
    const r = replayOf(x);
    if (r.from === 'live') throw new Problem('RECORDING_ABSENT', `Nothing was recorded of ${x.identity} (${r.why}): it must be retrieved live.`, { identity: x.identity });
    if (r.from === 'nowhere') throw new Problem(r.code, `${r.why[0]?.toUpperCase() ?? ''}${r.why.slice(1)}.`, { identity: x.identity });
    const ref = x.content as ContentRef;
    return { ref, bytes: await this.bytes(s, ref) };
  }

  /** Decisions of the gate after a revision. `next`: where to go on. */
  async decisions(s: RunState, after: number, limit: number): Promise<http.DecisionsPage> {
    const { tools } = await this.index.of(s);
    const decisions: http.ShownDecision[] = [];
    for (let at = after; at < s.revision; ) {
      const page = await this.store.readEvents(s.tenant, runStream(s.run), at, SCAN);
      if (page.length === 0) break;
      for (const e of page) {
        at = e.revision;
        const d = decisionOf(e, tools);
        if (d === undefined) continue;
        decisions.push(d);
        if (decisions.length === limit) return { decisions, next: at < s.revision ? at : null };
      }
    }
    return { decisions, next: null };
  }

  async diff(s: RunState): Promise<string> {
    if (s.workspace === null) throw new Problem('NOT_FOUND', 'This run has no workspace.');
    return patchOf(this.workspaces, s.tenant, s.workspace);
  }

  private async bytes(s: RunState, ref: ContentRef): Promise<Uint8Array> {
    const bytes = (await this.log.bytes(s.tenant, [ref])).get(ref.commitment);
    if (bytes === undefined) throw new Problem('NOT_FOUND', 'The content is not at hand.');
    return bytes;
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

function shownSource(x: Source, missing: boolean, excerpt: http.ShownText): http.ShownSource {
  const r = replayOf(x);
  return {
    source: x.source, identity: x.identity, tool: x.tool, effect: x.effect, retrievedAt: new Date(x.retrievedAt).toISOString(), required: x.required, review: x.review, reviewedBy: x.reviewedBy, gap: x.gap, missing,
    replay: { from: r.from, code: 'code' in r ? r.code : null, why: 'why' in r ? r.why : null }, content: x.content, excerpt,
  };
}
