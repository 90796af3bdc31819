/**
 * What a caller may send to the HTTP API. Unknown fields are refused, everything is bounded, and nobody names a person: the token does.
 *
 * Rows: CON-3, RES-2, EFF-5.
 */
import { z } from 'zod';
import { allowanceLimits, amounts, EVENT_SCHEMAS } from './event-schemas.js';

const o = z.strictObject;
const text = (max: number): z.ZodString => z.string().min(1).max(max);
/** A text that says something: not only blanks. */
const words = (max: number): z.ZodString => text(max).regex(/\S/u, 'it is blank: say something');
const line = (max: number): z.ZodString => z.string().min(1).max(max).regex(/^[^\p{Cc}]*$/u, 'control characters and line breaks do not belong here');
const word = line(200);
/** SHA-256, lower-case hex. */
const digest = z.string().regex(/^[0-9a-f]{64}$/);

export const TEXT_CHARS_MAX = 200_000;
export const EVIDENCE_CHARS_MAX = 600_000;
/** Bytes of a request's body. */
export const HTTP_BODY_BYTES_MAX = 1_048_576;
export const PAGE_MAX = 500;

export const newRun = o({
  goal: words(TEXT_CHARS_MAX).describe('What the run is for, in words.'),
  title: line(300).optional().describe('Default: the first line of the goal.'),
  retention: z.enum(['metadata-only', 'standard', 'archival']).default('standard'),
  budget: o({ usd_micros: z.int().min(0).default(1_000_000), tokens: z.int().min(0).default(500_000), calls: z.int().min(0).default(100) }).prefault({}).describe('What the run may spend over its whole life; drawn from the tenant in slices.'),
  constraints: z.array(text(4000)).max(50).default([]),
  tools: z.array(word).max(100).default([]).describe('Names of registered tools that the run is offered; empty: all.'),
  repo: z.string().min(1).max(4096).startsWith('/').optional().describe('Absolute path of a git repository on the server\'s machine. It is only read; work happens on a clone. Needs N17Q_ALLOW_LOCAL_REPOS=1 there.'),
  whenDone: z.enum(['end', 'await-input']).default('end'),
  onBehalfOf: word.optional().describe('For whom it is asked: a person who has delegated this to the caller. Default: for the caller.'),
  wallMs: z.number().int().min(1000).max(31_536_000_000).optional().describe('How long the run may be at work, waits for people left out. Default: no bound.'),
  changePolicy: z.enum(['allow', 'review', 'forbid']).default('allow').describe('May the decision-maker (provider, model, adapter) change within the run?'),
});
export const newInput = o({ text: words(TEXT_CHARS_MAX) });
export const withReason = o({ reason: text(4000) });
export const newNote = o({ text: words(TEXT_CHARS_MAX), visibility: z.enum(['run', 'people']).default('run') });
export const newPlan = o({ steps: z.array(text(4000)).max(100) });
export const approvalDecision = o({ decision: z.enum(['approved', 'rejected']), subject: digest.describe('Digest of the intent that was reviewed, as the run\'s view shows it.'), note: z.string().max(4000).default('') });
export const newFinding = o({
  verdict: z.enum(['happened', 'did-not-happen']),
  evidence: z.union([text(EVIDENCE_CHARS_MAX), o({ base64: z.base64().min(1).max(EVIDENCE_CHARS_MAX), media: z.string().max(200).regex(/^[\w.+-]+\/[\w.+-]+$/).default('application/octet-stream') })]),
});
export const newAllowance = o({ amounts, reason: text(4000) });
/** What the tenant's runs may draw in each window of a length, counted from 1970; it replaces all limits before it. */
export const newAllowanceLimits = allowanceLimits;
const more = z.int().min(0).max(1_000_000_000_000).default(0);
export const newRaise = o({
  amounts: o({ usd_micros: more, tokens: more, calls: more }).default({ usd_micros: 0, tokens: 0, calls: 0 }).describe('By how much the run\'s budget is to grow.'),
  wallMs: z.int().min(0).max(31_536_000_000).default(0).describe('By how much its time at work is to grow.'),
  reason: words(4000),
}).refine((r) => r.wallMs + r.amounts.usd_micros + r.amounts.tokens + r.amounts.calls > 0, { error: 'a raise is more than nothing', path: ['amounts'] });
export const newMigration = o({ tool: word.describe('Name of the tool, as it is registered now, that can be asked about the effect.'), reason: words(4000) });
export const sourceReview = o({ decision: z.enum(['approved', 'rejected']), note: z.string().max(4000).default('') });
export const newErasure = o({ reason: words(4000) });
/** `from` is the caller, always. */
export const newDelegation = o({ to: word.describe('Who may act for the caller.'), tools: z.array(word).min(1).max(100).describe('With which tools; `*`: all.'), until: z.iso.datetime().optional().describe('Until when. Default: until it is taken back.') });
/** Bytes of the body with which a tool deposits its receipt. */
export const RECEIPT_BYTES_MAX = 65_536;
export const toolReceipt = o({ receipt: z.json() });

export const TENANT_DOCUMENTS = {
  policy: EVENT_SCHEMAS['policy.published'], registry: EVENT_SCHEMAS['registry.published'], profiles: EVENT_SCHEMAS['profiles.published'], roles: EVENT_SCHEMAS['roles.published'],
} as const;
export type DocumentTopic = keyof typeof TENANT_DOCUMENTS;

const page = (or: number) => z.coerce.number().int().min(1).max(PAGE_MAX).default(or);
export const runsQuery = o({ after: z.string().max(200).optional().describe('The `next` of the page before.'), limit: page(50) });
export const revisionsQuery = o({ before: z.coerce.number().int().min(1).max(2_147_483_647).optional().describe('The `next` of the page before.'), limit: page(50) });
export const eventsQuery = o({ after: z.coerce.number().int().min(0).max(2_147_483_647).default(0).describe('Revision after which to begin.'), limit: page(100) });
export const decisionsQuery = o({ after: z.coerce.number().int().min(0).max(2_147_483_647).default(0).describe('Revision after which to begin.'), limit: page(50) });
export const streamQuery = o({ after: z.coerce.number().int().min(0).max(2_147_483_647).optional().describe('Revision after which to begin; `Last-Event-ID` comes before it.') });

/** As a caller writes it: fields with defaults may be left out. */
export type NewRun = z.input<typeof newRun>;
export type NewRunRead = z.output<typeof newRun>;
export type NewFinding = z.input<typeof newFinding>;
export type NewNote = z.input<typeof newNote>;
export type ApprovalDecision = z.input<typeof approvalDecision>;
export type NewAllowance = z.input<typeof newAllowance>;
export type NewAllowanceLimits = z.input<typeof newAllowanceLimits>;
export type NewRaise = z.input<typeof newRaise>;
export type NewMigration = z.input<typeof newMigration>;
export type SourceReview = z.input<typeof sourceReview>;
export type NewDelegation = z.input<typeof newDelegation>;
