/** Intents from the calls of an accepted output: normalised, pinned to mapping and contract, scoped. Rows: EFF-1, TOOL-1. */
import { canonical, digestOf, sha256 } from '@n17q/contracts';
import { fact, holdsOf, planCalls, scopeOf, whoseMove, type DecisionView, type Fact, type Json, type OpenCall, type PlannedCall, type RunState } from '@n17q/domain';
import { ContentGone, type Decision } from '@n17q/event-log';
import type { ReconcilerPorts } from './ports.js';

export async function intend(p: ReconcilerPorts, v: DecisionView): Promise<Decision | null> {
  const s = v.state;
  if (whoseMove(s) !== 'intend' || s.boundary.length > 0) return null;
  const waiting = s.calls.filter((c) => c.effect === null && c.refused === null);
  const texts = await p.log.texts(s.tenant, waiting.flatMap((c) => (c.args === null ? [] : [c.args])));
  const argsOf = (c: OpenCall): Json | undefined => {
    const text = c.args === null ? undefined : texts.get(c.args.commitment);
    if (text === undefined) throw new ContentGone(c.args?.commitment ?? '', 'missing');
    return JSON.parse(text) as Json;
  };
  const registry = v.tenant.registry === null ? null : { revision: v.tenant.registry.revision, tools: v.tenant.registry.document.tools };
  const contents: import('@n17q/contracts').ContentUpload[] = [];
  const facts: Fact[] = [];
  for (const c of planCalls(s, registry, argsOf, (t, a) => p.validate(t, a))) facts.push(await record(p, s, registry?.revision ?? 0, c, contents));
  return { facts, contents };
}

async function record(p: ReconcilerPorts, s: RunState, registryRevision: number, c: PlannedCall, contents: import('@n17q/contracts').ContentUpload[]): Promise<Fact> {
  if (c.kind === 'refused') return fact('call.refused', { call: c.call.call, generation: c.call.generation, tool: c.call.tool, code: c.code, reason: c.reason, facts: {} });
  const args = await p.keep(s.tenant, s.run, canonical(c.args), 'tool-arguments', 'application/json');
  if (args.upload !== null) contents.push(args.upload);
  const mapping = { registryRevision, mappingRevision: c.tool.mappingRevision, server: c.tool.server, schemaDigest: c.tool.schemaDigest };
  const effect = `eff-${sha256(`${s.tenant} ${s.run} ${c.call.call}`).slice(0, 32)}`;
  const salt = p.scopeSalt(s.tenant);
  // the subject is what people approve and permits name: arguments by salted commitment, so that it tells nobody what they are
  const subject = digestOf({ tool: c.tool.name, mapping, contract: c.tool.contract, args: args.ref.commitment, target: c.tool.target, world: s.world });
  const holds = holdsOf(c.tool);
  return fact('effect.intended', {
    effect, call: c.call.call, generation: c.call.generation, tool: c.tool.name, mapping, contract: c.tool.contract, scope: scopeOf(c.tool, c.args, (text) => digestOf([salt, text])), args: args.ref, subject,
    key: `n17q-${sha256(`${s.tenant} ${s.run} ${c.call.call}`).slice(32)}`, world: s.world, amounts: { usd_micros: c.tool.costUsdMicros, tokens: 0, calls: 1 }, dataClass: c.tool.dataClass, ...(holds === undefined ? {} : { holds }), ...(c.tool.connector.kind === 'command' ? { command: true as const } : {}),
  });
}
