/**
 * The five services with their real handlers, on ports in memory, under a seeded scheduler. One seed replays exactly:
 * `N17Q_SEED=7 ./n17q test test/simulation/simulation` runs that one and prints what it breaks; `N17Q_SEEDS=10000` runs more.
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Fleet } from './fleet.js';
import { normalised } from './replay.js';
import { seeds } from './seeds.js';
import { simulate } from './simulation.js';

interface Found { readonly seed: number; readonly law: string; readonly what: string }
const found: Found[] = [];
const seen = new Map<string, number>();
const ran = seeds();
const TOLD = ['event', 'model call', 'send', 'effect.outcome-unknown', 'generation.outcome-unknown', 'effect.reconciled', 'effect.duplicated', 'effect.denied', 'crash', 'found by sweep'];
/** A bound for what hangs: no seed takes a tenth of it on a calm machine. */
const boundMs = 60_000 + 1500 * ran.length;

beforeAll(async () => {
  const begun = Date.now();
  const fleet = new Fleet();
  try {
    for (const v of await Promise.all(ran.map((seed) => fleet.ask({ kind: 'seed', seed })))) {
      for (const b of v.breaches) found.push({ seed: v.seed, ...b });
      for (const [what, n] of Object.entries(v.seen)) seen.set(what, (seen.get(what) ?? 0) + n);
    }
  } finally {
    await fleet.stop();
  }
  process.stdout.write(`simulation: ${ran.length} seeds (${ran.length > 20 ? `${ran.slice(0, 12).join(' ')} … ${ran.at(-1)}` : ran.join(' ')}) in ${((Date.now() - begun) / 1000).toFixed(1)} s; ${TOLD.map((what) => `${what} ${seen.get(what) ?? 0}`).join(', ')}\n`);
}, boundMs);

const clean = (...laws: readonly string[]): void => expect(found.filter((f) => laws.includes(f.law)).map((f) => `seed ${f.seed}: ${f.what}`)).toEqual([]);

describe('the five services under a seeded scheduler', () => {
  it('[RUN-1] keep one chain per run, without holes, and propose nothing that the log must refuse', () => clean('RUN-1'));
  it('[RUN-4] go on after any crash, and no handler stays in trouble', () => clean('RUN-4'));
  it('[RUN-4] give the same state from a snapshot and a tail as from the whole', () => clean('F1'));
  it('[RUN-7] end a run with unknowns only as such, and start nothing after the end', () => clean('RUN-7'));
  it('[SEAL-1, SEAL-2, SEAL-8] seal whole checkpoints together with their events', () => clean('SEAL-1', 'SEAL-2', 'SEAL-8'));
  it('[SEAL-5] leave no unresolved effect out of a checkpoint', () => clean('SEAL-5'));
  it('[SEAL-6] seal after every boundary and before anything starts', () => clean('SEAL-6'));
  it('[EFF-2] write every attempt and every model call before it leaves', () => clean('EFF-2'));
  it('[EFF-3] never call an unknown outcome anything else', () => clean('EFF-3'));
  it('[EFF-4] never send twice what may happen once', () => clean('EFF-4'));
  it('[EFF-5] settle an unknown effect by evidence alone, and rightly', () => clean('EFF-5'));
  it('[EFF-6] start nothing in the scope of an unresolved effect, of whatever run', () => clean('EFF-6'));
  it('[EFF-7] start nothing on a permit that is not the gate\'s, spent, expired, or older than the authority', () => clean('EFF-7'));
  it('[EFF-9] name what happened twice', () => clean('EFF-9'));
  it('[EFF-10] dispatch an attempt once, whoever else found it', () => clean('EFF-10'));
  it('[BUD-2] spend nothing that was not reserved, and nothing beyond the grant', () => clean('BUD-2'));
  it('[BUD-5] keep the tenant\'s account exact and never below zero', () => clean('BUD-5'));
  it('[CTX-3] tell every model what is unresolved', () => clean('CTX-3'));
  it('[CON-1] show an opaque piece nowhere but on the wire', () => clean('CON-1'));
  it('[CON-2] send every opaque piece back as it came, in its place, to its issuer', () => clean('CON-2'));
  it('[RES-3, RES-8] mark every change of configuration, and tell every attempt\'s segment', () => clean('RES-3', 'RES-8'));
  it('[RES-9] say of every generation what it was', () => clean('RES-9'));
  it('[SVC-1] write each its own kinds of events', () => clean('SVC-1'));
  it('[SCH-2] forget no run: at rest each has ended, or names what it waits for', () => clean('SCH-2'));

  it('[EFF-1] tell in every checkpoint the whole of what is unresolved', () => clean('EFF-1'));
  it('[TOOL-1] pin every request to a registry that has its tool', () => clean('TOOL-1'));
  it('[TOOL-4, TOOL-5] start no tool that was removed, or that another one stands for now', () => clean('TOOL-4', 'TOOL-5'));
  it('[POL-1] start nothing under a policy, registry, role, delegation or account that is not the current one', () => clean('POL-1'));
  it('[POL-2] stop at a restriction that came after the plan', () => clean('POL-2'));
  it('[POL-4] permit nothing without a policy and what it needs', () => clean('POL-4'));
  it('[POL-5] ask the world under a permit to look alone', () => clean('POL-5'));
  it('[APP-1] keep what people decided, as they were told', () => clean('APP-1'));
  it('[APP-2] ask where the policy wants a person, and take the word of those alone who may give it, for exactly this', () => clean('APP-2'));
  it('[APP-3] take no approval that was refused, revoked, spent, or ran out', () => clean('APP-3'));
  it('[BUD-3] keep what nobody knows the cost of', () => clean('BUD-3'));
  it('[RES-1] judge anew after a resume, and ask about what is unknown first', () => clean('RES-1'));
  it('[SCH-1] write down for every wait who comes back, and when, and end what is repeated', () => clean('SCH-1'));
  it('[SCH-3] judge anew when a wait is over', () => clean('SCH-3'));
  it('[SRC-2] rest nothing on a source that is missing', () => clean('SRC-2'));
  it('[NAT-4] give nothing for what a provider remembers', () => clean('NAT-4'));

  it('meet what they are tried with', () => {
    if (ran.length < 500) return; // few seeds cannot show everything
    for (const what of [
      'crash', 'found by sweep', 'effect.outcome-unknown', 'generation.outcome-unknown', 'effect.reconciled', 'effect.looked', 'effect.not-sent', 'effect.refused', 'effect.denied', 'effect.needs-person', 'finding.accepted', 'receipt.received',
      'approval.requested', 'run.paused', 'run.resumed', 'run.ended', 'segment.started', 'continuation.retained', 'budget.exhausted', 'call.refused', 'policy.published', 'effect.duplicated',
      'approval.decided approved', 'approval.decided rejected', 'approval.revoked', 'decided by mara', 'decided by ivan', 'permit on an approval', 'effect.denied NOT_APPROVED', 'effect.denied POLICY_FORBIDS', 'effect.denied TOOL_NOT_MAPPED', 'effect.denied EFFECT_UNRESOLVED',
      'generation.denied POLICY_UNAVAILABLE', 'context.blocked REGISTRY_UNAVAILABLE', 'roles.published', 'registry.published', 'look at what is no longer a tool', 'effect.denied DELEGATION_ENDED', 'generation.denied DELEGATION_ENDED', 'budget.raised', 'budget.raise-refused', 'effect.migrated', 'effect.migration-refused', 'source.observed', 'source.reviewed approved', 'effect.denied SOURCE_MISSING', 'run.paused WORK_TIME_EXHAUSTED', 'provider that remembers',
      'send read-only', 'send contained', 'send idempotent', 'send keyed', 'send queryable', 'send neither',
    ]) expect(`${what}: ${(seen.get(what) ?? 0) > 0}`).toBe(`${what}: true`);
  });

  it('replay a seed exactly', async () => {
    for (const seed of [ran[0] ?? 1, ran.at(-1) ?? 2]) expect(normalised(await simulate(seed))).toEqual(normalised(await simulate(seed)));
  }, 60_000);
});
