/** Laws about the log itself. Rows: RUN-1, RUN-4, SVC-1, SEAL-1, SEAL-2, SEAL-5, SEAL-6. */
import { hash, of, plainCanonical, str, unresolvedAlong, type Judge } from './record.js';

const OWNERS: { readonly [prefix: string]: string } = {
  'run.created': 'api', 'input.received': 'api', 'run.pause-requested': 'api', 'run.resume-requested': 'api', 'provider-response.continue-requested': 'api', 'run.end-requested': 'api', 'approval.decided': 'api', 'approval.revoked': 'api',
  'effect.finding-submitted': 'api', 'receipt.received': 'api', 'note.added': 'api', 'plan.changed': 'api', 'policy.published': 'api', 'registry.published': 'api', 'profiles.published': 'api', 'roles.published': 'api', 'allowance.granted': 'api', 'effect.migration-requested': 'api', 'budget.raise-requested': 'api', 'source.reviewed': 'api',
  'checkpoint.sealed': 'checkpoint-sealer', 'context.compiled': 'context-compiler', 'context.blocked': 'context-compiler',
  'generation.permitted': 'policy-gate', 'generation.denied': 'policy-gate', 'route.decided': 'policy-gate', 'run.paused': 'policy-gate', 'run.resumed': 'policy-gate', 'run.ended': 'policy-gate', 'effect.permitted': 'policy-gate', 'effect.denied': 'policy-gate',
  'effect.withdrawn': 'policy-gate', 'approval.requested': 'policy-gate', 'look.permitted': 'policy-gate', 'finding.accepted': 'policy-gate', 'finding.refused': 'policy-gate', 'budget.reserved': 'policy-gate', 'budget.settled': 'policy-gate',
  'budget.warned': 'policy-gate', 'budget.exhausted': 'policy-gate', 'effect.recovery-denied': 'policy-gate', 'effect.migrated': 'policy-gate', 'effect.migration-refused': 'policy-gate', 'budget.raised': 'policy-gate', 'budget.raise-refused': 'policy-gate',
  'segment.started': 'provider-gateway', 'generation.started': 'provider-gateway', 'generation.accepted': 'provider-gateway', 'generation.refused': 'provider-gateway', 'generation.outcome-unknown': 'provider-gateway', 'generation.not-sent': 'provider-gateway',
  'generation.blocked': 'provider-gateway', 'continuation.retained': 'provider-gateway', 'provider.observed': 'provider-gateway', 'provider.disagreed': 'provider-gateway',
  'effect.intended': 'effect-reconciler', 'call.refused': 'effect-reconciler', 'effect.attempt-started': 'effect-reconciler', 'effect.observed': 'effect-reconciler', 'effect.refused': 'effect-reconciler', 'effect.not-sent': 'effect-reconciler',
  'effect.outcome-unknown': 'effect-reconciler', 'effect.receipt-recorded': 'effect-reconciler', 'effect.reconciled': 'effect-reconciler', 'effect.looked': 'effect-reconciler', 'effect.duplicated': 'effect-reconciler', 'effect.needs-person': 'effect-reconciler',
  'source.observed': 'effect-reconciler', 'effect.contradicted': 'effect-reconciler', 'workspace.changed': 'effect-reconciler', 'workspace.conflicted': 'effect-reconciler',
};
export const BOUNDARY = new Set([
  'run.created', 'approval.decided', 'approval.revoked', 'context.blocked', 'generation.permitted', 'generation.denied', 'route.decided', 'run.paused', 'run.resumed', 'run.ended', 'effect.permitted', 'effect.denied', 'effect.withdrawn', 'approval.requested',
  'look.permitted', 'finding.accepted', 'finding.refused', 'budget.exhausted', 'segment.started', 'generation.accepted', 'generation.outcome-unknown', 'generation.blocked', 'call.refused', 'effect.observed', 'effect.refused', 'effect.not-sent',
  'effect.outcome-unknown', 'effect.reconciled', 'effect.looked', 'effect.duplicated', 'workspace.changed', 'workspace.conflicted', 'effect.recovery-denied', 'source.reviewed', 'source.observed', 'effect.migrated', 'effect.migration-refused', 'budget.raised', 'budget.raise-refused', 'effect.contradicted',
]);

/** Consecutive revisions, positions without holes, a chain whose digests come out again. */
export const chain: Judge = (r, say) => {
  const heads = new Map<string, { revision: number; digest: string }>();
  r.events.forEach((e, i) => {
    if (e.position !== i + 1) say('RUN-1', `position ${e.position} at place ${i + 1} of the lane`);
    const head = heads.get(e.stream) ?? { revision: 0, digest: '' };
    if (e.revision !== head.revision + 1) say('RUN-1', `${e.stream}: revision ${e.revision} after ${head.revision}`);
    if (e.previous !== head.digest) say('RUN-1', `${e.stream} ${e.revision}: does not follow its predecessor's digest`);
    const x = e.raw;
    const said = { v: 1, tenant: x['tenant'], stream: x['stream'], revision: x['revision'], eventId: x['eventId'], type: x['type'], schemaVersion: x['schemaVersion'], data: x['data'], writer: x['writer'], actor: x['actor'], correlation: x['correlation'], causation: x['causation'], segment: x['segment'], appendId: x['appendId'], recordedAt: x['recordedAt'], previous: x['previous'] };
    if (hash(plainCanonical(said)) !== e.digest) say('RUN-1', `${e.stream} ${e.revision} (${e.type}): its digest is not over what it says`);
    heads.set(e.stream, { revision: e.revision, digest: e.digest });
  });
};

export const owners: Judge = (r, say) => {
  for (const e of r.events) if (e.type !== 'dead-letter.recorded' && OWNERS[e.type] !== e.writer) say('SVC-1', `${e.type} was written by ${e.writer}`);
};

/** A seal lies between a boundary and whatever starts after it. */
export const sealedBefore: Judge = (r, say) => {
  for (const [stream, events] of r.runs) {
    let open: string | null = null;
    let append = '';
    for (const e of events) {
      const sameAppend = str(e.raw['appendId']) === append;
      append = str(e.raw['appendId']);
      if (e.type === 'checkpoint.sealed') open = null;
      if (open !== null && e.type === 'effect.attempt-started') say('SEAL-6', `${stream} ${e.revision}: an attempt started while ${open} was unsealed`);
      if (open !== null && e.type === 'generation.started' && !(open === 'segment.started' && sameAppend)) say('SEAL-6', `${stream} ${e.revision}: a generation started while ${open} was unsealed`);
      if (BOUNDARY.has(e.type)) open ??= e.type;
    }
    if (open !== null) say('SEAL-6', `${stream}: ${open} stays unsealed at rest`);
  }
};

const SECTIONS = ['task', 'plan', 'evidence', 'constraints', 'registry', 'requests', 'effects', 'approvals', 'world', 'artifacts', 'policy', 'budget', 'workspace', 'schedules', 'configuration', 'protocol'];
/** Each checkpoint is there with all its sections, and its effects section holds every effect that was unresolved at its cut. */
export const checkpoints: Judge = (r, say) => {
  for (const [stream, events] of r.runs) {
    const along = unresolvedAlong(events);
    const tenant = r.held.tenants.get(events[0]?.tenant ?? '');
    for (const e of events) {
      if (e.type !== 'checkpoint.sealed') continue;
      const cut = Number(e.data['cut']);
      const stored = tenant?.streams.get(stream)?.checkpoints.get(cut);
      if (stored === undefined) { say('SEAL-2', `${stream} ${e.revision}: no checkpoint at cut ${cut}`); continue; }
      if (hash(stored.manifest) !== e.data['manifest']) say('SEAL-2', `${stream} ${e.revision}: the event names another manifest`);
      const manifest = JSON.parse(stored.manifest) as { sections: { [name: string]: string }; head: string };
      if (manifest.head !== events[cut - 1]?.digest) say('SEAL-8', `${stream} cut ${cut}: not the boundary's digest`);
      for (const name of SECTIONS) {
        const body = tenant?.sections.get(manifest.sections[name] ?? '');
        if (body === undefined || hash(body) !== manifest.sections[name]) say('SEAL-1', `${stream} cut ${cut}: section ${name} is missing or altered`);
      }
      const effects = JSON.parse(tenant?.sections.get(manifest.sections['effects'] ?? '') ?? '[]') as { effect: string; unresolved: boolean }[];
      for (const open of along[cut - 1] ?? []) if (!effects.some((x) => x.effect === open && x.unresolved)) say('SEAL-5', `${stream} cut ${cut}: leaves out unresolved effect ${open}`);
    }
    if (tenant !== undefined && tenant.streams.get(stream)?.checkpoints.size !== events.filter((e) => e.type === 'checkpoint.sealed').length) say('SEAL-2', `${stream}: a checkpoint without its event`);
  }
};

/** The store's own table of unresolved effects says what the events say. */
export const openEffects: Judge = (r, say) => {
  const told = new Set([...r.runs.values()].flatMap((events) => [...(unresolvedAlong(events).at(-1) ?? [])]));
  const kept = new Set([...r.held.tenants.values()].flatMap((t) => [...t.openEffects.keys()]));
  for (const e of told) if (!kept.has(e)) say('EFF-6', `unresolved effect ${e} is not among the store's open effects`);
  for (const e of kept) if (!told.has(e)) say('EFF-6', `the store keeps ${e} open, the events do not`);
};

export const actorKinds: Judge = (r, say) => {
  for (const e of r.events) if (e.type === 'finding.accepted' && of(e.data['by'], 'kind') !== 'person') say('EFF-5', 'a finding of nobody was accepted');
};
