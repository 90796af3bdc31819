/**
 * What a run's events say that its state does not keep, and a person needs beside the state: why an attempt came to nothing, why a person is asked, how what
 * was unknown was settled, which requests were refused, who had it erased.
 *
 * It judges nothing and is bounded by the run's attempts, approvals and effects; of refusals and settlements the newest stay.
 *
 * Rows: EFF-3, APP-1, POL-3, EFF-8.
 */
import type { http } from '@n17q/contracts';
import type { EventEnvelope } from '@n17q/domain';

export const SETTLED_MAX = 20;
export const REFUSALS_MAX = 20;

export interface Chronicle {
  /** By attempt. */
  readonly ends: ReadonlyMap<string, { readonly endedAt: string; readonly cause: string | null }>;
  /** By approval. */
  readonly asked: ReadonlyMap<string, { readonly reasons: readonly string[]; readonly rules: readonly string[] }>;
  readonly notes: ReadonlyMap<string, string>;
  readonly settled: http.RunView['settled'];
  readonly refusals: http.RunView['refusals'];
  readonly erased: http.RunView['erased'];
}
export const NOTHING_TOLD: Chronicle = { ends: new Map(), asked: new Map(), notes: new Map(), settled: [], refusals: [], erased: null };

const REFUSED = { 'finding.refused': 'finding', 'effect.migration-refused': 'migration', 'budget.raise-refused': 'raise' } as const;
const isRefused = (e: EventEnvelope): e is Extract<EventEnvelope, { type: keyof typeof REFUSED }> => Object.hasOwn(REFUSED, e.type);

/** The chronicle with these events behind it; `tools`: of every effect so far, these events included. */
export function told(before: Chronicle, events: readonly EventEnvelope[], tools: ReadonlyMap<string, string>): Chronicle {
  const [ends, asked, notes] = [new Map(before.ends), new Map(before.asked), new Map(before.notes)];
  let { settled, refusals, erased } = before;
  for (const e of events) {
    const at = new Date(e.recordedAt).toISOString();
    switch (e.type) {
      case 'effect.observed': ends.set(e.data.attempt, { endedAt: at, cause: null }); break;
      case 'effect.refused': case 'effect.not-sent': case 'effect.outcome-unknown': ends.set(e.data.attempt, { endedAt: at, cause: e.data.cause }); break;
      case 'approval.requested': asked.set(e.data.approval, { reasons: e.data.reasons, rules: e.data.grounds.by }); break;
      case 'approval.decided': notes.set(e.data.approval, e.data.note); break;
      case 'approval.revoked': notes.set(e.data.approval, e.data.reason); break;
      case 'effect.reconciled': settled = [...settled, { effect: e.data.effect, tool: tools.get(e.data.effect) ?? '', as: e.data.as, by: e.data.by, at, revision: e.revision }].slice(-SETTLED_MAX); break;
      case 'content.erased': erased = { at, revision: e.revision, reason: e.data.reason, by: e.data.by }; break;
      default: if (isRefused(e)) refusals = [...refusals, { revision: e.revision, at, of: REFUSED[e.type], effect: 'effect' in e.data ? e.data.effect : null, code: e.data.code, reason: e.data.reason }].slice(-REFUSALS_MAX);
    }
  }
  return { ends, asked, notes, settled, refusals, erased };
}
