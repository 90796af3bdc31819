/**
 * What is checked before rules are in force: they stand under the registry, whichever of the two is published. Two publications at once can still meet in a pair
 * that does not stand; then the gate denies, and says that the rules are broken (POL-4).
 *
 * Rows: POL-1, POL-4, TOOL-1.
 */
import { digestOf, type http } from '@n17q/contracts';
import type { PolicyDocument, RegistryDocument, ToolMapping } from '@n17q/domain';
import { mappingFaults } from '@n17q/tools';
import { compileRules, diffRules, type RuleFault } from '@n17q/rules';
import { Problem } from '../http/problem.js';

export const NO_TOOLS: RegistryDocument = { tools: [] };

function broken(before: string, faults: readonly RuleFault[]): Problem {
  const [first] = faults;
  const more = faults.length > 1 ? ` ${faults.length - 1} more ${faults.length === 2 ? 'is' : 'are'} under \`faults\`.` : '';
  const rule = first?.rule ?? '';
  const named = rule === '' || /^\d+:\d+$/.test(rule) ? '' : `Rule ${rule}: `;
  return new Problem('RULES_BROKEN', `${before}${named}${first?.problem ?? 'The rules cannot be read.'}${more}`, { path: '/rules', rule, faults });
}

/** Throws RULES_BROKEN for rules that do not stand under the registry. */
export function requireRules(policy: PolicyDocument, registry: RegistryDocument | null): void {
  const c = compileRules(policy.rules, registry ?? NO_TOOLS);
  if (!c.ok) throw broken('', c.faults);
}

const withoutRevision = (t: ToolMapping): string => digestOf({ ...t, mappingRevision: 0 });

const FAULTS_SAID_MAX = 5;

/** Throws for mappings that can never work. One that is in force as it is stands: it is not in the way of a publication that leaves it alone. */
function requireWorkable(registry: RegistryDocument, now: RegistryDocument | null): void {
  const stood = new Set((now?.tools ?? []).map(withoutRevision));
  const faults = registry.tools.flatMap((t, n) => (stood.has(withoutRevision(t)) ? [] : mappingFaults(t).map((f) => ({ path: `/tools/${n}${f.path}`, problem: f.problem }))));
  const [first] = faults;
  if (first === undefined) return;
  const more = faults.length > FAULTS_SAID_MAX ? `; and ${faults.length - FAULTS_SAID_MAX} more` : '';
  throw new Problem('MALFORMED', `${faults.slice(0, FAULTS_SAID_MAX).map((f) => `${f.path}: ${f.problem}`).join('; ').slice(0, 2000)}${more}`, { path: first.path });
}

/**
 * Throws for a registry whose schemas are not what their digests say, in which a mapping can never work or is another than the one in force under the same revision, or under which
 * the rules in force would break. Approvals and unknown effects are bound to a mapping by its revision: under an old one, what was approved for one address, or
 * is known there by its key, would go to another.
 */
export function requireRegistry(registry: RegistryDocument, policy: PolicyDocument | null, now: RegistryDocument | null): void {
  registry.tools.forEach((t, n) => {
    const was = now?.tools.find((x) => x.name === t.name);
    if (was !== undefined && (t.mappingRevision < was.mappingRevision || (t.mappingRevision === was.mappingRevision && withoutRevision(t) !== withoutRevision(was))))
      throw new Problem('MALFORMED', `/tools/${n}/mappingRevision: ${t.name} is another mapping than the one in force, which has revision ${was.mappingRevision}: give it a greater one.`, { path: `/tools/${n}/mappingRevision` });
  });
  registry.tools.forEach((t, n) => {
    const digest = digestOf(t.schema);
    if (t.schemaDigest !== digest) throw new Problem('MALFORMED', `/tools/${n}/schemaDigest: it is not the digest of the schema of ${t.name}, which is ${digest}.`, { path: `/tools/${n}/schemaDigest` });
  });
  requireWorkable(registry, now);
  const c = policy === null ? null : compileRules(policy.rules, registry);
  if (c !== null && !c.ok) throw broken('With this registry the rules in force would break, so publish other rules first. ', c.faults);
}

/** What the candidate changes. Throws RULES_BROKEN where one of the two texts cannot be read. */
export function policyDiff(now: PolicyDocument | null, then: PolicyDocument, revision: number): http.PolicyDiff {
  const rules = diffRules(now?.rules ?? '', then.rules);
  if (!rules.ok) throw broken('', rules.faults);
  const before = (now ?? {}) as unknown as { readonly [field: string]: unknown };
  const after = then as unknown as { readonly [field: string]: unknown };
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((f) => f !== 'rules' && digestOf(before[f] ?? null) !== digestOf(after[f] ?? null)).sort();
  const shown = (v: unknown): http.PolicyDiff['fields'][number]['now'] => (v ?? null) as http.PolicyDiff['fields'][number]['now'];
  return { revision, rules: { added: [...rules.added], removed: [...rules.removed], changed: [...rules.changed] }, permitsNothing: rules.permitsNothing, fields: fields.map((field) => ({ field, now: shown(before[field]), would: shown(after[field]) })) };
}
