/**
 * The tenant's own rules, as the gate asks them. What is asked is plain data made here; who answers is a port, since a language for rules is a library's
 * matter. An answer can only narrow: what the invariants refuse is never asked.
 *
 * P1. A rule that cannot be evaluated denies, and says that it is broken. It is never passed over.
 * P2. `ask` means: it would be allowed if a person had approved exactly this, and is not allowed as it is.
 *
 * Rows: POL-1, POL-2, POL-3, POL-4.
 */
import type { Amounts } from './budget.js';
import type { ContractKind } from './contract.js';
import type { Json } from './json.js';
import type { DataClass } from './tool.js';

/** `call`: send it, for the first time or again. `look`: ask the world about it. The last three are what people do. */
export const RULE_ACTIONS = ['call', 'look', 'generate', 'approve', 'find', 'raise'] as const;
export type RuleAction = (typeof RULE_ACTIONS)[number];

/** For whom it is done: who asked for the run, or on whose behalf; for what people do, the person. */
export interface RulePrincipal { readonly kind: 'person' | 'service'; readonly id: string; readonly roles: readonly string[] }

export type RuleResource =
  | { readonly kind: 'tool'; readonly name: string; readonly server: string; readonly target: string; readonly contract: ContractKind; readonly dataClass: DataClass }
  | { readonly kind: 'model'; readonly provider: string; readonly account: string; readonly model: string; readonly storesContent: boolean };

export interface RuleQuestion {
  readonly action: RuleAction;
  readonly principal: RulePrincipal;
  readonly resource: RuleResource;
  /** Of a call: the arguments that would be sent, valid under the tool's schema. Null: none, or nobody can read them any more. */
  readonly args: Json | null;
  /** A person with the authority to do so approved exactly this, and the approval stands. */
  readonly approved: boolean;
  /** Who acts for the principal under a delegation that stands; null: nobody. */
  readonly delegate: string | null;
  /** Attempts made before this one. */
  readonly attempts: number;
  /** What this costs at most. */
  readonly cost: Amounts;
  readonly budgetLeft: Amounts;
  /** Of all results that the run has taken in, the most confidential. */
  readonly dataClass: DataClass;
  /** Identities of sources that were observed lately enough to be relied on. */
  readonly observed: readonly string[];
  /** The principal asked for what is approved here. */
  readonly ownRequest: boolean;
}

export type RuleAnswer =
  /** `by`: ids of the rules that decided. `reasons`: in the words of the rules. */
  | { readonly kind: 'allow' | 'deny'; readonly by: readonly string[]; readonly reasons: readonly string[] }
  | { readonly kind: 'broken'; readonly reason: string };

/** The rules of one tenant at one revision of policy and registry. Pure: the same question has the same answer. */
export type Rules = (q: RuleQuestion) => RuleAnswer;

export type RuleVerdict =
  | { readonly kind: 'allow'; readonly by: readonly string[] }
  | { readonly kind: 'ask' | 'deny'; readonly by: readonly string[]; readonly reasons: readonly string[] }
  | { readonly kind: 'broken'; readonly reason: string };

/** Asks as it is, and where that is refused, as it would be with an approval (keeps P2). */
export function verdictOf(rules: Rules, q: RuleQuestion): RuleVerdict {
  const now = rules(q);
  if (now.kind === 'broken') return now;
  if (now.kind === 'allow') return { kind: 'allow', by: now.by };
  if (q.approved) return { kind: 'deny', by: now.by, reasons: now.reasons };
  const approved = rules({ ...q, approved: true });
  if (approved.kind === 'broken') return approved;
  return { kind: approved.kind === 'allow' ? 'ask' : 'deny', by: now.by, reasons: now.reasons };
}
