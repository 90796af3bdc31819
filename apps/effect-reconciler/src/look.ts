/** Asks the world about an effect of unknown outcome, under its look permit, and records what it said. Looking is not repeating. Rows: EFF-5, POL-5. */
import { recordLook, stillMapped, toolNamed, type DecisionView, type Effect, type Json, type Look, type RegistryDocument, type ToolMapping } from '@n17q/domain';
import { decideAgain } from '@n17q/event-log';
import type { LookOutcome } from '@n17q/tools';
import type { ReconcilerPorts } from './ports.js';

export const lookable = (v: DecisionView): readonly Effect[] => Object.values(v.state.effects).filter((e) => e.stage === 'unknown' && e.lookPermit !== null && e.lookPermit.expiresAt > v.now);

type RegistryAt = (revision: number) => Promise<RegistryDocument | null>;
/**
 * As today's registry has it, if it is the same tool at the same target still; else as it was when the effect was intended, or as a person migrated it (TOOL-3,
 * TOOL-5). What another target does not know says nothing about this one.
 */
export async function toolToAsk(now: { readonly revision: number; readonly document: RegistryDocument } | null, e: Pick<Effect, 'tool' | 'mapping' | 'migrated' | 'scope'>, registryAt: RegistryAt): Promise<ToolMapping | undefined> {
  const named = e.migrated ?? { tool: e.tool, mapping: e.mapping };
  const pinned = async (): Promise<ToolMapping | undefined> => {
    const then = await registryAt(named.mapping.registryRevision);
    return then === null ? undefined : toolNamed({ revision: named.mapping.registryRevision, tools: then.tools }, named.tool);
  };
  const today = now === null ? undefined : toolNamed({ revision: now.revision, tools: now.document.tools }, named.tool);
  if (today === undefined || !stillMapped(today, named.mapping)) return pinned();
  if (e.migrated === null) return today.target === e.scope.target ? today : pinned();
  const chosen = await pinned();
  return chosen?.target === today.target ? today : chosen;
}

async function ask(p: ReconcilerPorts, v: DecisionView, e: Effect): Promise<LookOutcome> {
  const tool = await toolToAsk(v.tenant.registry, e, (revision) => p.log.registryAt(v.state.tenant, revision));
  if (tool === undefined) return { kind: 'cannot-tell', cause: 'the registry no longer tells how the effect was sent' };
  const connector = p.connector(tool);
  if (connector?.query === undefined) return { kind: 'cannot-tell', cause: 'its connector cannot ask' };
  const args = JSON.parse((await p.log.texts(v.state.tenant, [e.args])).get(e.args.commitment) as string) as Json;
  return connector.query({ effect: e.effect, idempotencyKey: e.key, args, target: tool.target, timeoutMs: tool.timeoutMs, outputBytesMax: tool.outputBytesMax });
}

export async function lookNow(p: ReconcilerPorts, view: DecisionView): Promise<void> {
  const { tenant, run } = view.state;
  for (const e of lookable(view)) {
    const askedAt = p.log.now(); // absence counts from when it was asked about, however late the answer is recorded
    const answer = await ask(p, view, e);
    const contents: import('@n17q/contracts').ContentUpload[] = [];
    const keep = async (text: string, media: string) => { const k = await p.keep(tenant, run, text, 'evidence', media); if (k.upload !== null) contents.push(k.upload); return k.ref; };
    let look: Look;
    switch (answer.kind) {
      case 'happened': look = { kind: 'happened', evidence: await keep(JSON.stringify(answer.receipt), 'application/json'), text: await keep(answer.text, 'text/plain; charset=utf-8'), count: answer.count }; break;
      case 'not-found': look = { kind: 'not-found', evidence: await keep(JSON.stringify({ asked: e.key, answer: 'not found' }), 'application/json') }; break;
      case 'cannot-tell': look = answer; break;
    }
    const done = await decideAgain(p.log, () => p.log.state(tenant, run), (s) => s, (s) => ({ facts: recordLook(s, e.effect, look, Math.min(askedAt, p.log.now())), contents: look.kind === 'cannot-tell' ? [] : contents }));
    if (done.kind === 'refused') throw new Error(`the store refused what a look found: ${done.outcome.code}: ${done.outcome.message}`);
  }
}
