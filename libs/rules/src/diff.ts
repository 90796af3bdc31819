/** What differs between two rule sets, by the rules' names. How a rule is laid out is no difference; what it says, asks and gives as its reason is. */
import { canonical } from '@n17q/contracts';
import type { RuleFault } from './fault.js';
import { parsePolicies, type Policy } from './policies.js';

export interface RuleDifference { readonly added: readonly string[]; readonly removed: readonly string[]; readonly changed: readonly string[]; /** The second has no rule that permits. */ readonly permitsNothing: boolean }
export type RuleDiff = ({ readonly ok: true } & RuleDifference) | { readonly ok: false; readonly faults: readonly RuleFault[] };

/** Integers of 16 digits and more lose their last ones in JSON, so they are compared as they are written. */
const meaningOf = (p: Policy): string => canonical({ json: p.json, long: p.text.match(/\d{16,}/g) ?? [] });

/** Compares two texts. Each must be readable; neither is checked against a registry. The faults are those of the first text that is not. */
export function diffRules(before: string, after: string): RuleDiff {
  const [a, b] = [parsePolicies(before), parsePolicies(after)];
  if (!a.ok) return a;
  if (!b.ok) return b;
  const was = new Map(a.set.policies.map((p) => [p.id, meaningOf(p)]));
  const is = new Map(b.set.policies.map((p) => [p.id, meaningOf(p)]));
  return {
    ok: true,
    added: [...is.keys()].filter((id) => !was.has(id)),
    removed: [...was.keys()].filter((id) => !is.has(id)),
    changed: [...is.keys()].filter((id) => was.has(id) && was.get(id) !== is.get(id)),
    permitsNothing: !b.set.policies.some((p) => p.effect === 'permit'),
  };
}
