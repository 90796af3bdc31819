/**
 * What a tool promises about being called twice, and what follows from it. These tables are the law on repetition; the
 * gate, the reconciler, the compiler and the store all read them here.
 *
 * Rows: EFF-1, EFF-3, EFF-4, EFF-5, EFF-6.
 */

export const CONTRACT_KINDS = ['read-only', 'contained', 'idempotent', 'keyed', 'queryable', 'neither'] as const;
export type ContractKind = (typeof CONTRACT_KINDS)[number];

export interface EffectContract {
  readonly kind: ContractKind;
  /** `keyed`: how long the target remembers a key, from the first attempt. */
  readonly keyLifeMs?: number;
  /** `idempotent`: the argument that carries the precondition (a version, an entity tag). Every attempt sends it, so that the target itself compares before it writes. */
  readonly precondition?: string;
  /** `queryable`, or `keyed` at a target that can also be asked. `absenceFinalAfterMs` null: absence is never final. */
  readonly query?: { readonly absenceFinalAfterMs: number | null };
}

/** An effect is consequential unless its contract says that calling it leaves the world as it was. */
export const isConsequential = (c: EffectContract): boolean => c.kind !== 'read-only' && c.kind !== 'contained';

/** What the system may do on its own with an effect of unknown outcome. A person's finding is always possible. */
export type Recovery = 'attempt-again' | 'attempt-again-with-same-key' | 'attempt-again-if-precondition-holds' | 'look' | 'wait-for-evidence';

interface AfterUnknown { readonly recoveries: readonly Recovery[]; readonly why: string }

export const AFTER_UNKNOWN: { readonly [K in ContractKind]: AfterUnknown } = {
  'read-only': { recoveries: ['attempt-again'], why: 'nothing in the world changed' },
  contained: { recoveries: ['attempt-again'], why: 'the sandbox was fresh and is gone' },
  idempotent: { recoveries: ['attempt-again-if-precondition-holds', 'wait-for-evidence'], why: 'the target compares before it writes' },
  keyed: { recoveries: ['attempt-again-with-same-key', 'wait-for-evidence'], why: 'the target knows the key while the key lives' },
  queryable: { recoveries: ['look', 'wait-for-evidence'], why: 'the target can be asked' },
  neither: { recoveries: ['wait-for-evidence'], why: 'no key, no query: only a receipt or a person can tell' },
};

/** Safety margin before the end of a key's life: a repetition must arrive while the key is still known. */
export const KEY_LIFE_MARGIN = 0.5;

/** From this store time on, in ms, a key that was first used at `firstAttemptAt` is not relied on. */
export const keyTrustedUntil = (c: EffectContract, firstAttemptAt: number): number => firstAttemptAt + Math.floor((c.keyLifeMs ?? 0) * KEY_LIFE_MARGIN);

/**
 * The recoveries open to an unresolved effect now. `firstAttemptAt` and `now` are store times in ms.
 * A keyed target that can also be asked is asked first: looking costs nothing.
 */
export function recoveriesOf(c: EffectContract, firstAttemptAt: number, now: number): readonly Recovery[] {
  const open: Recovery[] = [];
  if (c.query) open.push('look');
  for (const r of AFTER_UNKNOWN[c.kind].recoveries) {
    if (r === 'attempt-again-with-same-key' && !(now < keyTrustedUntil(c, firstAttemptAt))) continue;
    if (r === 'attempt-again-if-precondition-holds' && c.precondition === undefined) continue;
    if (!open.includes(r)) open.push(r);
  }
  return open;
}

/** Which fields must be there for a kind; anything else in a contract is refused at publication. */
export const CONTRACT_FIELDS: { readonly [K in ContractKind]: { readonly required: readonly (keyof EffectContract)[]; readonly allowed: readonly (keyof EffectContract)[] } } = {
  'read-only': { required: [], allowed: [] },
  contained: { required: [], allowed: [] },
  idempotent: { required: ['precondition'], allowed: ['query'] },
  keyed: { required: ['keyLifeMs'], allowed: ['query'] },
  queryable: { required: ['query'], allowed: [] },
  neither: { required: [], allowed: [] },
};

/**
 * What an unresolved effect does to a new intent in the same scope. `siblings` are intents of one model output: they are judged together and
 * pass each other. Another scope always passes.
 */
export type Interference = 'allow' | 'ask' | 'deny';
export const INTERFERENCE: { readonly [Unresolved in ContractKind]: { readonly [Requested in ContractKind]: Interference } } = {
  'read-only': { 'read-only': 'allow', contained: 'allow', idempotent: 'allow', keyed: 'allow', queryable: 'allow', neither: 'allow' },
  contained: { 'read-only': 'allow', contained: 'allow', idempotent: 'allow', keyed: 'allow', queryable: 'allow', neither: 'allow' },
  idempotent: { 'read-only': 'allow', contained: 'allow', idempotent: 'ask', keyed: 'deny', queryable: 'deny', neither: 'deny' },
  keyed: { 'read-only': 'allow', contained: 'allow', idempotent: 'deny', keyed: 'deny', queryable: 'deny', neither: 'deny' },
  queryable: { 'read-only': 'allow', contained: 'allow', idempotent: 'deny', keyed: 'deny', queryable: 'deny', neither: 'deny' },
  neither: { 'read-only': 'allow', contained: 'allow', idempotent: 'deny', keyed: 'deny', queryable: 'deny', neither: 'deny' },
};
