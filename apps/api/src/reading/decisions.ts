/**
 * One event as a decision of the gate: what it was about, its code and words, the rules that decided, what it met, and the revisions that it names.
 *
 * Rows: POL-3.
 */
import type { http } from '@n17q/contracts';
import type { EventEnvelope, EventType, Grounds, TenantRevisions } from '@n17q/domain';

type Kind = http.ShownDecision['about']['kind'];
/** What each is about, and which of its fields names it. What is not here is no decision. */
const ABOUT: { readonly [T in EventType]?: readonly [Kind, string] } = {
  'generation.permitted': ['model-call', 'generation'], 'generation.denied': ['model-call', 'generation'],
  'effect.permitted': ['effect', 'effect'], 'effect.denied': ['effect', 'effect'], 'effect.withdrawn': ['effect', 'effect'], 'effect.recovery-denied': ['effect', 'effect'], 'look.permitted': ['effect', 'effect'],
  'approval.requested': ['approval', 'approval'], 'finding.accepted': ['finding', 'finding'], 'finding.refused': ['finding', 'finding'], 'effect.migrated': ['migration', 'migration'], 'effect.migration-refused': ['migration', 'migration'],
  'budget.raised': ['raise', 'raise'], 'budget.raise-refused': ['raise', 'raise'], 'route.decided': ['run', ''], 'run.paused': ['run', ''], 'run.resumed': ['run', ''], 'run.ended': ['run', ''],
};

type Told = Partial<{ readonly code: string; readonly reason: string; readonly reasons: readonly string[]; readonly effect: string; readonly by: { readonly kind: 'person' | 'service' | 'tool'; readonly id: string }; readonly grounds: Grounds; readonly tenant: TenantRevisions; readonly seenRevision: number }>;
const iso = (ms: number): string => new Date(ms).toISOString();

/** `tools`: of every effect of the run. Undefined: no decision of the gate. */
export function decisionOf(e: EventEnvelope, tools: ReadonlyMap<string, string>): http.ShownDecision | undefined {
  const [kind, field] = ABOUT[e.type] ?? [];
  if (kind === undefined || field === undefined) return undefined;
  const d = e.data as Told;
  const id = (e.data as unknown as { readonly [k: string]: unknown })[field];
  return {
    revision: e.revision, at: iso(e.recordedAt), decision: e.type, about: { kind, id: typeof id === 'string' ? id : '', tool: d.effect === undefined ? null : (tools.get(d.effect) ?? null) },
    code: d.code ?? null, words: d.reason !== undefined ? [d.reason] : [...(d.reasons ?? [])], rules: [...(d.grounds?.by ?? [])], hook: d.grounds?.hook ?? null,
    met: (d.grounds?.met ?? []).map(({ effect, tool, run, stage }) => ({ effect, tool, run, stage })),
    rests: d.tenant === undefined ? null : { run: d.grounds?.revision ?? d.seenRevision ?? null, ...d.tenant, judgedAt: d.grounds === undefined ? null : iso(d.grounds.at) }, by: d.by ?? null,
    raise: e.type === 'budget.raised' ? { amounts: e.data.amounts, wallMs: e.data.wallMs } : null,
  };
}
