/**
 * Starts attempts and sends them. The append of `effect.attempt-started` is the claim; only the process that got a fresh answer to it, and
 * still holds the attempt's id, sends, and only before its dispatch deadline.
 *
 * A1. One claim, one send: an attempt that is not in `mine` is never sent by this process.
 * A2. The deadline is checked synchronously between the connection and the first byte, by a clock that does not jump.
 * A3. After the send an outcome is recorded, or the attempt stays in flight until its lease runs out and becomes unknown. It is never sent again.
 *
 * Rows: EFF-2, EFF-3, EFF-4, EFF-10.
 */
import { randomUUID } from 'node:crypto';
import { sha256 } from '@n17q/contracts';
import { clip, dispatchBy, excerptOf, fact, identityOf, isConsequential, recordOutcome, startable, toolNamed, withWorkspace, type AttemptId, type ContentRef, type DecisionView, type Effect, type EventData, type Fact, type Json, type Outcome, type RunId, type TenantId, type ToolMapping, type WorkspaceRef } from '@n17q/domain';
import { decideAgain, NOT_STARTED, persistently } from '@n17q/event-log';
import { failpoint } from '@n17q/platform';
import type { Connector, ConnectorOutcome } from '@n17q/tools';
import { OUTCOME_KEPT_MS, type OutcomeLog } from './outcomes.js';
import type { ReconcilerPorts } from './ports.js';

export interface Claim { readonly effect: Effect; readonly tool: ToolMapping; readonly attempt: AttemptId; readonly mayDispatchUntil: number; readonly workspace: WorkspaceRef | null }

/** Where repeating is free nobody is in a hurry to look, so the whole call may pass; elsewhere others may look as soon as the policy's lease is over. */
const leaseFor = (t: ToolMapping, leaseMs: number): number => (isConsequential(t.contract) ? leaseMs : leaseMs + t.timeoutMs);

function pick(v: DecisionView, among: readonly Effect[]): readonly { effect: Effect; tool: ToolMapping }[] {
  const registry = v.tenant.registry;
  if (registry === null) return [];
  const tools = { revision: registry.revision, tools: registry.document.tools };
  return among.flatMap((effect) => { const tool = toolNamed(tools, effect.tool); return tool === undefined ? [] : [{ effect, tool }]; });
}

/** Claims what may start now and sends it in the background. `only`: try just this effect, after a joint claim was refused. */
export async function startAttempts(p: ReconcilerPorts, mine: Map<AttemptId, Claim>, outcomes: OutcomeLog, tenant: TenantId, run: RunId, load: () => Promise<DecisionView>, only?: string): Promise<void> {
  let claims: Claim[] = [];
  const begun = p.monotonicMs();
  const done = await decideAgain(p.log, load, (v) => v.state, (v) => {
    claims = [];
    const facts: Fact[] = [];
    const leaseMs = v.tenant.policy?.document.leaseMs;
    if (leaseMs === undefined) return null;
    for (const { effect, tool } of pick(v, startable(v.state, v.now).filter((e) => only === undefined || e.effect === only))) {
      if (effect.permit === null) continue;
      const attempt = randomUUID();
      const by = dispatchBy(effect, v.now, leaseMs);
      claims.push({ effect, tool, attempt, mayDispatchUntil: begun + by - v.now, workspace: v.state.workspace });
      facts.push(fact('effect.attempt-started', { effect: effect.effect, attempt, attemptNumber: effect.attempts.length + 1, owner: p.incarnation, permit: effect.permit.permit, leaseMs: leaseFor(tool, leaseMs), dispatchBy: by }));
    }
    return { facts };
  });
  if (done.kind === 'refused' && only === undefined && claims.length > 1) {
    for (const c of claims) await startAttempts(p, mine, outcomes, tenant, run, () => p.log.view(tenant, run), c.effect.effect);
    return;
  }
  if (done.kind === 'refused' && !NOT_STARTED.has(done.outcome.code)) throw new Error(`the store refused a claim: ${done.outcome.code}: ${done.outcome.message}`);
  if (done.kind !== 'appended' || !done.outcome.fresh) return; // keeps A1: a replayed claim is somebody's who may be gone
  failpoint('effect.after-claim-before-dispatch');
  for (const c of claims) {
    mine.set(c.attempt, c);
    void send(p, mine, outcomes, tenant, run, c).catch((e: unknown) => p.onTrouble(`attempt ${c.attempt}`, e));
  }
}

/** Undefined when this process has none, or its configuration is not what that kind takes: the attempt is then not sent, which the policy's bound ends. */
function usable(p: ReconcilerPorts, tool: ToolMapping): Connector | undefined {
  try { return p.connector(tool); } catch (e) { p.onTrouble(`connector of ${tool.name}`, e); return undefined; }
}

async function send(p: ReconcilerPorts, mine: Map<AttemptId, Claim>, outcomes: OutcomeLog, tenant: TenantId, run: RunId, c: Claim): Promise<void> {
  try {
    const connector = usable(p, c.tool);
    const args = JSON.parse((await p.log.texts(tenant, [c.effect.args])).get(c.effect.args.commitment) as string) as Json;
    let dispatched = false;
    const receiptTo = p.receiptTo?.({ tenant, run, effect: c.effect.effect });
    const outcome: ConnectorOutcome = connector === undefined ? { kind: 'not-sent', cause: 'NO_CONNECTOR' } : await connector.dispatch({
      effect: c.effect.effect, attempt: c.attempt, idempotencyKey: c.effect.key, args, target: c.tool.target, timeoutMs: c.tool.timeoutMs, outputBytesMax: c.tool.outputBytesMax,
      beforeFirstByte: () => { // keeps A1, A2
        if (dispatched || !mine.has(c.attempt) || p.monotonicMs() > c.mayDispatchUntil) return false;
        dispatched = true;
        return true;
      },
      ...(c.workspace === null ? {} : { workspace: { tenant, at: c.workspace } }), ...(receiptTo === undefined ? {} : { receiptTo }),
    });
    failpoint('effect.after-dispatch-before-observation');
    await record(p, outcomes, tenant, run, c, args, outcome);
    failpoint('effect.after-observation');
  } finally {
    mine.delete(c.attempt);
  }
}

async function record(p: ReconcilerPorts, outcomes: OutcomeLog, tenant: TenantId, run: RunId, c: Claim, args: Json, o: ConnectorOutcome): Promise<void> {
  const contents: import('@n17q/contracts').ContentUpload[] = [];
  const keep = async (text: string, cls: 'tool-result' | 'receipt', media: string) => { const k = await persistently(() => p.keep(tenant, run, text, cls, media), OUTCOME_KEPT_MS, (e) => p.onTrouble(`result of ${c.attempt}`, e), p.log.pause); if (k.upload !== null) contents.push(k.upload); return k.ref; };
  const plain = 'text/plain; charset=utf-8';
  let outcome: Outcome;
  switch (o.kind) {
    case 'observed': outcome = { kind: 'observed', ok: o.ok, text: await keep(o.text, 'tool-result', plain), receipt: o.receipt === undefined ? null : await keep(JSON.stringify(o.receipt), 'receipt', 'application/json') }; break;
    case 'refused': outcome = { kind: 'refused', cause: o.cause, text: await keep(o.text, 'tool-result', plain) }; break;
    case 'not-sent': case 'unknown': outcome = o; break;
  }
  const source = await sourceOf(p, c, args, o, outcome, keep);
  if (o.kind === 'observed' && o.files !== undefined) { const { tree } = o.files.workspace; await persistently(() => p.register(tenant, run, tree), OUTCOME_KEPT_MS, (e) => p.onTrouble(`workspace of ${c.attempt}`, e), p.log.pause); }
  await outcomes.record(tenant, run, { attempt: c.attempt, contents, facts: (s) => {
    const said = recordOutcome(s, c.effect.effect, c.attempt, outcome, p.log.now());
    const facts = [...(o.kind === 'observed' && o.files !== undefined ? withWorkspace(s, said, c.effect.effect, c.workspace, o.files) : said)];
    if (facts.length > 0 && source !== null && Object.hasOwn(s.effects, c.effect.effect)) facts.push(fact('source.observed', source));
    if (o.kind === 'refused' && o.conflict !== undefined) facts.push(fact('workspace.conflicted', { effect: c.effect.effect, found: clip(JSON.stringify(o.conflict), 2000) }));
    return facts;
  } });
}

type KeepText = (text: string, cls: 'tool-result', media: string) => Promise<ContentRef>;
/** Of a tool whose results are sources: what was retrieved, or what is missing now and why (SRC-1, SRC-2). What was not sent retrieved nothing and is tried again. */
async function sourceOf(p: ReconcilerPorts, c: Claim, args: Json, o: ConnectorOutcome, outcome: Outcome, keep: KeepText): Promise<EventData['source.observed'] | null> {
  const { source } = c.tool;
  if (source === undefined || o.kind === 'not-sent') return null;
  const whole = o.kind === 'observed' && outcome.kind === 'observed' && o.ok && o.partial !== true ? outcome.text : null;
  const gap = whole !== null ? null : o.kind === 'observed' ? (o.ok ? 'LARGER_THAN_KEPT: only a part of it was kept' : 'RETRIEVAL_FAILED: it answered with a failure') : clip(`NOT_RETRIEVED: ${o.cause}`, 900);
  const excerpt = await keep(excerptOf(o.kind === 'observed' || o.kind === 'refused' ? o.text : o.cause), 'tool-result', 'text/plain; charset=utf-8');
  return {
    source: `src-${sha256(`${c.effect.effect} ${c.attempt}`).slice(0, 32)}`, effect: c.effect.effect, identity: identityOf(source.identity, args), retrievedAt: p.log.now(), scope: c.effect.scope,
    content: whole, excerpt, required: source.required, replay: whole === null ? 'live' : 'recording', gap,
  };
}
