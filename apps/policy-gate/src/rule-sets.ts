/** The tenants' rules, compiled once for each pair of policy and registry and kept while they are used. Rules that do not compile answer every question with why. Rows: POL-4. */
import { LRUCache } from 'lru-cache';
import type { Rules, TenantState } from '@n17q/domain';
import { rulesFrom } from '@n17q/rules';

const NONE: Rules = () => ({ kind: 'broken', reason: 'no policy or no registry is published' });

export class RuleSets {
  private readonly sets = new LRUCache<string, Rules>({ max: 64 });

  of(t: Pick<TenantState, 'policy' | 'registry'>): Rules {
    if (t.policy === null || t.registry === null) return NONE;
    const key = `${t.policy.digest} ${t.registry.digest}`;
    let set = this.sets.get(key);
    if (set === undefined) this.sets.set(key, (set = rulesFrom(t.policy.document.rules, t.registry.document)));
    return set;
  }
}
