/**
 * The shape of every event's data, as the store accepts it. Hand-written types stand in the domain; here each schema is checked by the compiler
 * to give exactly that type, and unknown fields are refused, so that nothing rides along.
 *
 * Rows: RUN-1, RUN-3, CON-3.
 */
import { BOUNDARIES, CONNECTOR_KINDS, CONTENT_CLASSES, CONTRACT_FIELDS, CONTRACT_KINDS, DATA_CLASSES, DIMENSIONS, SERVICES, type EventData, type EventType } from '@n17q/domain';
import { z } from 'zod';

const o = z.strictObject;
/** Characters of a tenant's rules. */
export const RULES_CHARS_MAX = 262_144;
const id = z.string().min(1).max(200);
const word = z.string().min(1).max(200);
const words = z.string().max(4000);
const count = z.int().min(0);
/** In lower case only: it is stored as its sixteen bytes. */
const uuid = z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'must be a UUID in lower case');
const ms = z.int().min(0);
const digest = z.string().regex(/^[0-9a-f]{64}$/);
const json = z.json();
export const amounts = o({ usd_micros: count, tokens: count, calls: count });
export const contentRef = o({ commitment: z.string().regex(/^c1\.[0-9a-f]{64}$/), bytes: count, class: z.enum(CONTENT_CLASSES), media: z.string().max(200) });
export const route = o({ account: word, provider: word, adapter: word, model: word });
const world = z.union([o({ kind: z.literal('real') }), o({ kind: z.literal('simulated'), name: word })]);
const tenantRevisions = o({ policy: count, registry: count, profiles: count, roles: count });
const because = { code: z.string().regex(/^[A-Z][A-Z0-9_]*$/).max(100), reason: words, facts: json };
const scopeText = word.refine((text) => !text.includes('\u0000'), { error: 'must not hold NUL' });
/** Part of a scope, which the store keeps as jsonb: that holds no NUL. */
const scope = o({ target: scopeText, fields: z.record(scopeText, digest) });
const hook = o({ answer: z.enum(['allow', 'ask', 'deny']), reason: words });
const met = o({ effect: id, tool: word, kind: z.enum(CONTRACT_KINDS), stage: z.enum(['in-flight', 'unknown']), generation: id, run: id });
const grounds = o({ revision: count, at: ms, by: z.array(word).max(32), met: z.array(met).max(8), hook: hook.optional() });
const permit = { permit: id, subject: digest, seenRevision: count, tenant: tenantRevisions, expiresAt: ms, world, grounds };
const denied = { ...because, tenant: tenantRevisions, grounds };
const workspace = o({ base: word, tree: contentRef });
const actor = o({ kind: z.enum(['person', 'service', 'tool']), id });
const contract = o({ kind: z.enum(CONTRACT_KINDS), keyLifeMs: z.int().min(1).optional(), precondition: word.optional(), query: o({ absenceFinalAfterMs: count.nullable() }).optional() })
  .refine((c) => CONTRACT_FIELDS[c.kind].required.every((f) => c[f] !== undefined), { error: 'a field that this kind of contract needs is missing' })
  .refine((c) => (['keyLifeMs', 'precondition', 'query'] as const).every((f) => c[f] === undefined || CONTRACT_FIELDS[c.kind].required.includes(f) || CONTRACT_FIELDS[c.kind].allowed.includes(f)), { error: 'a field that this kind of contract does not have' });
const mapping = o({ registryRevision: count, mappingRevision: count, server: word, schemaDigest: digest });
const handle = o({ handle: id, partIndex: count, placement: z.enum(['side', 'part']), sealed: contentRef, exact: digest });
const usage = o({ native: json, inputTokens: count.optional(), outputTokens: count.optional() });
const form = z.enum(['first', 'continued', 'exact-replay', 'reconstructed']);
const attempt = { effect: id, attempt: id };
const generated = { generation: id, attempt: id };
const asked = o({ reason: words });
const at = (v: unknown, name: string): unknown => (v !== null && typeof v === 'object' && Object.hasOwn(v, name) ? (v as Record<string, unknown>)[name] : undefined);
const isRequired = (schema: unknown, name: string): boolean => { const r = at(schema, 'required'); return Array.isArray(r) && r.includes(name); };
/** Whether each attempt carries the effect's key to the target. */
const carriesKey = (kind: string, config: unknown): boolean => (kind === 'http' ? typeof at(config, 'keyHeader') === 'string' : kind === 'mcp' && at(config, 'key') !== undefined);
const preconditionIn = (config: unknown): unknown => at(at(config, 'precondition'), 'argument');
const toolMapping = o({
  name: z.string().regex(/^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/), description: words, server: word, schema: json, schemaDigest: digest, mappingRevision: count, contract, scopeFields: z.array(scopeText).max(20), target: scopeText,
  connector: o({ kind: z.enum(CONNECTOR_KINDS, { error: (i) => (typeof i.input === 'string' ? `there is no connector ${i.input.slice(0, 60)} here; there are ${CONNECTOR_KINDS.join(', ')}` : `one of ${CONNECTOR_KINDS.join(', ')}`) }), config: json }), timeoutMs: z.int().min(1).max(3_600_000), argumentBytesMax: z.int().min(1).max(4_194_304), outputBytesMax: z.int().min(1).max(1_000_000), dataClass: z.enum(DATA_CLASSES), source: o({ identity: z.string().min(1).max(500), required: z.boolean() }).optional(), costUsdMicros: count,
}).refine((t) => (t.contract.query?.absenceFinalAfterMs ?? Infinity) >= t.timeoutMs, { path: ['contract', 'query', 'absenceFinalAfterMs'], error: 'absence cannot be final before the call itself has timed out: absenceFinalAfterMs must be at least timeoutMs' })
  .refine((t) => t.contract.precondition === undefined || isRequired(t.schema, t.contract.precondition), { path: ['contract', 'precondition'], error: 'the precondition of an idempotent contract is an argument that the schema requires: each attempt sends it' })
  .refine((t) => t.contract.precondition === undefined || t.connector.kind !== 'http' || preconditionIn(t.connector.config) === t.contract.precondition, { path: ['connector', 'config', 'precondition'], error: 'an idempotent tool over HTTP needs precondition {header, argument} with the argument that its contract names' })
  .refine((t) => t.contract.kind !== 'keyed' || carriesKey(t.connector.kind, t.connector.config), { path: ['connector', 'config'], error: 'a keyed tool needs a place for the key, which each attempt carries: keyHeader over HTTP, key at an MCP server' });
const profile = o({ contextTokens: z.int().min(1), outputTokensMax: z.int().min(1), toolCalls: z.boolean(), structuredOutput: z.boolean(), nativeContinuation: z.boolean(), opaqueRequired: z.enum(['current-turn', 'never']), storesContent: z.boolean() });

type Schemas = { readonly [T in EventType]: z.ZodType<EventData[T]> };

/** What the tenant's runs may draw in each window of a length; in place of all limits before. */
export const allowanceLimits = o({ limits: z.array(o({ everyMs: z.int().min(1000).max(366 * 86_400_000), amounts })).max(5), reason: words }).refine((l) => new Set(l.limits.map((x) => x.everyMs)).size === l.limits.length, { error: 'two limits have one length' });

export const EVENT_SCHEMAS: Schemas = {
  'run.created': o({ goal: contentRef, title: z.string().min(1).max(300), retention: z.enum(['metadata-only', 'standard', 'archival']), world, budget: amounts, constraints: z.array(words).max(50), tools: z.array(word).max(100), workspace: workspace.nullable(), whenDone: z.enum(['end', 'await-input']), changePolicy: z.enum(['allow', 'review', 'forbid']), onBehalfOf: word.nullable(), wallMs: count.nullable() }),
  'input.received': o({ text: contentRef }),
  'run.pause-requested': asked, 'run.resume-requested': asked, 'provider-response.continue-requested': asked, 'run.end-requested': asked,
  'approval.decided': o({ approval: id, subject: digest, decision: z.enum(['approved', 'rejected']), note: words }),
  'approval.revoked': o({ approval: id, reason: words }),
  'effect.finding-submitted': o({ finding: id, effect: id, verdict: z.enum(['happened', 'did-not-happen']), evidence: contentRef }),
  'effect.migration-requested': o({ migration: id, effect: id, tool: word, reason: words }),
  'budget.raise-requested': o({ raise: id, amounts, wallMs: count, reason: words }),
  'source.reviewed': o({ source: id, decision: z.enum(['approved', 'rejected']), note: words }),
  'run.erasure-requested': asked,
  'receipt.received': o({ effect: id, receipt: contentRef, from: word }),
  'note.added': o({ text: contentRef, visibility: z.enum(['run', 'people']) }),
  'plan.changed': o({ steps: z.array(words).max(100) }),

  'policy.published': o({ rules: z.string().max(RULES_CHARS_MAX), hook: o({ url: z.url().max(500), timeoutMs: z.int().min(1).max(10_000), credential: word.optional(), withArguments: z.boolean() }).nullable(), permitLifeMs: z.int().min(100), leaseMs: z.int().min(100), attemptsMax: z.int().min(1).max(100), looksMax: z.int().min(0).max(100), approvalLifeMs: z.int().min(1000), slice: amounts, findingRoles: z.array(word), approverRoles: z.array(word), raiseRoles: z.array(word), fourEyes: z.boolean(), observationAgeMsMax: count }),
  'registry.published': o({ tools: z.array(toolMapping).max(500) }).refine((r) => new Set(r.tools.map((t) => t.name)).size === r.tools.length, { error: 'two tools share one name' }),
  'profiles.published': o({ accounts: z.array(o({ account: word, provider: word, adapter: word, endpoint: z.url().max(500), scope: word, models: z.array(o({ model: word, profile, usdMicrosPer1kInput: count, usdMicrosPer1kOutput: count })).min(1) })), preference: z.array(route) }),
  'roles.published': o({ people: z.array(o({ person: word, roles: z.array(word) })).max(5000), delegations: z.array(o({ delegation: id, from: word, to: word, tools: z.array(word).min(1).max(100), until: ms.nullable() })).max(2000) }),
  'allowance.granted': o({ amounts, reason: words }),
  'allowance.limited': allowanceLimits,

  'checkpoint.sealed': o({ checkpoint: id, version: z.literal(1), cut: count, boundaries: z.array(z.enum(BOUNDARIES)), manifest: digest, previous: id.nullable() }),
  'content.erased': o({ reason: words, by: actor, unresolved: z.array(id).max(1000) }),
  'context.compiled': o({ generation: id, form, route, lineage: id, opensLineage: z.boolean(), because: words, system: contentRef, tools: contentRef, entry: contentRef, manifest: contentRef, subject: digest, continuations: z.array(o({ handle: id, results: z.string().max(80) })), checkpoint: o({ checkpoint: id, cut: count }).nullable(), tokensMax: o({ input: count, output: count }), compiler: count }),
  'context.blocked': o({ route: route.nullable(), ...because }),

  'generation.permitted': o({ generation: id, reservation: id, ...permit }),
  'generation.denied': o({ generation: id, ...denied }),
  'route.decided': o({ from: route.nullable(), to: route, reason: words, tenant: tenantRevisions }),
  'run.paused': o({ reason: words, code: word }),
  'run.resumed': o({ reason: words }),
  'run.ended': o({ how: z.enum(['completed', 'by-person', 'failed']), withUnknowns: z.boolean(), by: actor, reason: words, returned: amounts, charged: amounts.optional() }),
  'effect.permitted': o({ effect: id, attemptNumber: z.int().min(1), siblings: z.array(id), reservation: id, approval: id.nullable(), ...permit }),
  'effect.denied': o({ effect: id, ...denied }),
  'effect.withdrawn': o({ effect: id, reason: words }),
  'approval.requested': o({ approval: id, effect: id, subject: digest, reasons: z.array(words), beside: z.array(id).max(1000), expiresAt: ms, tenant: tenantRevisions, grounds }),
  'effect.recovery-denied': o({ effect: id, ...denied }),
  'look.permitted': o({ effect: id, look: z.int().min(1), ...permit }),
  'finding.accepted': o({ finding: id, effect: id, verdict: z.enum(['happened', 'did-not-happen']), by: actor }),
  'finding.refused': o({ finding: id, effect: id, ...because }),
  'effect.migrated': o({ migration: id, effect: id, tool: word, mapping, contract, by: actor }),
  'effect.migration-refused': o({ migration: id, effect: id, ...because }),
  'budget.raised': o({ raise: id, amounts, wallMs: count, by: actor }),
  'budget.raise-refused': o({ raise: id, ...because }),
  'budget.reserved': o({ reservation: id, for: z.enum(['generation', 'effect']), amounts, drawn: amounts }),
  'budget.settled': o({ reservation: id, used: amounts, charged: amounts.optional() }),
  'budget.warned': o({ dimensions: z.array(z.enum(DIMENSIONS)).min(1) }),
  'budget.exhausted': o({ dimension: z.enum(DIMENSIONS), needed: amounts, of: z.enum(['run', 'tenant']) }),

  'segment.started': o({ segment: z.int().min(1), from: route.nullable(), to: route, reason: words, checkpoint: id.nullable(), manifest: contentRef }),
  'generation.started': o({ ...generated, owner: id, permit: id, form, wire: digest, wirePrefix: o({ bytes: count, digest }), leaseMs: z.int().min(100) }),
  'generation.accepted': o({ ...generated, output: contentRef, finish: z.enum(['stop', 'length', 'filtered', 'malformed-call', 'other']), calls: z.array(o({ call: id, tool: z.string().min(1).max(200), args: contentRef.nullable() })).max(64), continuations: z.array(handle), recoverable: z.enum(['exact', 'unavailable']), why: words, usage, spent: amounts.nullable() }),
  'generation.refused': o({ ...generated, class: word, retryAfterMs: count.nullable(), usage: usage.nullable(), spent: amounts.nullable(), output: contentRef.optional(), ...because }),
  'generation.outcome-unknown': o({ ...generated, cause: words }),
  'generation.not-sent': o({ ...generated, cause: words }),
  'generation.blocked': o({ generation: id, ...because }),
  'continuation.retained': o({ handle: id, generation: id, turn: count, adapter: word, endpoint: z.string().max(500), account: word, accountScope: word, modelServed: word, lineage: id, bytes: count, exact: digest }),
  'provider.observed': o({ generation: id, adapter: word, account: word, endpoint: z.string().max(500), observation: json }),
  'provider.disagreed': o({ generation: id, adapter: word, code: word, observation: json }),

  'effect.intended': o({ effect: id, call: id, generation: id, tool: word, mapping, contract, scope, args: contentRef, subject: digest, key: id, world, amounts, dataClass: z.enum(DATA_CLASSES), holds: z.literal('workspace').optional(), command: z.literal(true).optional() }),
  'call.refused': o({ call: id, generation: id, tool: z.string().min(1).max(200), ...because }),
  'effect.attempt-started': o({ ...attempt, attemptNumber: z.int().min(1), owner: id, permit: id, leaseMs: z.int().min(100), dispatchBy: ms }),
  'effect.observed': o({ ...attempt, ok: z.boolean(), text: contentRef, receipt: contentRef.nullable() }),
  'effect.refused': o({ ...attempt, cause: words, text: contentRef }),
  'effect.not-sent': o({ ...attempt, cause: words }),
  'effect.outcome-unknown': o({ ...attempt, cause: words }),
  'effect.receipt-recorded': o({ effect: id, receipt: contentRef, from: word }),
  'effect.reconciled': o({ effect: id, as: z.enum(['happened', 'did-not-happen']), by: z.enum(['receipt', 'query', 'finding', 'late-reply']), evidence: contentRef.nullable(), text: contentRef.nullable() }),
  'effect.looked': o({ effect: id, look: z.int().min(1), answer: z.enum(['not-found', 'cannot-tell']), cause: words }),
  'effect.duplicated': o({ effect: id, count: z.int().min(2), evidence: contentRef }),
  'effect.contradicted': o({ effect: id, from: z.enum(['receipt', 'finding', 'late-reply']), evidence: contentRef }),
  'effect.needs-person': o({ effect: id, reason: words }),
  'source.observed': o({ source: id, effect: id, identity: z.string().min(1).max(2000), retrievedAt: ms, scope, content: contentRef.nullable(), excerpt: contentRef, required: z.boolean(), replay: z.enum(['recording', 'live']), gap: z.string().min(1).max(1000).nullable() }),
  'workspace.changed': o({ effect: id.nullable(), workspace, previous: z.string().nullable(), summary: words }),
  'workspace.conflicted': o({ effect: id.nullable(), found: words }),
  'dead-letter.recorded': o({ service: z.enum(SERVICES), trigger: id.nullable(), code: word, message: words, deliveries: count }),
} as Schemas;

/** It travels as a header of the event's message: one that cannot would hold up all that come after it. */
const headerText = z.string().regex(/^[\x20-\x7e]*$/, 'must be visible ASCII, without line breaks');
const wireContent = o({ ref: contentRef, salt: z.base64().max(64), body: z.base64() });
/** The envelope of an append; event data is judged by EVENT_SCHEMAS, type by type, so that a refusal can say which. */
export const appendRequest = o({
  tenant: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/), stream: z.string().regex(/^(run\/[A-Za-z0-9-]{1,64}|tenant\/(policy|registry|profiles|roles|budget))$/), expected: count, appendId: uuid, actor, correlation: z.string().max(200), causation: z.string().max(100).nullable(),
  events: z.array(o({ eventId: uuid, type: z.string().max(100), schemaVersion: z.int().optional(), data: z.unknown() })).min(1).max(64), contents: z.array(wireContent).max(64),
  checkpoint: o({ checkpoint: id, manifest: z.string().max(100_000) }).optional(),
  requires: z.array(o({ stream: z.string().max(100), revision: count })).max(10).optional(),
  trace: o({ traceparent: headerText.max(100), tracestate: headerText.max(512).optional() }).optional(),
});
