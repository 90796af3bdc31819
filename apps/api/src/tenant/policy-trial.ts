/**
 * A candidate policy tried on recorded decisions: each is judged again by the gate's own function, under the candidate, with everything else as it was. Nothing is
 * appended, and no permit leaves: what would have been decided is only told.
 *
 * T1. A difference is told only where judging again under the policy of that time gives what was recorded; else it would be a difference of the trial, not of the policy.
 *
 * The tenant's hook is not asked again: its recorded answers are used, and none if the candidate has no hook.
 *
 * Rows: POL-1, POL-2, POL-3.
 */
import { digestOf, type http } from '@n17q/contracts';
import { clip, judgedUnder, type Fact, type PolicyDocument, type RegistryDocument, type Rules } from '@n17q/domain';
import { compileRules, rulesFrom } from '@n17q/rules';
import type { Newest, Recorded } from './recorded-decisions.js';

type Change = http.PolicyTrial['changes'][number];
type Ruled = Change['was'];
interface Said { readonly key: string; readonly effect: string | null; readonly generation: string | null; readonly ruled: Ruled }

const REASON_CHARS_MAX = 500;
const byOf = (d: object): string[] => ('grounds' in d ? [...(d.grounds as { readonly by: readonly string[] }).by] : []);

/** What a fact says about one call, if it is of the kind that is compared. */
function said(f: Fact): Said | null {
  switch (f.type) {
    case 'effect.permitted': return { key: f.data.effect, effect: f.data.effect, generation: null, ruled: { decision: 'allowed', code: null, by: byOf(f.data), reason: f.data.approval === null ? '' : 'a person approved it' } };
    case 'generation.permitted': return { key: f.data.generation, effect: null, generation: f.data.generation, ruled: { decision: 'allowed', code: null, by: byOf(f.data), reason: '' } };
    case 'approval.requested': return { key: f.data.effect, effect: f.data.effect, generation: null, ruled: { decision: 'asked', code: null, by: byOf(f.data), reason: clip(f.data.reasons.join('; '), REASON_CHARS_MAX) } };
    case 'effect.denied': return { key: f.data.effect, effect: f.data.effect, generation: null, ruled: { decision: 'denied', code: f.data.code, by: byOf(f.data), reason: clip(f.data.reason, REASON_CHARS_MAX) } };
    case 'generation.denied': return { key: f.data.generation, effect: null, generation: f.data.generation, ruled: { decision: 'denied', code: f.data.code, by: byOf(f.data), reason: clip(f.data.reason, REASON_CHARS_MAX) } };
    default: return null;
  }
}
const saidIn = (facts: readonly Fact[]): ReadonlyMap<string, Said> => new Map(facts.flatMap((f) => { const s = said(f); return s === null ? [] : [[s.key, s] as const]; }));

/** The rules under the registry of that time: a tool that is gone since was there then. Where they do not stand under it, under the present one. */
function rulesThen(text: string, then: RegistryDocument, now: RegistryDocument): Rules {
  const c = compileRules(text, then);
  return c.ok ? c.rules : rulesFrom(text, now);
}

function judged(r: Recorded, policy: PolicyDocument, rules: Rules): ReadonlyMap<string, Said> {
  const tenant = { ...r.tenant, policy: { revision: r.tenant.policy?.revision ?? 0, document: policy, digest: r.tenant.policy?.digest ?? '' } };
  const decided = policy.hook === null ? { ...r.decided, events: r.decided.events.map(unhooked) } : r.decided;
  return saidIn(judgedUnder(decided, tenant, r.args, { digest: digestOf, rules }));
}
function unhooked(e: Recorded['decided']['events'][number]): Recorded['decided']['events'][number] {
  if (!('grounds' in e.data) || e.data.grounds === undefined) return e;
  const { hook: _, ...grounds } = e.data.grounds as { readonly hook?: unknown };
  return { ...e, data: { ...e.data, grounds } } as typeof e;
}

/** `registry`: as it is now. Gives the event loop back between decisions. */
export async function tryPolicy(candidate: PolicyDocument, registry: RegistryDocument, newest: Newest): Promise<Omit<http.PolicyTrial, 'revision'>> {
  const changes: Change[] = [];
  let [decisions, skipped] = [0, newest.skipped];
  for (const r of newest.decisions) {
    await new Promise((resolve) => { setImmediate(resolve); });
    const then = r.tenant.registry?.document ?? { tools: [] };
    const would = judged(r, candidate, rulesThen(candidate.rules, then, registry));
    let again: ReadonlyMap<string, Said> | undefined;
    for (const e of r.decided.events) {
      const was = said(e);
      if (was === null) continue;
      const is = would.get(was.key);
      if (is?.ruled.decision === was.ruled.decision) { decisions += 1; continue; }
      again ??= r.tenant.policy === null ? new Map() : judged(r, r.tenant.policy.document, rulesThen(r.tenant.policy.document.rules, then, then));
      if (is === undefined || again.get(was.key)?.ruled.decision !== was.ruled.decision) { skipped += 1; continue; } // keeps T1
      decisions += 1;
      const tool = was.effect === null ? null : (r.decided.before.effects[was.effect]?.tool ?? null);
      changes.push({ run: r.run, revision: e.revision, at: new Date(e.recordedAt).toISOString(), effect: was.effect, generation: was.generation, tool, was: was.ruled, would: is.ruled });
    }
  }
  return { runs: newest.runs, decisions, skipped, complete: newest.complete, changes };
}
