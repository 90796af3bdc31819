/**
 * What the HTTP API shows. A run's view is made from its folded state for people: texts where a person needs them, references elsewhere, times in
 * ISO 8601. Continuation bytes are in none of it (CON-1).
 *
 * Rows: RUN-2, BUD-1, EFF-1.
 */
import { CONTENT_CLASSES, CONTRACT_KINDS, STAGES } from '@n17q/domain';
import { z } from 'zod';
import { amounts, contentRef, route } from './event-schemas.js';

const o = z.object;
const count = z.int();
const time = z.iso.datetime();
const nullable = <T extends z.ZodType>(t: T) => t.nullable();

/** `revision`: where the request stands in the run's stream. */
export const accepted = o({ run: z.string(), revision: count });
export const published = o({ topic: z.string(), revision: count });

export const shownText = o({ text: nullable(z.string()), cut: z.boolean().describe('The text is longer; the reference leads to all of it.'), gone: nullable(z.string()).describe('Why there is no text.'), ref: contentRef });
const because = { code: z.string(), reason: z.string() };
const person = o({ kind: z.enum(['person', 'service', 'tool']), id: z.string() });

export const shownEffect = o({
  effect: z.string(), tool: z.string(), stage: z.enum(STAGES), unresolved: z.boolean(), segment: count, subject: z.string(),
  contract: o({ kind: z.enum(CONTRACT_KINDS), keyLifeMs: count.optional(), precondition: z.string().optional(), query: o({ absenceFinalAfterMs: nullable(count) }).optional() }),
  scope: o({ target: z.string(), /** Names of the arguments that say what is touched. */ fields: z.array(z.string()) }), args: contentRef,
  attempts: z.array(o({ attempt: z.string(), startedAt: time, leaseMs: count, end: z.enum(['open', 'observed', 'refused', 'not-sent', 'unknown']), endedAt: nullable(time), cause: nullable(z.string()).describe('Why it was refused, not sent, or is unknown.') })),
  receipts: z.array(contentRef), looks: count, duplicated: count, migratedTo: nullable(z.string()).describe('The tool as which it is looked at now.'), evidenceErased: z.boolean(),
  allowed: z.array(z.string()).describe('What the system may still do by itself.'), prohibited: nullable(z.string()), needsPerson: nullable(z.string()), result: nullable(o({ ok: z.boolean(), words: z.string(), text: nullable(contentRef) })),
});
export const shownSource = o({
  source: z.string(), identity: z.string(), tool: z.string(), effect: z.string(), retrievedAt: time, required: z.boolean(), review: z.enum(['unreviewed', 'approved', 'rejected']), reviewedBy: nullable(person),
  gap: nullable(z.string()).describe('Why it could not be kept.'), missing: z.boolean().describe('Required and not to be had: nothing consequential begins before it was retrieved again.'),
  replay: o({ from: z.enum(['recording', 'live', 'nowhere']), code: nullable(z.string()), why: nullable(z.string()) }), content: nullable(contentRef), excerpt: shownText,
});
export const sourcesView = o({ sources: z.array(shownSource), omitted: count.describe('Older ones that have left the state; the log has them.') });

export const shownDecision = o({
  revision: count, at: time, decision: z.string().describe('The event\'s type.'), about: o({ kind: z.enum(['effect', 'model-call', 'approval', 'finding', 'migration', 'raise', 'run']), id: z.string(), tool: nullable(z.string()) }),
  code: nullable(z.string()), words: z.array(z.string()), rules: z.array(z.string()).describe('Ids of the tenant\'s rules that decided.'), hook: nullable(o({ answer: z.string(), reason: z.string() })),
  met: z.array(o({ effect: z.string(), tool: z.string(), run: z.string(), stage: z.string() })).describe('Unresolved effects on the same target.'),
  rests: nullable(o({ run: nullable(count), policy: count, registry: count, profiles: count, roles: count, judgedAt: nullable(time) })).describe('Revisions that it names.'), by: nullable(person), raise: nullable(o({ amounts, wallMs: count })).describe('By how much a budget was raised.'),
});
export const decisionsPage = o({ decisions: z.array(shownDecision), next: nullable(count).describe('Revision to go on after; null: there is no more now.') });

export const runView = o({
  run: z.string(), revision: count, title: z.string(), status: z.enum(['new', 'active', 'paused', 'ended']), goal: nullable(shownText), retention: z.string(), world: z.string(), constraints: z.array(z.string()), tools: z.array(z.string()), plan: z.array(z.string()),
  move: o({ move: z.string(), words: z.string() }),
  waits: z.array(o({ service: z.string(), reason: z.string(), dueAt: nullable(time), waitsFor: nullable(z.string()) })),
  schedule: z.array(o({ intent: z.string(), of: z.string(), owner: z.string(), at: nullable(time), clock: z.string(), reservation: nullable(z.string()), reserved: nullable(amounts), endsEarly: z.array(z.string()), bound: z.string() })).describe('What is waited for: who brings it, when by the named clock (null: no time does), what is reserved for it, what ends it early, what bounds it.'),
  requester: nullable(person), onBehalfOf: nullable(z.string()), work: o({ spentMs: count, limitMs: nullable(count), atWork: z.boolean(), endsAt: nullable(time) }).describe('Time at work, waits for people left out.'),
  lookFirst: z.array(z.string()).describe('Effects that are looked at before anything consequential begins.'),
  sources: o({ known: count, omitted: count, gaps: z.array(o({ source: z.string(), identity: z.string(), why: z.string() })) }),
  raises: z.array(o({ raise: z.string(), amounts, wallMs: count, by: person })), migrations: z.array(o({ migration: z.string(), effect: z.string(), tool: z.string(), by: person })),
  validations: z.array(o({ effect: z.string(), tool: z.string(), tree: nullable(z.string()), ofPresentTree: z.boolean(), ok: z.boolean(), text: contentRef, revision: count })), workspaceChanges: z.array(o({ effect: nullable(z.string()), tree: z.string(), summary: z.string() })),
  evidenceErased: z.boolean(), erasure: nullable(o({ reason: z.string(), by: person })),
  actions: z.array(z.string()).describe('Operations that a person can ask for now.'),
  ended: nullable(o({ how: z.string(), withUnknowns: z.boolean(), by: person, reason: z.string(), revision: count })), paused: nullable(o(because)), blocked: nullable(o({ ...because, waitsFor: z.string() })),
  failures: o({ count, max: count, retryAt: nullable(time), lastCode: nullable(z.string()) }),
  requests: z.array(o({ kind: z.string(), revision: count, by: person, reason: z.string() })),
  route: nullable(route), segment: o({ number: count, route: nullable(route) }),
  segments: z.array(o({ segment: count, route, generations: count, effects: count, denials: count, unknowns: count, inputTokens: count, outputTokens: count })),
  generation: nullable(o({ generation: z.string(), stage: z.string(), form: z.string(), route, attempt: nullable(z.string()) })),
  unresolved: z.array(shownEffect), effects: z.array(shownEffect).describe('Effects of the turn in work, the unresolved ones included.'),
  approvals: z.array(o({ approval: z.string(), effect: z.string(), subject: z.string(), stage: z.string(), by: nullable(person), expiresAt: time, tool: nullable(z.string()), target: nullable(z.string()), beside: z.array(z.string()).describe('Unresolved effects that it was asked beside; it covers no other.'), reasons: z.array(z.string()).describe('Why a person is asked.'), rules: z.array(z.string()).describe('Ids of the tenant\'s rules that ask.'), note: z.string().describe('What was said with the decision.') })),
  findings: z.array(o({ finding: z.string(), effect: z.string(), verdict: z.string(), stage: z.string(), by: person, evidence: contentRef })),
  settled: z.array(o({ effect: z.string(), tool: z.string(), as: z.enum(['happened', 'did-not-happen']), by: z.enum(['receipt', 'query', 'finding', 'late-reply']), at: time, revision: count })).describe('What was unknown and is settled, the newest.'),
  refusals: z.array(o({ revision: count, at: time, of: z.enum(['finding', 'migration', 'raise']), effect: nullable(z.string()), ...because })).describe('What people asked for and the gate refused, the newest.'),
  erased: nullable(o({ at: time, revision: count, reason: z.string(), by: person })).describe('When its contents were erased, who asked for it, and why.'),
  denials: z.array(o({ revision: count, of: z.string(), ...because })), denialsOmitted: count,
  budget: o({ granted: amounts, drawn: amounts, used: amounts, reserved: amounts, left: o({ usd_micros: count, tokens: count, calls: count }), overrun: amounts, exhausted: nullable(z.string()) }),
  checkpoint: nullable(o({ checkpoint: z.string(), cut: count, manifest: z.string() })), workspace: nullable(o({ base: z.string(), tree: contentRef })),
  counts: o({ generations: count, lineages: count, inputsWaiting: count, openCalls: count, historyOmitted: count, duplicates: count, contradictions: count }),
});
export const runRow = o({ run: z.string(), title: z.string(), status: z.string(), move: z.string().describe('Whose move it is, in few words for people.'), segment: count, model: nullable(z.string()), unresolved: count, revision: count, createdAt: time, updatedAt: time });
export const runsPage = o({ runs: z.array(runRow), next: nullable(z.string()) });

export const eventEnvelope = o({
  type: z.string(), data: z.json(), tenant: z.string(), stream: z.string(), revision: count, position: z.string(), eventId: z.string(), schemaVersion: count, writer: z.string(), actor: person, correlation: z.string(), causation: nullable(z.string()),
  segment: count, appendId: z.string(), recordedAt: count, previous: z.string(), digest: z.string(), trace: o({ traceparent: z.string(), tracestate: z.string().optional() }).optional(),
});
export const eventsPage = o({ events: z.array(eventEnvelope), next: nullable(count).describe('Revision to go on after; null: this is the head.') });
export const shownDelegation = o({ delegation: z.string(), from: z.string(), to: z.string(), tools: z.array(z.string()), until: nullable(time), stands: z.boolean() });
export const delegationsView = o({ revision: count.describe('Of the roles document.'), delegations: z.array(shownDelegation) });
export const delegated = o({ topic: z.string(), revision: count, delegation: z.string() });
export const tenantDocument = o({ topic: z.string(), revision: count, document: nullable(z.json()) });
export const documentRevision = o({ revision: count, at: time, by: person, digest: z.string() });
export const documentRevisions = o({ revisions: z.array(documentRevision), next: nullable(count).describe('Give it as `before` for what is older; null: that is all.') });
/** `revision`: of the policy that the candidate was compared with; 0: none is published. */
export const policyDiff = o({ revision: count, rules: o({ added: z.array(z.string()), removed: z.array(z.string()), changed: z.array(z.string()) }), permitsNothing: z.boolean().describe('The candidate has no rule that permits: under it nothing is done.'), fields: z.array(o({ field: z.string(), now: z.json(), would: z.json() })) });
const ruled = o({ decision: z.enum(['allowed', 'asked', 'denied']), code: nullable(z.string()), by: z.array(z.string()).describe('Ids of the rules that decided.'), reason: z.string() });
export const policyTrial = o({
  revision: count, runs: count, decisions: count.describe('Recorded decisions that were judged again.'), skipped: count.describe('Decisions that cannot be judged again: their contents are erased, or they rest on what nobody can know afterwards.'),
  complete: z.boolean().describe('False: there are older decisions that were not looked at.'),
  changes: z.array(o({ run: z.string(), revision: count, at: time, effect: nullable(z.string()), generation: nullable(z.string()), tool: nullable(z.string()), was: ruled, would: ruled })),
});
const limitView = o({ everyMs: count.describe('Length of its windows, counted from 1970 by the store\'s clock.'), amounts, left: amounts.describe('What runs may still draw in the current window.'), endsAt: count.describe('When the current window ends and the next one opens, ms since 1970.') });
export const allowanceView = o({
  balance: amounts.describe('What the account holds.'), drawable: amounts.describe('What runs may draw now: of the balance, as much as every limit still lets through.'), limits: z.array(limitView), revision: count,
});
export const health = o({ status: z.enum(['ok', 'not-ready']), checks: z.record(z.string(), z.string()).optional() });
export const contentClass = z.enum(CONTENT_CLASSES);

export type Accepted = z.infer<typeof accepted>;
export type Published = z.infer<typeof published>;
export type ShownText = z.infer<typeof shownText>;
export type ShownEffect = z.infer<typeof shownEffect>;
export type RunView = z.infer<typeof runView>;
export type SourcesView = z.infer<typeof sourcesView>;
export type ShownSource = z.infer<typeof shownSource>;
export type ShownDecision = z.infer<typeof shownDecision>;
export type DecisionsPage = z.infer<typeof decisionsPage>;
export type DelegationsView = z.infer<typeof delegationsView>;
export type Delegated = z.infer<typeof delegated>;
export type RunRow = z.infer<typeof runRow>;
export type RunsPage = z.infer<typeof runsPage>;
export type TenantDocumentView = z.infer<typeof tenantDocument>;
export type DocumentRevisions = z.infer<typeof documentRevisions>;
export type PolicyDiff = z.infer<typeof policyDiff>;
export type PolicyTrial = z.infer<typeof policyTrial>;
export type AllowanceView = z.infer<typeof allowanceView>;
export type Health = z.infer<typeof health>;
