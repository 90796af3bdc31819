/** A tenant's documents and runs, written by the `api` user over the bus: how a stack gets its first tenant, before anybody can ask over HTTP. Rows: TOOL-1, BUD-5. */
import { randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { contentOf, type AppendRequest, type ContentUpload } from '@n17q/contracts';
import { fact, runStream, tenantStream, type Actor, type Amounts, type Fact, type PolicyDocument, type ProfilesDocument, type ProviderAccount, type RegistryDocument, type RolesDocument, type RunId, type StreamId, type TenantId, type WorkspaceRef, type WindowLimit } from '@n17q/domain';
import type { BusStore } from '@n17q/event-log';
import { GEMINI_MODELS } from '@n17q/providers';
import { ALLOW_ALL } from '@n17q/rules';


export interface TenantDocuments {
  readonly policy?: PolicyDocument;
  readonly registry?: RegistryDocument;
  readonly profiles?: ProfilesDocument;
  readonly roles?: RolesDocument;
  readonly allowance?: Amounts;
  readonly limits?: readonly WindowLimit[];
}

/** What a tenant begins with: one rule that permits everything, so the invariants alone decide. */
export const FIRST_POLICY: PolicyDocument = {
  rules: ALLOW_ALL, hook: null, permitLifeMs: 30_000, leaseMs: 30_000, attemptsMax: 5, looksMax: 12, approvalLifeMs: 24 * 3_600_000,
  slice: { usd_micros: 1_000_000, tokens: 2_000_000, calls: 50 }, findingRoles: ['operator'], approverRoles: ['operator'], raiseRoles: ['operator'], fourEyes: false, observationAgeMsMax: 3_600_000,
};
export const FIRST_ALLOWANCE: Amounts = { usd_micros: 100_000_000_000, tokens: 100_000_000_000, calls: 1_000_000 };
export const RUN_BUDGET: Amounts = { usd_micros: 100_000_000, tokens: 50_000_000, calls: 500 };
export const OPERATOR_ROLES: RolesDocument = { people: [{ person: 'operator', roles: ['operator'] }], delegations: [] };

/** An account at a Gemini endpoint, with the models that are known by name. Throws RangeError for another model. */
export function geminiAccount(account: string, endpoint: string, models: readonly string[], scope = account): ProviderAccount {
  return {
    account, provider: 'google', adapter: 'gemini', endpoint, scope,
    models: models.map((model) => {
      const profile = GEMINI_MODELS[model];
      if (profile === undefined) throw new RangeError(`the model "${model}" is not known; known are ${Object.keys(GEMINI_MODELS).join(', ')}`);
      return { model, profile, usdMicrosPer1kInput: 2, usdMicrosPer1kOutput: 12 };
    }),
  };
}
/** Accounts in order of preference, each with its models in order. */
export const profilesOf = (accounts: readonly ProviderAccount[]): ProfilesDocument => ({
  accounts, preference: accounts.flatMap((a) => a.models.map((m) => ({ account: a.account, provider: a.provider, adapter: a.adapter, model: m.model }))),
});

const TRIES = 5;
async function appendAsApi(store: BusStore, tenant: TenantId, stream: StreamId, by: Actor, facts: readonly Fact[], contents: readonly ContentUpload[]): Promise<void> {
  for (let tries = 0; tries < TRIES; tries++) {
    const { head } = await store.loadRun(tenant, stream);
    const request: AppendRequest = {
      tenant, stream, expected: head.revision, appendId: randomUUID(), actor: by, correlation: stream, causation: null,
      events: facts.map((f) => ({ ...f, eventId: randomUUID() })),
      contents: contents.map((c) => ({ ref: c.ref, salt: Buffer.from(c.salt).toString('base64'), body: Buffer.from(c.body).toString('base64') })),
    };
    const o = await store.append(request);
    if (o.kind === 'appended') return;
    if (o.kind === 'refused') throw new Error(`the store refused ${facts.map((f) => f.type).join(', ')}: ${o.code}: ${o.message}`);
  }
  throw new Error(`${stream} of ${tenant} was too busy`);
}

const PERSON: Actor = { kind: 'person', id: 'operator' };

/** Publishes the documents that are given, each as the newest of its stream. `allowance` is added to what the tenant has, `limits` replace its limits per window. */
export async function publishDocuments(store: BusStore, tenant: TenantId, d: TenantDocuments, by: Actor = PERSON): Promise<void> {
  if (d.policy !== undefined) await appendAsApi(store, tenant, tenantStream('policy'), by, [fact('policy.published', d.policy)], []);
  if (d.registry !== undefined) await appendAsApi(store, tenant, tenantStream('registry'), by, [fact('registry.published', d.registry)], []);
  if (d.roles !== undefined) await appendAsApi(store, tenant, tenantStream('roles'), by, [fact('roles.published', d.roles)], []);
  if (d.allowance !== undefined) await appendAsApi(store, tenant, tenantStream('budget'), by, [fact('allowance.granted', { amounts: d.allowance, reason: 'set up' })], []);
  if (d.limits !== undefined) await appendAsApi(store, tenant, tenantStream('budget'), by, [fact('allowance.limited', { limits: d.limits, reason: 'set up' })], []);
  if (d.profiles !== undefined) await appendAsApi(store, tenant, tenantStream('profiles'), by, [fact('profiles.published', d.profiles)], []);
}

export interface NewRun {
  readonly goal: string;
  readonly title?: string;
  readonly tools?: readonly string[];
  readonly constraints?: readonly string[];
  readonly workspace?: WorkspaceRef;
  readonly budget?: Amounts;
  readonly whenDone?: 'end' | 'await-input';
  readonly retention?: 'metadata-only' | 'standard' | 'archival';
}

export async function createRun(store: BusStore, tenant: TenantId, r: NewRun, by: Actor = PERSON): Promise<RunId> {
  const run = uuidv7() as RunId;
  const goal = contentOf(r.goal, 'input');
  if (r.workspace !== undefined) await store.registerArtifact(tenant, runStream(run), r.workspace.tree, 'complete');
  await appendAsApi(store, tenant, runStream(run), by, [fact('run.created', {
    goal: goal.ref, title: r.title ?? 'run', retention: r.retention ?? 'standard', world: { kind: 'real' }, budget: r.budget ?? RUN_BUDGET, constraints: r.constraints ?? [], tools: r.tools ?? [],
    workspace: r.workspace ?? null, whenDone: r.whenDone ?? 'end', changePolicy: 'allow', onBehalfOf: null, wallMs: null,
  })], [goal]);
  return run;
}
