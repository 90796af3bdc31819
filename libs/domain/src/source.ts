/**
 * Results that are sources: where they were retrieved from, and whether they could be kept.
 *
 * S1. What could not be retrieved or kept whole is a gap with a name, and nothing consequential begins before it was retrieved again, or a person said that it may (SRC-2).
 * S2. Only what was kept whole can be replayed, and only after a person reviewed it; everything else is retrieved live (SRC-1).
 *
 * Rows: SRC-1, SRC-2.
 */
import { clip } from './content.js';
import type { Json } from './json.js';
import type { Source } from './run.js';

export const IDENTITY_CHARS_MAX = 2000;
export const EXCERPT_CHARS_MAX = 600;

/** The identity of what a call retrieves: the mapping's words with `{argument}` filled in, on one line. */
export function identityOf(template: string, args: Json): string {
  const o = args !== null && typeof args === 'object' && !Array.isArray(args) ? (args as { readonly [k: string]: Json }) : {};
  const filled = template.replaceAll(/\{([^{}]{1,100})\}/gu, (_, name: string) => { const v = Object.hasOwn(o, name) ? o[name] : undefined; return v === undefined ? '' : typeof v === 'string' ? v : JSON.stringify(v); });
  return clip(filled.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim(), IDENTITY_CHARS_MAX) || 'unnamed';
}
/** A short piece of it for people and models, without what does not show or turns text around. */
export const excerptOf = (text: string): string => clip(text.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' '), EXCERPT_CHARS_MAX);

export type Replay = { readonly from: 'recording' } | { readonly from: 'live'; readonly why: string } | { readonly from: 'nowhere'; readonly code: 'RECORDING_UNREVIEWED' | 'RECORDING_REJECTED'; readonly why: string };
/** How a replay gets a source (keeps S2). */
export function replayOf(s: Source): Replay {
  if (s.replay === 'live' || s.content === null) return { from: 'live', why: s.gap ?? 'it was not recorded' };
  if (s.review === 'approved') return { from: 'recording' };
  return s.review === 'rejected' ? { from: 'nowhere', code: 'RECORDING_REJECTED', why: `${s.reviewedBy?.id ?? 'a person'} rejected the recording` } : { from: 'nowhere', code: 'RECORDING_UNREVIEWED', why: 'nobody has reviewed the recording: approve it before it is replayed' };
}
