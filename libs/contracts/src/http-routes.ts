/**
 * The operations of the HTTP API as data: the description (OpenAPI) is made from this table, and a test compares it with what the service routes.
 *
 * Rows: RES-2.
 */
import type { z } from 'zod';
import * as requests from './http-requests.js';
import * as views from './http-views.js';
import { TENANT_DOCUMENTS } from './http-requests.js';

export interface HttpRoute {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** With `{name}` for each path parameter. */
  readonly path: string;
  readonly operation: string;
  readonly summary: string;
  readonly body?: z.ZodType;
  readonly query?: z.ZodObject;
  readonly status: number;
  /** A schema is answered as JSON; text names the media type of another answer. */
  readonly answer: z.ZodType | string;
  /** Takes an `Idempotency-Key`: a repeat with the same key and the same body gives the first answer. */
  readonly keyed?: true;
  /** Takes a tool's capability for one effect, and no person's token. */
  readonly capability?: true;
  /** Needs no token. */
  readonly open?: true;
  /** Takes `If-Match` with a document's revision. */
  readonly matched?: true;
}

const ask = (path: string, operation: string, summary: string, body: z.ZodType): HttpRoute => ({ method: 'post', path: `/v1/runs/{run}/${path}`, operation, summary, body, status: 202, answer: views.accepted, keyed: true });
const documents: readonly HttpRoute[] = (Object.keys(TENANT_DOCUMENTS) as (keyof typeof TENANT_DOCUMENTS)[]).flatMap((topic): HttpRoute[] => [
  { method: 'get', path: `/v1/tenant/${topic}`, operation: `get_${topic}`, summary: `The tenant's ${topic} and its revision (also as ETag).`, status: 200, answer: views.tenantDocument },
  { method: 'put', path: `/v1/tenant/${topic}`, operation: `publish_${topic}`, summary: `Publishes the tenant's ${topic} as a new revision.`, body: TENANT_DOCUMENTS[topic], status: 200, answer: views.published, matched: true },
]);

export const HTTP_ROUTES: readonly HttpRoute[] = [
  { method: 'post', path: '/v1/runs', operation: 'create_run', summary: 'Creates a run.', body: requests.newRun, status: 201, answer: views.accepted, keyed: true },
  { method: 'get', path: '/v1/runs', operation: 'list_runs', summary: 'The tenant\'s runs, newest first, out of the read model.', query: requests.runsQuery, status: 200, answer: views.runsPage },
  { method: 'get', path: '/v1/runs/{run}', operation: 'show_run', summary: 'The run\'s state for a person, folded from the log now.', status: 200, answer: views.runView },
  { method: 'get', path: '/v1/runs/{run}/events', operation: 'read_events', summary: 'Events in order of revision.', query: requests.eventsQuery, status: 200, answer: views.eventsPage },
  { method: 'get', path: '/v1/runs/{run}/stream', operation: 'stream_events', summary: 'Events as they come (server-sent events; the id is the revision; resumes after Last-Event-ID).', query: requests.streamQuery, status: 200, answer: 'text/event-stream' },
  { method: 'get', path: '/v1/runs/{run}/content/{commitment}', operation: 'read_content', summary: 'Bytes that an event of this run cites. Continuations are refused.', status: 200, answer: 'application/octet-stream' },
  { method: 'get', path: '/v1/runs/{run}/diff', operation: 'workspace_diff', summary: 'Unified diff of the workspace against its base.', status: 200, answer: 'text/plain' },
  ask('inputs', 'add_input', 'Gives the run an input.', requests.newInput),
  ask('pause', 'pause_run', 'Asks for a pause.', requests.withReason),
  ask('resume', 'resume_run', 'Resume run: unresolved effects are reconciled and current policy is evaluated before the next consequential action.', requests.withReason),
  ask('continue-provider-response', 'continue_provider_response', 'Continue provider response: asks that the provider\'s own response is continued natively, if policy, retention and compatibility allow it.', requests.withReason),
  ask('end', 'end_run', 'Asks for the run\'s end.', requests.withReason),
  ask('notes', 'add_note', 'Adds a note.', requests.newNote),
  ask('plan', 'change_plan', 'Replaces the plan.', requests.newPlan),
  ask('approvals/{approval}', 'decide_approval', 'Decides an approval for one exact intent.', requests.approvalDecision),
  ask('approvals/{approval}/revoke', 'revoke_approval', 'Revokes an approval.', requests.withReason),
  ask('effects/{effect}/finding', 'submit_finding', 'Says what a person found about an effect of unknown outcome; the gate judges it.', requests.newFinding),
  ask('effects/{effect}/migration', 'migrate_effect', 'Asks that an effect of unknown outcome, whose tool is gone or another now, is looked at as this tool; the gate judges it.', requests.newMigration),
  ask('budget/raise', 'raise_budget', 'Asks that the run\'s budget or its time at work is raised; the gate judges it, and what waited for it goes on.', requests.newRaise),
  ask('erasure', 'erase_run', 'Asks that the contents of an ended run are erased. Its record stays; what is unresolved stays unresolved.', requests.newErasure),
  { method: 'get', path: '/v1/runs/{run}/sources', operation: 'list_sources', summary: 'What the run retrieved, how a replay gets each, and which required ones are missing.', status: 200, answer: views.sourcesView },
  ask('sources/{source}/review', 'review_source', 'Approves or rejects what was recorded of a source.', requests.sourceReview),
  { method: 'get', path: '/v1/runs/{run}/sources/{source}/recording', operation: 'read_recording', summary: 'What was recorded of a source, for a replay: only if a person approved it.', status: 200, answer: 'application/octet-stream' },
  { method: 'get', path: '/v1/runs/{run}/decisions', operation: 'read_decisions', summary: 'What the policy gate decided about the run, in order of revision, each with its grounds.', query: requests.decisionsQuery, status: 200, answer: views.decisionsPage },
  { method: 'post', path: '/v1/receipts', operation: 'deposit_receipt', summary: 'A tool deposits its receipt for the one effect that its capability (the bearer token that came with the call) is for.', body: requests.toolReceipt, status: 202, answer: views.accepted, keyed: true, capability: true },
  ...documents,
  { method: 'get', path: '/v1/tenant/policy/schema', operation: 'rule_schema', summary: 'What rules can be about, as a schema in Cedar\'s language, made from the registry.', status: 200, answer: 'text/plain' },
  { method: 'get', path: '/v1/tenant/policy/revisions', operation: 'policy_revisions', summary: 'Every publication of the policy, the newest first. Publishing the document of an old one again brings it back as a new revision.', query: requests.revisionsQuery, status: 200, answer: views.documentRevisions },
  { method: 'get', path: '/v1/tenant/policy/revisions/{revision}', operation: 'policy_revision', summary: 'The policy as it was at a revision.', status: 200, answer: views.tenantDocument },
  { method: 'post', path: '/v1/tenant/policy/diff', operation: 'diff_policy', summary: 'What a candidate changes: rules by their ids, and other fields. Layout is no change. Publishes nothing.', body: TENANT_DOCUMENTS.policy, status: 200, answer: views.policyDiff },
  { method: 'post', path: '/v1/tenant/policy/dry-run', operation: 'try_policy', summary: 'Judges the tenant\'s newest recorded decisions again under a candidate and says which would have been others. Publishes nothing, permits nothing.', body: TENANT_DOCUMENTS.policy, status: 200, answer: views.policyTrial },
  { method: 'get', path: '/v1/tenant/delegations', operation: 'list_delegations', summary: 'Who may act for whom, with what, until when.', status: 200, answer: views.delegationsView },
  { method: 'post', path: '/v1/tenant/delegations', operation: 'delegate', summary: 'The caller lets somebody act for them.', body: requests.newDelegation, status: 201, answer: views.delegated, keyed: true, matched: true },
  { method: 'delete', path: '/v1/tenant/delegations/{delegation}', operation: 'take_back_delegation', summary: 'The caller takes back a delegation that they gave.', status: 200, answer: views.published, matched: true },
  { method: 'delete', path: '/v1/tenant/profiles/accounts/{account}', operation: 'remove_account', summary: 'Publishes the provider profiles without this account.', status: 200, answer: views.published, matched: true },
  { method: 'get', path: '/v1/tenant/allowance', operation: 'get_allowance', summary: 'What the tenant\'s account still holds, and what its limits per window still let through.', status: 200, answer: views.allowanceView },
  { method: 'post', path: '/v1/tenant/allowance', operation: 'grant_allowance', summary: 'Adds to the tenant\'s account.', body: requests.newAllowance, status: 201, answer: views.published, keyed: true },
  { method: 'put', path: '/v1/tenant/allowance/limits', operation: 'limit_allowance', summary: 'Replaces the limits per window on what the tenant\'s runs draw; none: no limit. One of the same length keeps what was drawn in its current window.', body: requests.newAllowanceLimits, status: 200, answer: views.published, matched: true },
  { method: 'get', path: '/v1/health/live', operation: 'live', summary: 'The process answers.', status: 200, answer: views.health, open: true },
  { method: 'get', path: '/v1/health/ready', operation: 'ready', summary: 'Bus, store and database are within reach.', status: 200, answer: views.health, open: true },
  { method: 'get', path: '/v1/openapi.json', operation: 'description', summary: 'This description.', status: 200, answer: 'application/json', open: true },
];
