/**
 * Judges whatever waits for a judgement in a run. The handler knows the run's name and nothing else; all facts come from one reading of
 * the store. What the tenant's own hook says can only refuse.
 *
 * Rows: EFF-6, EFF-7, POL-2, POL-3, POL-4, BUD-2.
 */
import { v7 as uuidv7 } from 'uuid';
import { digestOf } from '@n17q/contracts';
import { callsToJudge, judge, type DecisionView, type Effect, type EffectId, type GateView, type HookAnswer, type Json, type RunId, type TenantId } from '@n17q/domain';
import { ContentGone, decideAgain, type ServiceLog } from '@n17q/event-log';
import type { Ask } from './hook.js';
import type { RuleSets } from './rule-sets.js';

export interface GateAround { readonly ruleSets: RuleSets; readonly hook: Ask }

/** All of them at once; where some can no longer be read, one by one: those are left out, and the judgement says so. */
async function argsOf(log: ServiceLog, v: DecisionView, effects: readonly Effect[]): Promise<ReadonlyMap<string, Json>> {
  try {
    const texts = await log.texts(v.state.tenant, effects.map((e) => e.args));
    return new Map([...texts].map(([commitment, text]) => [commitment, JSON.parse(text) as Json]));
  } catch (x) {
    if (!(x instanceof ContentGone)) throw x;
    const [first, ...rest] = effects;
    return first === undefined || rest.length === 0 ? new Map() : new Map([...(await argsOf(log, v, [first])), ...(await argsOf(log, v, rest))]);
  }
}

/** What the judgement needs besides the view: the arguments of calls, and the hook's answers. */
async function withCalls(log: ServiceLog, v: DecisionView, around: GateAround): Promise<GateView> {
  const calls = callsToJudge(v.state, v.now);
  const hook = v.tenant.policy?.document.hook ?? null;
  const args = await argsOf(log, v, calls);
  const hooked = new Map<EffectId, HookAnswer>();
  if (hook !== null) await Promise.all(calls.map(async (e) => { hooked.set(e.effect, await around.hook(hook, v, e, hook.withArguments ? (args.get(e.args.commitment) ?? null) : null)); }));
  return { ...v, args, hooked };
}

export const judgeRun = (log: ServiceLog, around: GateAround) => async (tenant: TenantId, run: RunId): Promise<void> => {
  const done = await decideAgain(log, async () => withCalls(log, await log.view(tenant, run), around), (v) => v.state, (v) => ({ facts: judge(v, { id: (kind) => `${kind}-${uuidv7()}`, digest: digestOf, rules: around.ruleSets.of(v.tenant) }), requires: v.standing }));
  if (done.kind === 'refused') throw new Error(`the store refused the judgement: ${done.outcome.code}: ${done.outcome.message}`);
};
