/**
 * The public client of N17Q: every operation of the HTTP API, typed.
 *
 * Requests that change something carry an idempotency key, a fresh one unless given, and are not repeated by the client. After N17qUnreachable, or a
 * problem OUTCOME_UNKNOWN, repeat the call with the same key: it then gives the first answer, or is taken in now.
 *
 * Rows: RES-2, SVC-2 (shape).
 */
import type { http } from '@n17q/contracts';
import type { EventEnvelope, PolicyDocument, ProfilesDocument, RegistryDocument, RolesDocument } from '@n17q/domain';
import { N17qTimeout } from './errors.js';
import { runEvents, type EventsOptions } from './events.js';
import { query, segment, Transport, type ClientOptions, type Sent } from './transport.js';

/** `key`: at least 8 visible ASCII characters, your own name for this one request. */
export interface Keyed { readonly key?: string }
/** `ifRevision`: publish only if the document still has this revision; otherwise PRECONDITION_FAILED with the revision that it has. */
export interface IfRevision { readonly ifRevision?: number }
export interface Document<T> { readonly revision: number; readonly document: T | null }
export interface WaitOptions { readonly withinMs: number; readonly signal?: AbortSignal }
interface Documents { readonly policy: PolicyDocument; readonly registry: RegistryDocument; readonly profiles: ProfilesDocument; readonly roles: RolesDocument }

export class N17qClient {
  readonly #transport: Transport;
  constructor(options: ClientOptions) { this.#transport = new Transport(options); }

  // runs
  /** Creates a run. A repeat with the same key gives the same run. */
  createRun(run: http.NewRun, o: Keyed = {}): Promise<http.Accepted> { return this.#post('/v1/runs', run, o); }
  /** The tenant's runs, newest first, from a read model that may lag by moments. `after`: the `next` of the page before. */
  listRuns(o: { readonly after?: string; readonly limit?: number } = {}): Promise<http.RunsPage> { return this.#transport.json('GET', `/v1/runs${query(o)}`); }
  /** The run's state now, folded from the log. Problem NOT_FOUND for a run that is not the tenant's. */
  run(run: string): Promise<http.RunView> { return this.#transport.json('GET', this.#of(run)); }
  /** One page of events after a revision. `next`: where to go on; null at the head. */
  eventsPage(run: string, o: { readonly after?: number; readonly limit?: number } = {}): Promise<{ readonly events: readonly EventEnvelope[]; readonly next: number | null }> { return this.#transport.json('GET', `${this.#of(run)}/events${query(o)}`); }
  /** Events from a revision on, also those to come, in order and without gap. Reconnects by itself; throws N17qGap rather than skip one. */
  events(run: string, o: EventsOptions = {}): AsyncGenerator<EventEnvelope, void, undefined> { return runEvents(this.#transport, run, o); }
  /** Bytes that an event of this run cites. Problems: NOT_FOUND, ERASED, FORBIDDEN (continuations). */
  async content(run: string, commitment: string): Promise<Uint8Array> { return new Uint8Array(await (await this.#transport.send('GET', `${this.#of(run)}/content/${segment(commitment)}`)).arrayBuffer()); }
  /** Unified diff of the run's workspace against its base; empty: nothing changed. */
  async diff(run: string): Promise<string> { return (await this.#transport.send('GET', `${this.#of(run)}/diff`)).text(); }

  /** Resolves with the first view of the run that fulfils `predicate`, looked at after each event. Throws N17qTimeout with the last view. */
  async waitFor(run: string, predicate: (view: http.RunView) => boolean, o: WaitOptions): Promise<http.RunView> {
    const time = AbortSignal.timeout(o.withinMs);
    const signal = o.signal === undefined ? time : AbortSignal.any([time, o.signal]);
    let view = await this.run(run);
    if (predicate(view)) return view;
    for await (const e of this.events(run, { after: view.revision, signal })) {
      if (e.revision <= view.revision) continue; // the view was made after this event
      view = await this.run(run);
      if (predicate(view)) return view;
    }
    o.signal?.throwIfAborted();
    throw new N17qTimeout(run, o.withinMs, view);
  }

  // what people ask of a run; each resolves when the request is in the log, not when it is fulfilled
  addInput(run: string, text: string, o: Keyed = {}): Promise<http.Accepted> { return this.#post(`${this.#of(run)}/inputs`, { text }, o); }
  pause(run: string, reason: string, o: Keyed = {}): Promise<http.Accepted> { return this.#post(`${this.#of(run)}/pause`, { reason }, o); }
  /** Resume run: unresolved effects are reconciled and current policy is evaluated before the next consequential action. Not to be confused with `continueProviderResponse`. */
  resumeRun(run: string, reason: string, o: Keyed = {}): Promise<http.Accepted> { return this.#post(`${this.#of(run)}/resume`, { reason }, o); }
  /** Continue provider response: the provider's own response is continued natively if policy, retention and compatibility allow it; else a fresh attempt says that it was reconstructed. */
  continueProviderResponse(run: string, reason: string, o: Keyed = {}): Promise<http.Accepted> { return this.#post(`${this.#of(run)}/continue-provider-response`, { reason }, o); }
  end(run: string, reason: string, o: Keyed = {}): Promise<http.Accepted> { return this.#post(`${this.#of(run)}/end`, { reason }, o); }
  addNote(run: string, note: http.NewNote, o: Keyed = {}): Promise<http.Accepted> { return this.#post(`${this.#of(run)}/notes`, note, o); }
  /** Replaces the whole plan. */
  changePlan(run: string, steps: readonly string[], o: Keyed = {}): Promise<http.Accepted> { return this.#post(`${this.#of(run)}/plan`, { steps }, o); }
  /** `decision.subject` is the digest that was reviewed; for any other intent the store refuses (ILLEGAL). */
  decideApproval(run: string, approval: string, decision: http.ApprovalDecision, o: Keyed = {}): Promise<http.Accepted> { return this.#post(`${this.#of(run)}/approvals/${segment(approval)}`, decision, o); }
  revokeApproval(run: string, approval: string, reason: string, o: Keyed = {}): Promise<http.Accepted> { return this.#post(`${this.#of(run)}/approvals/${segment(approval)}/revoke`, { reason }, o); }
  /** What a person found about an effect of unknown outcome. It settles nothing by itself: the gate judges it. */
  submitFinding(run: string, effect: string, finding: http.NewFinding, o: Keyed = {}): Promise<http.Accepted> { return this.#post(`${this.#of(run)}/effects/${segment(effect)}/finding`, finding, o); }
  /** Asks that the run's budget, or its time at work, grows by so much. The gate judges it; what waited for it then goes on. */
  raiseBudget(run: string, raise: http.NewRaise, o: Keyed = {}): Promise<http.Accepted> { return this.#post(`${this.#of(run)}/budget/raise`, raise, o); }
  /** Asks that an effect of unknown outcome is looked at as another tool that is registered now. The gate judges it; nothing is repeated. */
  migrateEffect(run: string, effect: string, migration: http.NewMigration, o: Keyed = {}): Promise<http.Accepted> { return this.#post(`${this.#of(run)}/effects/${segment(effect)}/migration`, migration, o); }
  /** Asks that the contents of an ended run are erased, for ever. Its record stays; what is unresolved stays unresolved. ILLEGAL while the run has not ended. */
  eraseRun(run: string, reason: string, o: Keyed = {}): Promise<http.Accepted> { return this.#post(`${this.#of(run)}/erasure`, { reason }, o); }
  reviewSource(run: string, source: string, review: http.SourceReview, o: Keyed = {}): Promise<http.Accepted> { return this.#post(`${this.#of(run)}/sources/${segment(source)}/review`, review, o); }

  // what a run rests on
  sources(run: string): Promise<http.SourcesView> { return this.#transport.json('GET', `${this.#of(run)}/sources`); }
  /** What was recorded of a source, for a replay. Problems: RECORDING_UNREVIEWED, RECORDING_REJECTED, RECORDING_ABSENT (it must be retrieved live), ERASED. */
  async recording(run: string, source: string): Promise<Uint8Array> { return new Uint8Array(await (await this.#transport.send('GET', `${this.#of(run)}/sources/${segment(source)}/recording`)).arrayBuffer()); }
  /** Decisions of the gate after a revision, oldest first. `next`: where to go on; null: there is no more now. */
  decisions(run: string, o: { readonly after?: number; readonly limit?: number } = {}): Promise<http.DecisionsPage> { return this.#transport.json('GET', `${this.#of(run)}/decisions${query(o)}`); }

  // the tenant
  document<T extends keyof Documents>(topic: T): Promise<Document<Documents[T]>> { return this.#transport.json('GET', `/v1/tenant/${topic}`); }
  /** Publishes a new revision; every permit that rests on the old one is judged again. */
  publish<T extends keyof Documents>(topic: T, document: Documents[T], o: IfRevision = {}): Promise<http.Published> { return this.#transport.json('PUT', `/v1/tenant/${topic}`, { body: document, ...this.#match(o) }); }
  /** Publishes the provider profiles without this account and the routes through it. */
  removeAccount(account: string, o: IfRevision = {}): Promise<http.Published> { return this.#transport.json('DELETE', `/v1/tenant/profiles/accounts/${segment(account)}`, this.#match(o)); }
  /** What rules can be about, as a schema in Cedar's language. */
  async ruleSchema(): Promise<string> { return (await this.#transport.send('GET', '/v1/tenant/policy/schema')).text(); }
  /** Publications of the policy, the newest first. `before`: the `next` of the page before. */
  policyRevisions(o: { readonly before?: number; readonly limit?: number } = {}): Promise<http.DocumentRevisions> { return this.#transport.json('GET', `/v1/tenant/policy/revisions${query(o)}`); }
  /** The policy as it was. Publish it again to bring it back. */
  policyRevision(revision: number): Promise<Document<PolicyDocument>> { return this.#transport.json('GET', `/v1/tenant/policy/revisions/${revision}`); }
  /** What a candidate changes against the policy in force. Publishes nothing. Problem RULES_BROKEN where it cannot stand. */
  diffPolicy(candidate: PolicyDocument): Promise<http.PolicyDiff> { return this.#transport.json('POST', '/v1/tenant/policy/diff', { body: candidate }); }
  /** Which of the newest recorded decisions a candidate would have decided otherwise. Publishes and permits nothing. */
  tryPolicy(candidate: PolicyDocument): Promise<http.PolicyTrial> { return this.#transport.json('POST', '/v1/tenant/policy/dry-run', { body: candidate }); }
  delegations(): Promise<http.DelegationsView> { return this.#transport.json('GET', '/v1/tenant/delegations'); }
  /** Lets somebody act for the caller. A repeat with the same key gives the same delegation. */
  delegate(delegation: http.NewDelegation, o: Keyed = {}): Promise<http.Delegated> { return this.#post('/v1/tenant/delegations', delegation, o); }
  /** Takes back one that the caller gave: what rests on it is judged again. Problems: NOT_FOUND, NOT_YOURS. */
  takeBackDelegation(delegation: string, o: IfRevision = {}): Promise<http.Published> { return this.#transport.json('DELETE', `/v1/tenant/delegations/${segment(delegation)}`, this.#match(o)); }
  allowance(): Promise<http.AllowanceView> { return this.#transport.json('GET', '/v1/tenant/allowance'); }
  grantAllowance(grant: http.NewAllowance, o: Keyed = {}): Promise<http.Published> { return this.#post('/v1/tenant/allowance', grant, o); }
  /** Replaces the limits per window on what the tenant's runs draw; an empty list: no limit. */
  limitAllowance(limits: http.NewAllowanceLimits, o: IfRevision = {}): Promise<http.Published> { return this.#transport.json('PUT', '/v1/tenant/allowance/limits', { body: limits, ...this.#match(o) }); }

  /** True when bus, store and database are within the service's reach; false also when the service is not. */
  async ready(): Promise<boolean> { return this.#transport.send('GET', '/v1/health/ready').then(() => true, () => false); }

  #of(run: string): string { return `/v1/runs/${segment(run)}`; }
  #post<T>(path: string, body: unknown, o: Keyed): Promise<T> { return this.#transport.json('POST', path, { body, headers: { 'idempotency-key': o.key ?? crypto.randomUUID() } }); }
  #match(o: IfRevision): Sent { return o.ifRevision === undefined ? {} : { headers: { 'if-match': `"${o.ifRevision}"` } }; }
}
