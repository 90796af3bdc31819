/**
 * What the store refused, as a sentence for whoever asked: what was wrong, and what can be done. It judges nothing; the store's own words stay beside it.
 *
 * Rows: RUN-4.
 */
import type { AppendOutcome } from '@n17q/contracts';
import type { EventType } from '@n17q/domain';

export type Refusal = Extract<AppendOutcome, { kind: 'refused' }>;

const ASKED: { readonly [T in EventType]?: string } = {
  'input.received': 'input', 'run.pause-requested': 'request to pause', 'run.resume-requested': 'request to resume', 'provider-response.continue-requested': 'request to continue a provider response',
  'run.end-requested': 'request to end', 'plan.changed': 'change of its plan', 'approval.decided': 'decision', 'approval.revoked': 'revocation', 'effect.finding-submitted': 'finding', 'receipt.received': 'receipt',
  'effect.migration-requested': 'migration', 'budget.raise-requested': 'raise of its budget', 'source.reviewed': 'review of a source', 'run.erasure-requested': 'request to erase',
};

/** The store's reasons that a person can meet, each by how it begins. */
const REASONS: readonly (readonly [begins: string, words: (asked: string) => string])[] = [
  ['the run has not ended', () => 'The run has not ended, and only the content of an ended run can be erased: ask it to end, then ask again.'],
  ['its erasure was asked', () => 'The erasure of this run was asked for already: there is nothing more to ask.'],
  ['a raise is', () => 'A raise is whole numbers, and more than nothing: say by how much money, how many tokens or calls, or how much time.'],
  ['the budget would be', () => 'The budget would be larger than can be counted: ask for less.'],
  ['this run has no source', () => 'This run has no source of this name, or a newer observation took its place: look at the sources of the run.'],
  ['the run has ended; run.end-requested', () => 'The run has ended already: there is nothing to end.'],
  ['the run has ended', (asked) => `The run has ended and takes no ${asked} any more. Notes, receipts, and findings on effects of unknown outcome still land; for anything else start a new run.`],
  ['the run exists already', () => 'A run of this name exists already: look at it, or ask again without the name.'],
  ['the run is paused already', () => 'The run is paused already: ask it to resume when it should go on.'],
  ['an effect that is', (asked) => `The outcome of this effect is not unknown, so it takes no ${asked}: look at the run again.`],
  ['this run has no open effect', (asked) => `This effect is settled and takes no ${asked} any more: look at the run again.`],
  ['a budget is', () => 'A budget is three whole numbers, zero or more: millionths of a dollar, tokens, calls.'],
  ['the approval is for another intent', () => 'The digest that was reviewed is not that of the intent in question: look at the run again, and decide on what it shows now.'],
  ['no approval', () => 'No approval of this name waits for that in this run: it is decided already, ran out, or was never asked for. Look at the run for those that wait.'],
];

export function refusalWords(o: Refusal): string {
  const { type, why } = (o.facts ?? {}) as { readonly type?: EventType; readonly why?: string };
  if (o.code !== 'ILLEGAL' || why === undefined) return o.message;
  const asked = (type === undefined ? undefined : ASKED[type]) ?? 'such request';
  return REASONS.find(([begins]) => why.startsWith(begins))?.[1](asked) ?? `The run does not allow this ${asked} in its present state: ${why}. Look at the run and ask again.`;
}
