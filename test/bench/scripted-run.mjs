/**
 * A run that writes itself: the next legal append at each revision, as the services would make it, without services. What the store's guard
 * accepts here it accepts from them; nothing is prepared in a way that skips a check.
 *
 * Two scripts. `short`: events of 300 bytes, every fourth append a seal. `turns`: governed tool turns, twelve appends each, every third a seal.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { canonical, contentOf, digestOf, sha256 } from '@n17q/contracts';
import { cutOf, contextSubject, emptyRun, fact, fold, NOTHING, runStream } from '@n17q/domain';

const ROUTE = { account: 'a', provider: 'google', adapter: 'gemini', model: 'gemini-3-flash-preview' };
const GRANT = { usd_micros: 1_000_000_000, tokens: 1_000_000_000, calls: 1_000_000 };
const CONTRACT = { kind: 'keyed', keyLifeMs: 86_400_000 };
const MAPPING = { registryRevision: 1, mappingRevision: 1, server: 'ledger', schemaDigest: digestOf({ type: 'object' }) };
const FAR_MS = 3_600_000;
const text = (bytes) => randomBytes(Math.ceil((bytes * 3) / 4)).toString('base64').slice(0, bytes);

export class ScriptedRun {
  /** `revisions`: those of the tenant's streams, which permits name. */
  constructor(tenant, script, { revisions = { policy: 0, registry: 0, profiles: 0, roles: 0 }, bodyBytes = 300, draws = false } = {}) {
    this.tenant = tenant;
    this.script = script;
    this.revisions = revisions;
    this.bodyBytes = bodyBytes;
    this.draws = draws;
    this.run = randomUUID();
    this.stream = runStream(this.run);
    this.state = emptyRun(tenant, this.run);
    this.step = 0;
    this.now = Date.now();
  }

  /** The next append: who writes it, and the request. `nowMs`: about the store's time, for the life of permits. */
  next(nowMs = Date.now()) {
    this.now = nowMs;
    const d = this.state.revision === 0 ? this.created() : SCRIPTS[this.script](this);
    const s = this.state;
    this.pending = d;
    const request = {
      tenant: this.tenant, stream: this.stream, expected: s.revision, appendId: randomUUID(), actor: { kind: 'service', id: d.writer }, correlation: this.run, causation: null,
      events: d.facts.map((f) => ({ ...f, eventId: randomUUID() })),
      contents: (d.contents ?? []).map((c) => ({ ref: c.ref, salt: Buffer.from(c.salt).toString('base64'), body: Buffer.from(c.body).toString('base64') })),
      ...(d.checkpoint === undefined ? {} : { checkpoint: d.checkpoint }),
    };
    return { writer: d.writer, request };
  }

  /** The append was taken in: the same fold as the store's. */
  applied(outcome) {
    if (outcome.kind !== 'appended') throw new Error(`the store did not take in ${this.pending.facts.map((f) => f.type).join(', ')} at revision ${this.state.revision}: ${JSON.stringify(outcome)}`);
    const { facts } = this.pending;
    this.state = fold(this.state, facts.map((f, i) => ({ ...f, revision: outcome.first + i, digest: outcome.head, recordedAt: outcome.recordedAt, actor: { kind: 'service', id: this.pending.writer } })));
    this.step++;
  }
  /** The same, when the guard was called here and its state is at hand. */
  standsAt(state) { this.state = state; this.step++; }

  created() {
    const goal = contentOf(text(100), 'input');
    return { writer: 'api', contents: [goal], facts: [fact('run.created', { goal: goal.ref, title: 'a scripted run', retention: 'standard', world: { kind: 'real' }, budget: GRANT, constraints: [], tools: [], workspace: null, whenDone: 'await-input', changePolicy: 'allow', onBehalfOf: null, wallMs: null })] };
  }
  seal() {
    const s = this.state;
    const cut = cutOf(s, canonical, sha256);
    const manifest = canonical(cut.manifest);
    const checkpoint = randomUUID();
    return { writer: 'checkpoint-sealer', facts: [fact('checkpoint.sealed', { checkpoint, version: 1, cut: s.revision, boundaries: s.boundary, manifest: sha256(manifest), previous: s.checkpoint?.checkpoint ?? null })], checkpoint: { checkpoint, manifest } };
  }
  permit(subject, facts) {
    return { permit: `permit-${randomUUID()}`, subject, seenRevision: this.state.revision + facts, tenant: this.revisions, expiresAt: this.now + FAR_MS, world: { kind: 'real' }, grounds: { revision: this.state.revision, at: this.now, by: ['allow'], met: [] } };
  }
  /** Reserves; the first time (or always, if this run is to draw) a slice of the tenant's account comes with it. */
  reserve(what, amounts) {
    const drawn = this.draws ? amounts : this.state.budget.drawn.calls === 0 && this.state.budget.drawn.tokens === 0 ? GRANT : NOTHING;
    return fact('budget.reserved', { reservation: `reservation-${randomUUID()}`, for: what, amounts, drawn });
  }
}

/** Eight appends, of which two are seals. */
function short(r) {
  const words = text(r.bodyBytes - 60);
  switch ((r.step - 1) % 8) {
    case 0: case 4: return r.seal();
    case 2: return { writer: 'api', facts: [fact('run.pause-requested', { reason: words })] };
    case 3: return { writer: 'policy-gate', facts: [fact('run.paused', { code: 'ASKED', reason: words })] };
    case 6: return { writer: 'api', facts: [fact('run.resume-requested', { reason: words })] };
    case 7: return { writer: 'policy-gate', facts: [fact('run.resumed', { reason: words })] };
    default: return { writer: 'api', facts: [fact('plan.changed', { steps: [words] })] };
  }
}

/** Budget alone: a reservation and its settlement in turn. For runs that race for one account. */
function budget(r) {
  const amounts = { usd_micros: 10, tokens: 0, calls: 1 };
  const held = Object.keys(r.state.budget.reservations)[0];
  return { writer: 'policy-gate', facts: [held === undefined ? r.reserve('effect', amounts) : fact('budget.settled', { reservation: held, used: amounts })] };
}

const settled = (s) => s.settle.filter((x) => x.reservation in s.budget.reservations).map((x) => fact('budget.settled', x));

/** The governed turn, boundary by boundary. */
function turns(r) {
  const s = r.state;
  if (s.boundary.length > 0) return r.seal();
  const g = s.generation;
  if (g?.stage === 'compiled') return judgeGeneration(r, g);
  if (g?.stage === 'permitted') return startGeneration(r, g);
  if (g?.stage === 'started') return accept(r, g);
  const call = s.calls.find((c) => c.effect === null && c.refused === null);
  if (call !== undefined) return intend(r, call);
  const e = Object.values(s.effects).find((x) => ['intended', 'permitted', 'in-flight'].includes(x.stage));
  if (e?.stage === 'intended') return judgeEffect(r, e);
  if (e?.stage === 'permitted') return { writer: 'effect-reconciler', facts: [fact('effect.attempt-started', { effect: e.effect, attempt: randomUUID(), attemptNumber: 1, owner: 'bench', permit: e.permit.permit, leaseMs: FAR_MS, dispatchBy: r.now + FAR_MS })] };
  if (e?.stage === 'in-flight') return observe(r, e);
  return compileNext(r);
}

function compileNext(r) {
  const s = r.state;
  const opens = s.lineage === null || s.lineage.items.length >= 250;
  const [system, tools, entry, manifest] = [opens ? contentOf(text(400), 'context') : null, opens ? contentOf(text(600), 'context') : null, contentOf(text(400), 'context'), contentOf(text(1200), 'manifest')];
  const last = s.lineage?.items.at(-1);
  const continuations = opens || last?.kind !== 'output' ? [] : last.continuations.map((c) => ({ handle: c.handle, results: entry.ref.commitment }));
  const said = { form: opens ? (s.lineage === null ? 'first' : 'reconstructed') : 'continued', route: ROUTE, lineage: opens ? randomUUID() : s.lineage.lineage, opensLineage: opens, system: system?.ref ?? s.lineage.system, tools: tools?.ref ?? s.lineage.tools, entry: entry.ref, continuations };
  return {
    writer: 'context-compiler', contents: [system, tools, entry, manifest].filter((c) => c !== null),
    facts: [fact('context.compiled', {
      generation: randomUUID(), ...said, because: 'the lineage goes on', manifest: manifest.ref, subject: digestOf(contextSubject(s, said)),
      checkpoint: s.checkpoint === null ? null : { checkpoint: s.checkpoint.checkpoint, cut: s.checkpoint.cut }, tokensMax: { input: 4000, output: 4000 }, compiler: 1,
    })],
  };
}
function judgeGeneration(r, g) {
  const facts = settled(r.state);
  if (r.state.route === null) facts.push(fact('route.decided', { from: null, to: ROUTE, reason: 'the first eligible route of the tenant', tenant: r.revisions }));
  const reserved = r.reserve('generation', { usd_micros: 100, tokens: 8000, calls: 0 });
  return { writer: 'policy-gate', facts: [...facts, reserved, fact('generation.permitted', { generation: g.generation, reservation: reserved.data.reservation, ...r.permit(g.subject, facts.length + 2) })] };
}
function startGeneration(r, g) {
  const s = r.state;
  const facts = s.segment === 0 ? [fact('segment.started', { segment: 1, from: null, to: ROUTE, reason: 'the run begins', checkpoint: s.checkpoint?.checkpoint ?? null, manifest: g.manifest })] : [];
  return { writer: 'provider-gateway', facts: [...facts, fact('generation.started', { generation: g.generation, attempt: randomUUID(), owner: 'bench', permit: g.permit.permit, form: g.form, wire: sha256(text(30)), wirePrefix: { bytes: 1000, digest: sha256(text(30)) }, leaseMs: FAR_MS })] };
}
function accept(r, g) {
  const [output, args, sealed] = [contentOf(text(500), 'model-output', 'application/json'), contentOf(JSON.stringify({ path: text(60) }), 'tool-arguments', 'application/json'), contentOf(text(400), 'continuation', 'application/octet-stream')];
  const handle = { handle: randomUUID(), partIndex: 0, placement: 'side', sealed: sealed.ref, exact: sha256(text(30)) };
  const kept = { handle: handle.handle, generation: g.generation, turn: r.state.lineage.turn, adapter: 'gemini', endpoint: 'http://127.0.0.1:1', account: 'a', accountScope: 'a', modelServed: ROUTE.model, lineage: g.lineage, bytes: 300, exact: handle.exact };
  return {
    writer: 'provider-gateway', contents: [output, args, sealed],
    facts: [fact('continuation.retained', kept), fact('generation.accepted', {
      generation: g.generation, attempt: g.attempt, output: output.ref, finish: 'stop', calls: [{ call: `call-${randomUUID()}`, tool: 'post', args: args.ref }], continuations: [handle], recoverable: 'exact', why: 'every opaque piece was retained',
      usage: { native: { promptTokenCount: 1200, candidatesTokenCount: 60 }, inputTokens: 1200, outputTokens: 60 }, spent: { usd_micros: 10, tokens: 1260, calls: 0 },
    })],
  };
}
function intend(r, call) {
  const args = contentOf(JSON.stringify({ path: text(60) }), 'tool-arguments', 'application/json');
  return {
    writer: 'effect-reconciler', contents: [args],
    facts: [fact('effect.intended', {
      effect: `eff-${sha256(call.call).slice(0, 32)}`, call: call.call, generation: call.generation, tool: 'post', mapping: MAPPING, contract: CONTRACT, scope: { target: 'http://127.0.0.1:1', fields: { item: sha256(call.call) } }, args: args.ref,
      subject: sha256(args.ref.commitment), key: `n17q-${sha256(call.call).slice(32)}`, world: { kind: 'real' }, amounts: { usd_micros: 0, tokens: 0, calls: 1 }, dataClass: 'internal',
    })],
  };
}
function judgeEffect(r, e) {
  const before = settled(r.state);
  const reserved = r.reserve('effect', e.amounts);
  return { writer: 'policy-gate', facts: [...before, reserved, fact('effect.permitted', { effect: e.effect, attemptNumber: 1, siblings: [], reservation: reserved.data.reservation, approval: null, ...r.permit(e.subject, before.length + 2) })] };
}
function observe(r, e) {
  const [result, receipt] = [contentOf(text(r.bodyBytes), 'tool-result'), contentOf(JSON.stringify({ status: 201, body: { ticket: text(20) } }), 'receipt', 'application/json')];
  return { writer: 'effect-reconciler', contents: [result, receipt], facts: [fact('effect.observed', { effect: e.effect, attempt: e.attempts.at(-1).attempt, ok: true, text: result.ref, receipt: receipt.ref })] };
}

const SCRIPTS = { short, turns, budget };
