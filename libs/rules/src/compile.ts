import type { RegistryDocument, Rules } from '@n17q/domain';

/** What is wrong with a rule set: `rule` is its id, or the place where the text cannot be read. */
export interface RuleFault { readonly rule: string; readonly problem: string }
export type Compiled = { readonly ok: true; readonly rules: Rules; readonly ids: readonly string[] } | { readonly ok: false; readonly faults: readonly RuleFault[] };

export function compileRules(_text: string, _registry: RegistryDocument): Compiled {
  return { ok: false, faults: [{ rule: '', problem: 'not built yet' }] };
}
