/** One table from what went wrong to what the caller hears. Trouble that may have left something behind says so. Rows: RUN-4, CON-3. */
import type { Response } from 'express';
import { ArtifactAltered, ArtifactErased, ArtifactMissing } from '@n17q/artifacts';
import { http, type AppendRefusalCode } from '@n17q/contracts';
import { ContentGone, Contended, StoreUnreachable } from '@n17q/event-log';
import { GitTrouble } from '@n17q/tools';
import { databaseIsAway } from '../read-model/away.js';
import { refusalWords, type Refusal } from './refusal-words.js';

export class Problem extends Error {
  constructor(readonly code: http.ProblemCode, readonly detail: string, readonly facts: { readonly [name: string]: unknown } = {}) { super(`${code}: ${detail}`); this.name = 'Problem'; }
}
/** Another tenant's run and one that never was are the same answer (SEC-1). */
export const noRun = (): Problem => new Problem('NOT_FOUND', 'There is no such run.');

/** Refusals of the store that have a word of their own here; for the others the store's code says more. */
const SAID: { readonly [C in AppendRefusalCode]?: http.ProblemCode } = { ILLEGAL: 'ILLEGAL', CARRIER_FIELD: 'CARRIER_FIELD', MALFORMED: 'MALFORMED', TOO_LARGE: 'TOO_LARGE', ID_REUSED: 'IDEMPOTENCY_KEY_REUSED' };
/** What the store refused, in words for people; its own words are beside them. */
export function refusal(o: Refusal, words = refusalWords(o)): Problem {
  return new Problem(SAID[o.code] ?? 'REFUSED', words, { storeCode: o.code, storeSays: o.message });
}

interface HttpLike { readonly status?: unknown; readonly statusCode?: unknown; readonly type?: unknown; readonly getStatus?: () => number }

/** From a parser or the framework: their status, never their words, which may quote what was sent. */
function ofFramework(e: HttpLike): Problem | undefined {
  const status = typeof e.getStatus === 'function' ? e.getStatus() : typeof e.status === 'number' ? e.status : e.statusCode;
  if (status === 413 || e.type === 'entity.too.large') return new Problem('TOO_LARGE', `A body is at most ${http.HTTP_BODY_BYTES_MAX} bytes.`);
  if (status === 415) return new Problem('UNSUPPORTED_MEDIA', 'The body\'s encoding or character set is not supported.');
  if (status === 404) return new Problem('METHOD_UNKNOWN', 'No operation has this method and path.');
  if (typeof status === 'number' && status >= 400 && status < 500) return new Problem('MALFORMED', e.type === 'entity.parse.failed' ? 'The body is not JSON.' : 'The request could not be read.');
  return undefined;
}

/** git is not on this machine. */
export const isNoGit = (e: unknown): boolean => e instanceof GitTrouble && e.exitCode === 'ENOENT';

/** `reads`: the request asked for nothing to be done. */
export function problemOf(e: unknown, reads = false): Problem {
  if (e instanceof Problem) return e;
  if (isNoGit(e)) return new Problem('NOT_READY', 'git is needed for this and is not found on the machine of the server: install git there and try again.');
  if (databaseIsAway(e)) return reads
    ? new Problem('STORE_UNREACHABLE', 'The store is restarting: its database does not answer yet. Nothing was done; try again in a few seconds.', { retryAfterS: 2 })
    : new Problem('OUTCOME_UNKNOWN', 'The store is restarting: its database does not answer yet, and the request may have been taken in. With an Idempotency-Key it can be repeated safely; without one, look at the run first.', { retryAfterS: 2 });
  if (e instanceof StoreUnreachable) return e.mayHaveActed
    ? new Problem('OUTCOME_UNKNOWN', 'The event store did not answer, and the request may have been taken in. With an Idempotency-Key it can be repeated safely; without one, look at the run first.', { retryAfterS: 2 })
    : new Problem('STORE_UNREACHABLE', 'The event store is out of reach. Nothing was done; try again later.', { retryAfterS: 2 });
  if (e instanceof Contended) return new Problem('BUSY', 'Others were faster every time. Nothing was done; try again.', { retryAfterS: 1 });
  if (e instanceof ArtifactErased) return new Problem('ERASED', e.message);
  if (e instanceof ArtifactAltered) return new Problem('CONTENT_ALTERED', e.message);
  if (e instanceof ArtifactMissing) return new Problem('NOT_FOUND', e.message);
  if (e instanceof ContentGone) {
    const code = { erased: 'ERASED', altered: 'CONTENT_ALTERED', missing: 'NOT_FOUND', pending: 'NOT_AT_HAND' } as const;
    return new Problem(code[e.why], e.message);
  }
  return ofFramework(e as HttpLike) ?? new Problem('DEFECT', 'The request could not be carried out; the service\'s log says more.');
}

export function sendProblem(res: Response, p: Problem): void {
  const { status, title } = http.PROBLEMS[p.code];
  const { retryAfterS, ...facts } = p.facts as { retryAfterS?: number };
  if (retryAfterS !== undefined) res.setHeader('Retry-After', String(retryAfterS));
  if (p.code === 'UNAUTHENTICATED') res.setHeader('WWW-Authenticate', 'Bearer');
  const body: http.ProblemBody = { ...facts, type: `urn:n17q:problem:${p.code.toLowerCase().replaceAll('_', '-')}`, title, status, code: p.code, detail: p.detail };
  res.status(status).type(http.PROBLEM_MEDIA).send(JSON.stringify(body));
}
