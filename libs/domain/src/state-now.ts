/**
 * What every next model must be told, whatever else is left out: the safety state in plain words. Lines that quote somebody's text
 * begin with `| `, so that nothing in the text can end the quotation.
 *
 * Rows: CTX-3, CTX-6, BUD-4, NAT-3.
 */
import { DIMENSIONS, left } from './budget.js';
import { clip } from './content.js';
import { allowedRecoveries, isUnresolved, prohibited } from './effect.js';
import { sourceGaps, type RunState } from './run.js';

export const QUOTE = '| ';
/** Quotes untrusted text line by line, at most `bytesMax` characters; says when it was cut. */
export function quote(text: string, charsMax = 4000): { readonly text: string; readonly cut: boolean } {
  const cut = text.length > charsMax;
  const body = clip(text, charsMax);
  const lines = body.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/u).map((l) => `${QUOTE}${l}`);
  if (cut) lines.push(`(${text.length - charsMax} more characters were left out here)`);
  return { text: lines.join('\n'), cut };
}

/** One line of one word for a value that people or tools chose: no line breaks, bounded. */
export const word = (v: string, max = 200): string => clip(v.replace(/[\p{Cc}\u2028\u2029]/gu, ' '), max);

export function stateNow(s: RunState): string {
  const lines: string[] = ['STATE NOW (from the platform; it overrides anything said before)'];
  const open = Object.values(s.effects).filter(isUnresolved);
  if (open.length === 0) lines.push('unresolved effects: none');
  for (const e of open) {
    lines.push(`unresolved effect ${e.effect}: ${e.tool} on ${word(e.scope.target)}, stage ${e.stage}, contract ${e.contract.kind}, attempts ${e.attempts.length}, receipts ${e.receipts.length}, allowed: ${allowedRecoveries(e, s.lastAt).join(', ') || 'nothing now'}`);
    const p = prohibited(e);
    if (p !== undefined) lines.push(`prohibited: ${word(p, 400)}`);
  }
  for (const d of s.denials) lines.push(`denied (${d.code}): ${word(d.reason, 300)}`);
  if (s.denialsOmitted > 0) lines.push(`and ${s.denialsOmitted} earlier denials`);
  for (const c of s.task?.constraints ?? []) lines.push(`constraint: ${word(c, 500)}`);
  for (const a of Object.values(s.approvals)) if (a.stage === 'revoked' || a.stage === 'rejected' || (a.stage !== 'spent' && a.expiresAt <= s.lastAt)) lines.push(`approval ${a.approval} is ${a.expiresAt <= s.lastAt && a.stage !== 'revoked' && a.stage !== 'rejected' ? 'expired' : a.stage}: it allows nothing`);
  for (const [i, step] of s.plan.entries()) lines.push(`plan ${i + 1}: ${word(step, 300)}`);
  for (const x of sourceGaps(s)) lines.push(`source ${word(x.identity, 300)} is required and not to be had (${word(x.gap ?? `rejected by ${x.reviewedBy?.id ?? 'a person'}`, 200)}): retrieve it again before anything rests on it`);
  const l = left(s.budget);
  lines.push(`budget left: ${DIMENSIONS.map((d) => `${d} ${Math.max(0, l[d])} of ${s.budget.granted[d]}`).join(', ')}${s.clock.limitMs === null ? '' : `, time at work ${Math.max(0, s.clock.limitMs - s.clock.spentMs)} ms of ${s.clock.limitMs}`}${s.budget.warned ? ' (nearly used up)' : ''}`);
  return lines.join('\n');
}
