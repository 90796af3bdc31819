/** The tenants' rules, compiled once for each pair of policy and registry and kept while they are used. Rules that do not compile answer every question with why. Rows: POL-4. */
import { LRUCache } from 'lru-cache';
import type { Rules, TenantState } from '@n17q/domain';
import { compileRules } from '@n17q/rules';

export interface RuleSet { readonly rules: Rules; /** They look at the arguments of calls. */ readonly usesArgs: boolean }

const NONE: RuleSet = { rules: () => ({ kind: 'broken', reason: 'no policy or no registry is published' }), usesArgs: false };

export class RuleSets {
  private readonly sets = new LRUCache<string, RuleSet>({ max: 64 });

  of(t: Pick<TenantState, 'policy' | 'registry'>): RuleSet {
    if (t.policy === null || t.registry === null) return NONE;
    const key = `${t.policy.digest} ${t.registry.digest}`;
    let set = this.sets.get(key);
    if (set === undefined) this.sets.set(key, (set = compiled(t.policy.document.rules, t.registry.document)));
    return set;
  }
}

function compiled(text: string, registry: NonNullable<TenantState['registry']>['document']): RuleSet {
  const c = compileRules(text, registry);
  if (c.ok) return { rules: c.rules, usesArgs: text.includes('args') };
  const [first] = c.faults;
  const reason = `${first?.rule ?? 'the rules'}: ${first?.problem ?? 'cannot be read'}`;
  return { rules: () => ({ kind: 'broken', reason }), usesArgs: false };
}
