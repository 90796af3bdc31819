/**
 * Histories for the specs of this library: a run that is carried on by the real deciders, event by event, through the real guard. Nothing outside
 * the specs uses it.
 */
import { COMPILER_VERSION, compile, contextSubject } from './compile.js';
import { cutOf } from './checkpoint.js';
import type { ContentClass, ContentRef } from './content.js';
import type { EffectContract } from './contract.js';
import { imagined } from './draft.js';
import { asJson } from './entry.js';
import { fact, type EventData, type EventEnvelope, type Fact, type WorkspaceRef } from './events.js';
import { eligibleRoute } from './gate/generations.js';
import { judge } from './gate/judge.js';
import type { GatePorts, GateView } from './gate/judging.js';
import { judgeAppend, type Judged, type Refused } from './guard.js';
import type { Actor, Digest, ServiceName } from './ids.js';
import type { Json } from './json.js';
import type { CapabilityProfile, OutputPart, Route } from './provider.js';
import { planCalls, recordOutcome, startable, type Outcome } from './reconcile.js';
import type { Rules } from './rules.js';
import { emptyRun, type RunState } from './run.js';
import { scopeOf } from './scope.js';
import { modelOf, type PolicyDocument, type ProfilesDocument, type TenantState } from './tenant.js';
import { holdsOf, type ToolMapping } from './tool.js';
import { whoseMove } from './turn.js';
import { plus, minus, NOTHING, type Amounts } from './budget.js';

/** Keys sorted; enough of RFC 8785 for plain values. */
export function plain(v: unknown): string {
  if (Array.isArray(v)) return `[${v.map(plain).join(',')}]`;
  if (v !== null && typeof v === 'object') return `{${Object.entries(v).filter(([, x]) => x !== undefined).sort(([a], [b]) => (a < b ? -1 : 1)).map(([k, x]) => `${JSON.stringify(k)}:${plain(x)}`).join(',')}}`;
  return JSON.stringify(v);
}
/** Not cryptographic: specs need only that other texts get other digests. */
export function weakDigest(text: string): Digest {
  let a = 0x811c9dc5;
  let b = 0x9e3779b9;
  for (let i = 0; i < text.length; i++) { const c = text.charCodeAt(i); a = Math.imul(a ^ c, 0x01000193); b = Math.imul(b, 31) + c | 0; }
  const half = (a >>> 0).toString(16).padStart(8, '0') + (b >>> 0).toString(16).padStart(8, '0');
  return half.repeat(4) as Digest;
}
export const digest = (v: Json): Digest => weakDigest(plain(v));

export const PROFILE: CapabilityProfile = { contextTokens: 100_000, outputTokensMax: 1000, toolCalls: true, structuredOutput: true, nativeContinuation: false, opaqueRequired: 'current-turn', storesContent: false };
export const ROUTE: Route = { account: 'a', provider: 'p', adapter: 'x', model: 'm' };
export const OTHER_ROUTE: Route = { ...ROUTE, account: 'b' };
const account = (r: Route): ProfilesDocument['accounts'][number] => ({ account: r.account, provider: r.provider, adapter: r.adapter, endpoint: 'http://e', scope: r.account, models: [{ model: r.model, profile: PROFILE, usdMicrosPer1kInput: 1, usdMicrosPer1kOutput: 1 }] });
export const profiles = (routes: readonly Route[]): ProfilesDocument => ({ accounts: routes.map(account), preference: routes });
/** The rules of these specs, which need no language: a list as JSON. What Cedar makes of a text is its library's matter. */
export interface PlainRule { readonly id: string; readonly effect: 'forbid' | 'ask'; readonly tools: readonly string[]; readonly reason: string }
export const rulesText = (rules: readonly PlainRule[]): string => JSON.stringify(rules);
export const plainRules = (text: string): Rules => (q) => {
  if (text === 'broken') return { kind: 'broken', reason: 'they say nothing' };
  const name = q.resource.kind === 'tool' ? q.resource.name : q.resource.model;
  const against = (JSON.parse(text) as PlainRule[]).filter((r) => q.action === 'call' && (r.tools.includes('*') || r.tools.includes(name)) && !(r.effect === 'ask' && q.approved));
  return against.length === 0 ? { kind: 'allow', by: ['allow'], reasons: [] } : { kind: 'deny', by: against.map((r) => r.id), reasons: against.map((r) => `${r.reason} (rule ${r.id})`) };
};
export const POLICY: PolicyDocument = { rules: '[]', hook: null, raiseRoles: ['op'], observationAgeMsMax: 60_000, permitLifeMs: 10_000, leaseMs: 1000, attemptsMax: 3, looksMax: 12, approvalLifeMs: 60_000, slice: { usd_micros: 1000, tokens: 5000, calls: 2 }, findingRoles: ['op'], approverRoles: ['op'], fourEyes: false };
export const CONTRACTS: { readonly [tool: string]: EffectContract } = {
  read: { kind: 'read-only' }, box: { kind: 'contained' }, put: { kind: 'idempotent', precondition: 'etag' }, pay: { kind: 'keyed', keyLifeMs: 60_000 }, file: { kind: 'queryable', query: { absenceFinalAfterMs: 5000 } }, mail: { kind: 'neither' },
};
export const toolOf = (name: string): ToolMapping => ({ name, description: name, server: 's', schema: {}, schemaDigest: digest({}), mappingRevision: 1, contract: CONTRACTS[name] as EffectContract, scopeFields: ['what'], target: name, connector: { kind: 'http', config: {} }, timeoutMs: 1000, argumentBytesMax: 10_000, outputBytesMax: 1000, dataClass: 'internal', costUsdMicros: 1 });
export const OP: Actor = { kind: 'person', id: 'olga' };

export interface HistoryOptions { readonly budget?: Amounts; readonly balance?: Amounts; readonly whenDone?: 'end' | 'await-input'; readonly changePolicy?: 'allow' | 'review' | 'forbid'; readonly retention?: 'standard' | 'metadata-only'; readonly constraints?: readonly string[]; readonly tools?: readonly string[]; readonly goal?: string; readonly workspace?: WorkspaceRef | null; readonly onBehalfOf?: string; readonly wallMs?: number }
const RICH: Amounts = { usd_micros: 1_000_000, tokens: 1_000_000, calls: 100 };

export class History {
  state: RunState = emptyRun('t', 'r');
  readonly events: EventEnvelope[] = [];
  readonly texts = new Map<string, string>();
  now = 1000;
  balance: Amounts;
  tenant: { -readonly [K in keyof TenantState]: TenantState[K] };
  private n = 0;

  constructor(o: HistoryOptions = {}) {
    this.balance = o.balance ?? RICH;
    this.tenant = {
      policy: { revision: 1, document: POLICY, digest: 'p' }, registry: { revision: 1, document: { tools: Object.keys(CONTRACTS).map(toolOf) }, digest: 'r' },
      profiles: { revision: 1, document: profiles([ROUTE, OTHER_ROUTE]), digest: 'f' }, roles: { revision: 1, document: { people: [{ person: 'olga', roles: ['op'] }], delegations: [] }, digest: 'o' },
    };
    const goal = this.content(o.goal ?? 'the goal', 'input');
    this.must('api', [
      fact('run.created', { goal, title: 't', retention: o.retention ?? 'standard', world: { kind: 'real' }, budget: o.budget ?? RICH, constraints: o.constraints ?? ['be careful'], tools: o.tools ?? [], workspace: o.workspace ?? null, whenDone: o.whenDone ?? 'end', changePolicy: o.changePolicy ?? 'allow', onBehalfOf: o.onBehalfOf ?? null, wallMs: o.wallMs ?? null }),
      fact('input.received', { text: goal }),
    ], OP);
  }
  id(kind: string): string { return `${kind}-${(this.n += 1)}`; }
  content(text: string, cls: ContentClass): ContentRef {
    const ref = { commitment: `c1.${weakDigest(`${this.n} ${text}`)}`, bytes: new TextEncoder().encode(text).length, class: cls, media: 'text/plain' };
    this.texts.set(ref.commitment, text);
    return ref;
  }
  envelopes(facts: readonly Fact[], writer: ServiceName, actor: Actor): EventEnvelope[] {
    let { revision, head } = this.state;
    return facts.map((f) => {
      const e: EventEnvelope = { ...imagined(this.state, f, writer, actor, this.now), revision: (revision += 1), previous: head, digest: weakDigest(`${head} ${plain(f)}`), appendId: `append-${this.state.revision}` };
      head = e.digest;
      return e;
    });
  }
  /** The guard's word on an append; what it takes in becomes the state. */
  append(writer: ServiceName, facts: readonly Fact[], actor: Actor = { kind: 'service', id: writer }): Judged | Refused {
    const events = this.envelopes(facts, writer, actor);
    const seal = facts.some((f) => f.type === 'checkpoint.sealed') ? cutOf(this.state, plain, weakDigest).manifest : null;
    const j = judgeAppend(this.state, writer, events, { manifest: seal, canonical: plain, digest: weakDigest });
    if (j.kind === 'refused') return j;
    this.state = j.state;
    this.events.push(...events);
    if (j.debit !== null) this.balance = minus(this.balance, j.debit);
    this.now += 10;
    return j;
  }
  must(writer: ServiceName, facts: readonly Fact[], actor?: Actor): void {
    const j = this.append(writer, facts, actor);
    if (j.kind === 'refused') throw new Error(`${j.code}: ${j.message}`);
  }
  view(open: GateView['open'] = this.open()): GateView {
    const args = new Map(Object.values(this.state.effects).map((e) => [e.args.commitment, JSON.parse(this.texts.get(e.args.commitment) ?? 'null') as Json]));
    return { state: this.state, open, tenant: { ...this.tenant }, balance: this.balance, windowEndsAt: null, suspect: false, standing: [], now: this.now, args, hooked: new Map() };
  }
  ports(): GatePorts { return { id: (kind) => this.id(kind), digest, rules: plainRules(this.tenant.policy?.document.rules ?? '[]') }; }
  open(): GateView['open'] {
    return Object.values(this.state.effects).filter((e) => e.stage === 'in-flight' || e.stage === 'unknown').map((e) => ({ effect: e.effect, tool: e.tool, scope: e.scope, kind: e.contract.kind, stage: e.stage as 'unknown', generation: e.generation, run: 'r' }));
  }

  seal(): boolean {
    const s = this.state;
    if (s.boundary.length === 0) return false;
    const { manifest } = cutOf(s, plain, weakDigest);
    this.must('checkpoint-sealer', [fact('checkpoint.sealed', { checkpoint: this.id('cp'), version: 1, cut: s.revision, boundaries: s.boundary, manifest: weakDigest(plain(manifest)), previous: s.checkpoint?.checkpoint ?? null })]);
    return true;
  }
  judgement(open?: GateView['open']): readonly Fact[] { return judge(this.view(open), this.ports()); }
  gate(open?: GateView['open']): boolean {
    const facts = this.judgement(open);
    if (facts.length > 0) this.must('policy-gate', facts);
    return facts.length > 0;
  }
  route(): Route | null { const on = this.state.route; return on !== null && modelOf(this.tenant.profiles?.document, on) !== undefined ? on : eligibleRoute(this.tenant); }
  compiled(route: Route, profile: CapabilityProfile = PROFILE): ReturnType<typeof compile> {
    return compile({ state: this.state, route, profile, registry: { revision: this.tenant.registry?.revision ?? 0, tools: this.tenant.registry?.document.tools ?? [] }, texts: this.texts });
  }
  compile(): boolean {
    const s = this.state;
    const route = this.route();
    if (whoseMove(s) !== 'compile' || s.boundary.length > 0 || route === null || (s.failures.retryAt ?? 0) > this.now) return false;
    const c = this.compiled(route);
    if (c.kind === 'blocked') { this.must('context-compiler', [fact('context.blocked', { route, code: c.code, reason: c.reason, facts: c.facts })]); return true; }
    const opens = c.opensLineage || s.lineage === null;
    const entry = c.replays ?? this.content(plain(asJson(c.entry)), 'context');
    const said = {
      form: c.form, route, lineage: opens ? this.id('lineage') : (s.lineage?.lineage ?? ''), opensLineage: c.opensLineage,
      system: opens ? this.content(c.system, 'context') : (s.lineage?.system as ContentRef), tools: opens ? this.content(JSON.stringify(c.tools), 'context') : (s.lineage?.tools as ContentRef), entry,
      continuations: c.continuations.map((k) => (k.results === '' ? { ...k, results: entry.commitment } : k)),
    };
    this.must('context-compiler', [fact('context.compiled', { generation: this.id('gen'), ...said, because: c.because, manifest: this.content(plain(c.manifest), 'manifest'), subject: digest(contextSubject(s, said)), checkpoint: s.checkpoint === null ? null : { checkpoint: s.checkpoint.checkpoint, cut: s.checkpoint.cut }, tokensMax: c.tokensMax, compiler: COMPILER_VERSION })]);
    return true;
  }
  generate(): boolean {
    const s = this.state;
    const g = s.generation;
    if (g?.stage !== 'permitted' || s.boundary.length > 0 || g.permit === null || g.permit.seenRevision < s.authorityRevision) return false;
    const segment = s.segment === 0 || s.segmentRoute?.account !== g.route.account ? [fact('segment.started', { segment: s.segment + 1, from: s.segmentRoute, to: g.route, reason: 'r', checkpoint: s.checkpoint?.checkpoint ?? null, manifest: g.manifest })] : [];
    this.must('provider-gateway', [...segment, fact('generation.started', { generation: g.generation, attempt: this.id('try'), owner: 'o', permit: g.permit.permit, form: g.form, wire: weakDigest('w'), wirePrefix: { bytes: 1, digest: weakDigest('p') }, leaseMs: 1000 })]);
    return true;
  }
  /** The model's answer: these calls, or its last word. The first call carries an opaque piece. */
  answer(calls: readonly { readonly tool: string; readonly args: Json }[], finish: EventData['generation.accepted']['finish'] = 'stop', spent: Amounts = { usd_micros: 1, tokens: 15, calls: 0 }): boolean {
    const s = this.state;
    const g = s.generation;
    if (g?.stage !== 'started' || g.attempt === null) return false;
    if (s.status === 'ended') {
      this.must('provider-gateway', [fact('generation.refused', { generation: g.generation, attempt: g.attempt, class: 'never-retry-as-is', code: 'RUN_ENDED', reason: 'r', facts: {}, retryAfterMs: null, usage: { native: {} }, spent })]);
      return true;
    }
    const asked = calls.map((c) => ({ call: this.id('call'), tool: c.tool, args: this.content(plain(c.args), 'tool-arguments'), value: c.args }));
    const parts: OutputPart[] = asked.length === 0 ? [{ kind: 'text', text: 'done' }] : asked.map((a) => ({ kind: 'call', callId: a.call, tool: a.tool, args: a.value }));
    const handle = this.id('con');
    const exact = weakDigest(handle);
    const own = asked.length === 0 ? [] : [{ handle, partIndex: 0, placement: 'side' as const, sealed: this.content(`sealed ${handle}`, 'continuation'), exact }];
    const kept = s.retention === 'metadata-only' ? [] : own;
    this.must('provider-gateway', [
      ...kept.map(() => fact('continuation.retained', { handle, generation: g.generation, turn: s.lineage?.turn ?? 0, adapter: g.route.adapter, endpoint: 'http://e', account: g.route.account, accountScope: g.route.account, modelServed: g.route.model, lineage: g.lineage, bytes: 10, exact })),
      fact('generation.accepted', { generation: g.generation, attempt: g.attempt, output: this.content(plain({ parts }), 'model-output'), finish, calls: asked.map(({ call, tool, args }) => ({ call, tool, args })), continuations: kept, recoverable: own.length > kept.length ? 'unavailable' : 'exact', why: '', usage: { native: {}, inputTokens: 10, outputTokens: 5 }, spent }),
    ]);
    return true;
  }
  noAnswer(how: 'unknown' | 'not-sent' | 'refused'): boolean {
    const g = this.state.generation;
    if (g?.stage !== 'started' || g.attempt === null) return false;
    const ids = { generation: g.generation, attempt: g.attempt };
    this.must('provider-gateway', [how === 'unknown' ? fact('generation.outcome-unknown', { ...ids, cause: 'CUT' }) : how === 'not-sent' ? fact('generation.not-sent', { ...ids, cause: 'REFUSED' })
      : fact('generation.refused', { ...ids, class: 'never-retry-as-is', code: 'BAD', reason: 'r', facts: {}, retryAfterMs: null, usage: null, spent: NOTHING })]);
    return true;
  }
  intend(): boolean {
    const s = this.state;
    const registry = this.tenant.registry;
    if (whoseMove(s) !== 'intend' || s.boundary.length > 0 || registry === null) return false;
    const planned = planCalls(s, { revision: registry.revision, tools: registry.document.tools }, (c) => (c.args === null ? undefined : (JSON.parse(this.texts.get(c.args.commitment) ?? 'null') as Json)), (_t, value) => ({ ok: true, value }));
    this.must('effect-reconciler', planned.map((p) => {
      if (p.kind === 'refused') return fact('call.refused', { call: p.call.call, generation: p.call.generation, tool: p.call.tool, code: p.code, reason: p.reason, facts: {} });
      const args = this.content(plain(p.args), 'tool-arguments');
      const mapping = { registryRevision: registry.revision, mappingRevision: 1, server: 's', schemaDigest: p.tool.schemaDigest };
      return fact('effect.intended', { effect: this.id('eff'), call: p.call.call, generation: p.call.generation, tool: p.tool.name, mapping, contract: p.tool.contract, scope: scopeOf(p.tool, p.args, digest), args, subject: digest({ tool: p.tool.name, args: args.commitment }), key: this.id('key'), world: s.world, amounts: { usd_micros: 1, tokens: 0, calls: 1 }, dataClass: p.tool.dataClass, ...(holdsOf(p.tool) === undefined ? {} : { holds: 'workspace' as const }), ...(p.tool.connector.kind === 'command' ? { command: true as const } : {}) });
    }));
    return true;
  }
  start(): boolean {
    const e = startable(this.state, this.now)[0];
    if (e === undefined || e.permit === null) return false;
    this.must('effect-reconciler', [fact('effect.attempt-started', { effect: e.effect, attempt: this.id('att'), attemptNumber: e.attempts.length + 1, owner: 'o', permit: e.permit.permit, leaseMs: 1000, dispatchBy: this.now + 500 })]);
    return true;
  }
  end(how: 'observed' | 'failed' | 'refused' | 'not-sent' | 'unknown'): boolean {
    const e = Object.values(this.state.effects).find((x) => x.stage === 'in-flight');
    const a = e?.attempts.at(-1);
    if (e === undefined || a === undefined) return false;
    const text = this.content('a result', 'tool-result');
    const o: Outcome = how === 'observed' || how === 'failed' ? { kind: 'observed', ok: how === 'observed', text, receipt: null } : how === 'refused' ? { kind: 'refused', cause: 'NO', text } : { kind: how, cause: 'CUT' };
    this.must('effect-reconciler', recordOutcome(this.state, e.effect, a.attempt, o, this.now));
    return true;
  }
  /** Everything but the world and the model until nothing moves: seal, judge, compile, intend. */
  carryOn(): void { for (let i = 0; i < 40 && (this.seal() || this.gate() || this.compile() || this.intend()); i++); }
  /** Up to an accepted output with these calls, and their permits. */
  turn(calls: readonly { readonly tool: string; readonly args: Json }[]): void {
    this.carryOn(); this.generate(); this.seal(); this.answer(calls); this.carryOn();
  }
  grant(amounts: Amounts): void { this.balance = plus(this.balance, amounts); }
  change(topic: 'policy' | 'registry' | 'profiles' | 'roles', document: unknown): void {
    const t = this.tenant as { [k: string]: unknown };
    t[topic] = { revision: ((t[topic] as { revision: number } | null)?.revision ?? 0) + 1, document, digest: this.id('doc') };
  }
}
