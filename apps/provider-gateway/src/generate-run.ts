/**
 * Makes the permitted model call. The append of `generation.started` is the claim; only the process that got a fresh answer to it sends, once.
 *
 * W1. Before the claim everything that the request needs is at hand and verified by code that did not retain it; otherwise nothing is sent and the
 *     step is named.
 * W2. The bytes that this lineage sent before are the first bytes of what it sends now.
 * W3. After the send there is an outcome, or the claim runs out and the outcome is unknown.
 *
 * Rows: EFF-2, EFF-3, EFF-10, CON-2, CON-4, CTX-8, RES-2, RES-3, RES-9.
 */
import { randomUUID } from 'node:crypto';
import { compiledSubject, fact, modelOf, sameRoute, verifyContinuations, whoseMove, permitStale, type AttemptId, type DecisionView, type Fact, type Generation, type ProviderAccount, type RunId, type RunState, type TenantId } from '@n17q/domain';
import { digestOf } from '@n17q/contracts';
import { decideAgain, NOT_STARTED, persistently, type Decision } from '@n17q/event-log';
import { failpoint } from '@n17q/platform';
import type { ProviderAdapter, WireRequest } from '@n17q/providers';
import { assemble, type Assembled } from './assemble.js';
import { recorded } from './retain.js';
import type { GatewayPorts } from './ports.js';

interface Ready { readonly adapter: ProviderAdapter; readonly account: ProviderAccount; readonly request: WireRequest; readonly assembled: Assembled; readonly credential: string; readonly generation: Generation; readonly attempt: AttemptId; readonly mayDispatchUntil: number; readonly view: DecisionView }
const DISPATCH_SHARE = 0.5;
/** How long an outcome that only this process knows is offered to a store that does not answer. */
const OUTCOME_KEPT_MS = 30 * 60_000;

export function gateway(p: GatewayPorts): { run(tenant: TenantId, run: RunId): Promise<void>; readonly inFlight: ReadonlySet<AttemptId> } {
  const mine = new Set<AttemptId>();
  return {
    inFlight: mine,
    async run(tenant, run) {
      let ready: Ready | null = null;
      const done = await decideAgain(p.log, () => p.log.view(tenant, run), (v) => v.state, async (v) => {
        ready = null;
        const expired = expiry(v, mine);
        if (expired !== null) return expired;
        if (whoseMove(v.state) !== 'generate' || v.state.boundary.length > 0) return null;
        const g = v.state.generation as Generation;
        if (g.permit === null || permitStale(v.state, g.permit) || g.permit.expiresAt <= v.now) return null;
        const made = await prepare(p, v, g);
        if ('code' in made) return { facts: [fact('generation.blocked', { generation: g.generation, code: made.code, reason: made.reason, facts: made.facts as never })] };
        ready = made;
        return claim(p, v.state, made);
      });
      if (done.kind === 'refused' && !NOT_STARTED.has(done.outcome.code)) throw new Error(`the store refused a claim: ${done.outcome.code}: ${done.outcome.message}`);
      if (done.kind !== 'appended' || !done.outcome.fresh || ready === null) return;
      const r: Ready = ready;
      failpoint('generation.after-claim-before-dispatch');
      mine.add(r.attempt);
      void call(p, mine, tenant, run, r).catch((e: unknown) => p.onTrouble(`generation ${r.generation.generation}`, e));
    },
  };
}

type Blocked = { readonly code: string; readonly reason: string; readonly facts: object };
const blocked = (code: string, reason: string, facts: object = {}): Blocked => ({ code, reason, facts });

async function prepare(p: GatewayPorts, v: DecisionView, g: Generation): Promise<Ready | Blocked> {
  const s = v.state;
  const begun = p.monotonicMs();
  const doc = v.tenant.profiles?.document;
  const account = doc?.accounts.find((a) => a.account === g.route.account && a.adapter === g.route.adapter);
  if (account === undefined || modelOf(doc, g.route) === undefined) return blocked('ROUTE_GONE', `account ${g.route.account} is no longer configured`);
  const adapter = p.adapter(g.route.adapter);
  if (adapter === undefined) return blocked('ADAPTER_DISABLED', `adapter ${g.route.adapter} is not enabled in this gateway`);
  const subject = compiledSubject(s);
  if (subject === null || digestOf(subject) !== g.subject) return blocked('CONTEXT_MISMATCH', 'the context is not the one that was permitted');
  failpoint('generation.before-request-after-results');
  const a = await assemble(p, s, account);
  if ('code' in a) return a;
  const objection = verifyContinuations(s, { adapter: account.adapter, endpoint: account.endpoint, account: account.account, accountScope: account.scope }, adapter.required(a.plan, g.route, a.pieces)); // keeps W1
  if (objection !== null) return blocked(objection.code, objection.reason, objection.facts as object);
  const projection = adapter.project(a.plan, g.route, a.pieces);
  if (projection.kind === 'refused') return blocked(projection.code === 'PIECE_MISSING' ? 'PROTOCOL_STATE_MISSING' : projection.code, projection.message, { generation: projection.generation ?? '', step: projection.step ?? 0 });
  const before = s.lineage?.wirePrefix ?? null;
  if (before !== null && p.sealing.exact(Buffer.from(projection.request.body, 'utf8').subarray(0, before.bytes)) !== before.digest) return blocked('PREFIX_CHANGED', 'the bytes that this lineage sent before would not be the first bytes of this request'); // keeps W2
  const found = await p.credentials.credential(g.route.account);
  if (found.kind === 'absent') return blocked('CREDENTIAL_ABSENT', `there is no usable credential for account ${g.route.account} (${found.code}): give the gateway one and resume the run`);
  return { adapter, account, request: projection.request, assembled: a, credential: found.credential.reveal(), generation: g, attempt: randomUUID(), mayDispatchUntil: begun + leaseOf(p, v) * DISPATCH_SHARE, view: v };
}

const leaseOf = (p: GatewayPorts, v: DecisionView): number => (v.tenant.policy?.document.leaseMs ?? 5000) + p.requestTimeoutMs;

function claim(p: GatewayPorts, s: RunState, r: Ready): Decision {
  const facts: Fact[] = [];
  const g = r.generation;
  if (s.segment === 0 || !sameRoute(s.segmentRoute, g.route)) {
    facts.push(fact('segment.started', { segment: s.segment + 1, from: s.segmentRoute, to: g.route, reason: s.segmentRoute === null ? 'the run begins' : transitionReason(s, r.view), checkpoint: s.checkpoint?.checkpoint ?? null, manifest: g.manifest }));
  }
  facts.push(fact('generation.started', {
    generation: g.generation, attempt: r.attempt, owner: p.incarnation, permit: g.permit?.permit ?? '', form: g.form, wire: p.sealing.exact(r.request.body),
    wirePrefix: { bytes: r.request.prefixBytes, digest: p.sealing.exact(r.request.prefixDigestInput) }, leaseMs: leaseOf(p, r.view),
  }));
  return { facts };
}
const transitionReason = (s: RunState, v: DecisionView): string =>
  s.segmentRoute !== null && modelOf(v.tenant.profiles?.document, s.segmentRoute) === undefined ? `account ${s.segmentRoute.account} with model ${s.segmentRoute.model} is no longer configured` : 'the gate decided another route';

async function call(p: GatewayPorts, mine: Set<AttemptId>, tenant: TenantId, run: RunId, r: Ready): Promise<void> {
  try {
    const g = r.generation;
    const outcome = await r.adapter.send(r.request, { baseUrl: r.account.endpoint, credential: r.credential }, { timeoutMs: p.requestTimeoutMs, beforeFirstByte: () => mine.has(r.attempt) && p.monotonicMs() <= r.mayDispatchUntil });
    failpoint('generation.after-dispatch-before-acceptance');
    const heard = r.adapter.interpret(outcome, { generation: g.generation, newCallId: (i) => `call-${g.generation}-${i}`, offered: r.assembled.plan.tools.map((t) => t.name), sent: r.assembled.pieces, credential: r.credential });
    const doc = r.view.tenant.profiles?.document;
    const done = await persistently(() => decideAgain(p.log, () => p.log.state(tenant, run), (s) => s, async (s) => (s.generation?.attempt === r.attempt && s.generation.stage === 'started' ? recorded(p, s, s.generation, r.attempt, r.account, doc, heard) : late(r, heard))), OUTCOME_KEPT_MS, (e) => p.onTrouble(`outcome of ${r.attempt}`, e), p.log.pause);
    if (done.kind === 'refused') throw new Error(`the store refused the outcome of ${r.attempt}: ${done.outcome.code}: ${done.outcome.message}`);
    failpoint('generation.after-acceptance');
  } finally {
    mine.delete(r.attempt);
  }
}

/** The claim ran out before the answer came: what the provider remembers was not accepted, and the log says so (NAT-2). */
function late(r: Ready, heard: { readonly kind: string; readonly observed?: unknown }): Decision {
  return { facts: [fact('provider.disagreed', { generation: r.generation.generation, adapter: r.account.adapter, code: 'LATE_OUTPUT_NOT_ACCEPTED', observation: { heard: heard.kind, attempt: r.attempt } })] };
}

/** Somebody's claim that ran out: what it sent, if anything, is not known. */
function expiry(v: DecisionView, mine: ReadonlySet<AttemptId>): Decision | null {
  const g = v.state.generation;
  if (g === null || g.stage !== 'started' || g.attempt === null || mine.has(g.attempt) || v.now < (g.startedAt ?? 0) + g.leaseMs) return null;
  return { facts: [fact('generation.outcome-unknown', { generation: g.generation, attempt: g.attempt, cause: 'CLAIM_EXPIRED' })] };
}
