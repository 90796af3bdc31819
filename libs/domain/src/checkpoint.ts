/**
 * A checkpoint is a cut, not a copy: a small manifest of section digests at one revision. A section that did not change has the digest that it had
 * before and is stored once. The same function makes the sections for the sealer and for the store's guard, so a manifest that leaves something out cannot be sealed.
 *
 * C1. Every unresolved effect of the state is in the `effects` section.
 * C2. Section digests are over canonical JSON of what the fold says, nothing else.
 *
 * Rows: SEAL-1, SEAL-2, SEAL-5, SEAL-7, SEAL-8, SEAL-9.
 */
import { left, reserved } from './budget.js';
import type { ContentRef } from './content.js';
import { contentRefsIn } from './content.js';
import { allowedRecoveries, isUnresolved, prohibited } from './effect.js';
import type { Digest } from './ids.js';
import type { Json } from './json.js';
import { sourceGaps, type RunState } from './run.js';
import { schedulesOf } from './schedule.js';

export const CHECKPOINT_VERSION = 1;
/** Older items are in the log that the cut ends, not copied into each section. */
export const EVIDENCE_RECENT = 6;

/** What a checkpoint consists of. `required`: without it a resume stops with a precise result. */
export const SECTIONS = {
  task: { required: true }, plan: { required: true }, evidence: { required: true }, constraints: { required: true }, registry: { required: true }, requests: { required: true },
  effects: { required: true }, approvals: { required: true }, world: { required: true }, artifacts: { required: true }, policy: { required: true }, budget: { required: true },
  workspace: { required: true }, schedules: { required: true }, configuration: { required: true }, protocol: { required: false },
} as const;
export type SectionName = keyof typeof SECTIONS;
export const SECTION_NAMES = Object.keys(SECTIONS) as readonly SectionName[];

export interface Manifest {
  readonly version: typeof CHECKPOINT_VERSION;
  readonly tenant: string;
  readonly run: string;
  readonly cut: number;
  /** Digest of the event at the cut: the boundary that this checkpoint describes. */
  readonly head: Digest;
  readonly sections: { readonly [S in SectionName]: Digest };
}

/** The sections as plain data. `artifacts` lists what the other sections cite. */
export function sectionsOf(s: RunState): { readonly [S in SectionName]: Json } {
  const at = s.lastAt;
  const effects = Object.values(s.effects).map((e) => ({ ...e, unresolved: isUnresolved(e), allowed: allowedRecoveries(e, at), prohibited: prohibited(e) ?? null })); // keeps C1
  const pins = [...new Map(Object.values(s.effects).map((e) => [`${e.tool}@${e.mapping.registryRevision}`, { tool: e.tool, ...e.mapping }])).values()];
  const body = {
    task: s.task === null ? null : { goal: s.task.goal, title: s.task.title, whenDone: s.task.whenDone, status: s.status, ended: s.ended },
    plan: s.plan,
    evidence: { upTo: { revision: s.revision, head: s.head }, recent: s.history.slice(-EVIDENCE_RECENT), earlier: s.historyOmitted + Math.max(0, s.history.length - EVIDENCE_RECENT), inputs: s.inputs, sources: s.sources, sourcesOmitted: s.sourcesOmitted, toRetrieveAgain: sourceGaps(s).map((x) => x.identity) },
    constraints: { constraints: s.task?.constraints ?? [], denials: s.denials, denialsOmitted: s.denialsOmitted, blocked: s.blocked, paused: s.paused },
    registry: { tools: s.task?.tools ?? [], pins },
    requests: { calls: s.calls, requests: s.requests, findings: s.findings, receipts: s.receiptsPending, raises: s.raises, migrations: s.migrations },
    effects,
    approvals: Object.values(s.approvals),
    world: { world: s.world, duplicates: s.duplicates, contradictions: s.contradictions, disproved: s.disproved },
    policy: { permits: Object.values(s.effects).flatMap((e) => (e.permit === null ? [] : [{ effect: e.effect, ...e.permit }])), generation: s.generation?.permit ?? null, authorityRevision: s.authorityRevision },
    budget: { ...s.budget, reservedTotal: reserved(s.budget), left: left(s.budget), settle: s.settle, work: s.clock.limitMs === null ? null : { limitMs: s.clock.limitMs, spentMs: s.clock.spentMs } },
    workspace: s.workspace === null ? null : { ...s.workspace, changed: s.workspaceChanges, validations: s.validations },
    schedules: schedulesOf(s),
    configuration: { route: s.route, segment: s.segment, segmentRoute: s.segmentRoute, segments: s.segments, retention: s.retention, changePolicy: s.task?.changePolicy ?? null, requester: s.requester, onBehalfOf: s.onBehalfOf, dataClass: s.dataClass },
    protocol: { lineage: s.lineage === null ? null : { ...s.lineage, items: s.lineage.items.length, last: s.lineage.items.at(-1) ?? null, retained: s.lineage.retained.length, lastRetained: s.lineage.retained.at(-1) ?? null }, lineages: s.lineages, generation: s.generation === null ? null : { generation: s.generation.generation, stage: s.generation.stage, form: s.generation.form, manifest: s.generation.manifest } },
  };
  const cited = new Map<string, ContentRef>();
  for (const r of contentRefsIn(body)) cited.set(r.commitment, r);
  return { ...body, artifacts: [...cited.values()].sort((a, b) => (a.commitment < b.commitment ? -1 : 1)) } as unknown as { readonly [S in SectionName]: Json };
}

export interface Cut {
  readonly manifest: Manifest;
  readonly bodies: { readonly [digest: string]: string };
  readonly cites: readonly string[];
}

/** Cuts the state as it is. `canonical` and `digest` are RFC 8785 and SHA-256, given by the rim. */
export function cutOf(s: RunState, canonical: (v: unknown) => string, digest: (text: string) => Digest): Cut {
  const sections = sectionsOf(s);
  const bodies: Record<string, string> = {};
  const listed = {} as Record<SectionName, Digest>;
  for (const name of SECTION_NAMES) {
    const text = canonical(sections[name]);
    const d = digest(text);
    bodies[d] = text;
    listed[name] = d;
  }
  return { manifest: { version: CHECKPOINT_VERSION, tenant: s.tenant, run: s.run, cut: s.revision, head: s.head, sections: listed }, bodies, cites: (sections.artifacts as unknown as ContentRef[]).map((r) => r.commitment) };
}

/** Names what differs between a manifest that was handed in and the cut that the fold gives. Empty: they are the same. */
export function differences(given: Manifest, own: Manifest): readonly string[] {
  const wrong: string[] = [];
  for (const k of ['version', 'tenant', 'run', 'cut', 'head'] as const) if (given[k] !== own[k]) wrong.push(k);
  for (const name of SECTION_NAMES) if (given.sections?.[name] !== own.sections[name]) wrong.push(`section ${name}`);
  return wrong;
}
