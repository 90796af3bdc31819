/** Compiles the next context of a run that waits for a model. Rows: CTX-1 to CTX-8, RES-9. */
import { v7 as uuidv7 } from 'uuid';
import type { Keep } from '@n17q/artifacts';
import { canonical, digestOf, type ContentUpload } from '@n17q/contracts';
import {
  compile, COMPILER_VERSION, contextSubject, eligibleRoute, fact, modelOf, sameRoute, tenantRevisions, TextMissing, textsForCompile, textsForContinuing, whoseMove,
  type Compiled, type CompileInput, type CompileResult, type ContentRef, type DecisionView, type Fact, type RunId, type Route, type TenantId,
} from '@n17q/domain';
import { ContentGone, decideAgain, type Decision, type ServiceLog } from '@n17q/event-log';

const JSON_MEDIA = 'application/json';

/** The route that the run is on if it is still configured, otherwise the tenant's first that is. */
function routeOf(v: DecisionView): Route | null {
  const on = v.state.route;
  return on !== null && modelOf(v.tenant.profiles?.document, on) !== undefined ? on : eligibleRoute(v.tenant);
}

const blocked = (v: DecisionView, route: Route | null, code: string, reason: string, facts: object = {}): Decision =>
  ({ facts: [fact('context.blocked', { route, code, reason, facts: { ...facts, tenant: { ...tenantRevisions(v.tenant) } } as never })], requires: v.standing });

async function compiledFor(log: ServiceLog, i: Omit<CompileInput, 'texts'>): Promise<CompileResult> {
  const { tenant } = i.state;
  const goesOn = i.state.lineage !== null && sameRoute(i.state.lineage.route, i.route);
  try {
    if (goesOn) return compile({ ...i, texts: await log.texts(tenant, textsForContinuing(i.state)) });
  } catch (e) {
    if (!(e instanceof TextMissing)) throw e; // the lineage ends here after all: the story must be told again
  }
  return compile({ ...i, texts: await log.texts(tenant, textsForCompile(i.state)) });
}

async function recorded(keep: Keep, v: DecisionView, c: Compiled, route: Route): Promise<{ readonly fact: Fact; readonly contents: readonly ContentUpload[] }> {
  const s = v.state;
  const contents: ContentUpload[] = [];
  const put = async (text: string, cls: 'context' | 'manifest', media: string): Promise<ContentRef> => { const k = await keep(s.tenant, s.run, text, cls, media); if (k.upload !== null) contents.push(k.upload); return k.ref; };
  const lineage = c.opensLineage || s.lineage === null ? uuidv7() : s.lineage.lineage;
  const system = c.opensLineage || s.lineage === null ? await put(c.system, 'context', 'text/plain; charset=utf-8') : s.lineage.system;
  const tools = c.opensLineage || s.lineage === null ? await put(JSON.stringify(c.tools), 'context', JSON_MEDIA) : s.lineage.tools;
  const entry = c.replays ?? await put(canonical(c.entry), 'context', JSON_MEDIA);
  const manifest = await put(canonical(c.manifest), 'manifest', JSON_MEDIA);
  const continuations = c.continuations.map((k) => (k.results === '' ? { ...k, results: entry.commitment } : k));
  const said = { form: c.form, route, lineage, opensLineage: c.opensLineage, system, tools, entry, continuations };
  return {
    contents,
    fact: fact('context.compiled', {
      generation: uuidv7(), ...said, continuations: c.continuations.flatMap((k) => (k.results === '' ? [{ ...k, results: entry.commitment }] : [])), // the fold knows the earlier ones
      because: c.because, manifest, subject: digestOf(contextSubject(s, said)),
      checkpoint: s.checkpoint === null ? null : { checkpoint: s.checkpoint.checkpoint, cut: s.checkpoint.cut }, tokensMax: c.tokensMax, compiler: COMPILER_VERSION,
    }),
  };
}

export const compileRun = (log: ServiceLog, keep: Keep) => async (tenant: TenantId, run: RunId): Promise<void> => {
  const done = await decideAgain(log, () => log.view(tenant, run), (v) => v.state, async (v): Promise<Decision | null> => {
    if (whoseMove(v.state) !== 'compile' || v.state.boundary.length > 0) return null;
    if ((v.state.failures.retryAt ?? 0) > v.now) return null;
    const route = routeOf(v);
    const model = route === null ? undefined : modelOf(v.tenant.profiles?.document, route);
    if (route === null || model === undefined) return blocked(v, null, 'NO_ROUTE', 'no provider account and model is configured that this run may use; a person can go on without a model');
    if (v.tenant.registry === null) return blocked(v, route, 'REGISTRY_UNAVAILABLE', 'no tool registry is published');
    try {
      const c = await compiledFor(log, { state: v.state, route, profile: model.profile, registry: { revision: v.tenant.registry.revision, tools: v.tenant.registry.document.tools } });
      if (c.kind === 'blocked') return blocked(v, route, c.code, c.reason, c.facts as object);
      const r = await recorded(keep, v, c, route);
      return { facts: [r.fact], contents: r.contents };
    } catch (e) {
      if (e instanceof ContentGone && e.why !== 'pending') return blocked(v, route, 'CONTENT_GONE', `${e.message}: what was said cannot be told from anything else`, { commitment: e.commitment });
      throw e;
    }
  });
  if (done.kind === 'refused') throw new Error(`the store refused the context: ${done.outcome.code}: ${done.outcome.message}`);
};
