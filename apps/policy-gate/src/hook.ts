/**
 * The tenant's restricting hook: one request for each call that is judged. It can refuse a call or have a person asked; it can allow nothing that rules and
 * invariants refuse. No complete answer in time is a refusal (POL-4).
 *
 * Rows: POL-2, POL-4.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { clip, type DecisionView, type Effect, type HookAnswer, type Json, type PolicyHook } from '@n17q/domain';
import { httpOnce } from '@n17q/platform';

export type Ask = (hook: PolicyHook, v: DecisionView, e: Effect, args: Json | null) => Promise<HookAnswer>;

const ANSWER_BYTES_MAX = 16_384;
const REASON_CHARS_MAX = 1000;
const answer = z.object({ answer: z.enum(['allow', 'ask', 'deny']), reason: z.string().max(REASON_CHARS_MAX).default('') });
const refused = (why: string): HookAnswer => ({ answer: 'deny', reason: `it gave no answer (${why})` });

/** `credentialsDir`: one file per credential that a hook may name; null: this gate has none. */
export const askHook = (credentialsDir: string | null): Ask => async (hook, v, e, args) => {
  const headers: Record<string, string> = { 'content-type': 'application/json', accept: 'application/json' };
  if (hook.credential !== undefined) {
    const token = credential(credentialsDir, hook.credential);
    if (token === null) return refused('CREDENTIAL_UNAVAILABLE');
    headers['authorization'] = `Bearer ${token}`;
  }
  const { state: s } = v;
  const body = JSON.stringify({
    tenant: s.tenant, run: s.run, revision: s.revision, policyRevision: v.tenant.policy?.revision ?? 0, requester: s.requester, onBehalfOf: s.onBehalfOf,
    effect: e.effect, subject: e.subject, tool: e.tool, server: e.mapping.server, target: e.scope.target, contract: e.contract.kind, dataClass: e.dataClass, attempts: e.attempts.length, cost: e.amounts, ...(args === null ? {} : { args }),
  });
  const o = await httpOnce({ method: 'POST', url: hook.url, headers, body, connectTimeoutMs: hook.timeoutMs, timeoutMs: hook.timeoutMs, responseBytesMax: ANSWER_BYTES_MAX });
  if (o.kind !== 'answered') return refused(o.cause);
  if (o.status !== 200) return refused(`STATUS_${o.status}`);
  const parsed = parse(o.body.toString('utf8'));
  return parsed === null ? refused('ANSWER_MALFORMED') : { answer: parsed.answer, reason: clip(parsed.reason, REASON_CHARS_MAX) };
};

function parse(text: string): z.output<typeof answer> | null {
  let json: unknown;
  try { json = JSON.parse(text); } catch { return null; }
  const p = answer.safeParse(json);
  return p.success ? p.data : null;
}
function credential(dir: string | null, name: string): string | null {
  if (dir === null || !/^[a-z0-9][a-z0-9._-]{0,63}$/.test(name)) return null;
  try { return readFileSync(join(dir, name), 'utf8').trim(); } catch { return null; } // said as CREDENTIAL_UNAVAILABLE: the message could name a secret's place
}
