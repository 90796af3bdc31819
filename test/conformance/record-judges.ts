/** What a stored run must be like, read from its events, checkpoints and contents alone. Each returns what is wrong, in words; nothing here is the product's code but the table of owners. */
import { EVENT_TABLE, type EventEnvelope } from '@n17q/domain';

const dataOf = <T extends EventEnvelope['type']>(log: readonly EventEnvelope[], type: T) => log.flatMap((e) => (e.type === type ? [{ revision: e.revision, segment: e.segment, ...(e.data as Extract<EventEnvelope, { type: T }>['data']) }] : []));

/** TOOL-1: each request pins the registry revision that stood, and the mapping's own revision, server and schema. */
export function unpinned(log: readonly EventEnvelope[], registry: { readonly revision: number; readonly tools: readonly { readonly name: string; readonly server: string; readonly schemaDigest: string; readonly mappingRevision: number }[] }): string[] {
  return dataOf(log, 'effect.intended').flatMap((i) => {
    const t = registry.tools.find((x) => x.name === i.tool);
    const m = i.mapping;
    return t !== undefined && m?.registryRevision === registry.revision && m.mappingRevision === t.mappingRevision && m.server === t.server && m.schemaDigest === t.schemaDigest ? [] : [`the request for ${i.tool} at revision ${i.revision} pins ${JSON.stringify(m)}`];
  });
}

/** CTX-7: every event stands under the service that owns its type; that, not content, says who speaks. */
export const misattributed = (log: readonly EventEnvelope[]): string[] =>
  log.flatMap((e) => (EVENT_TABLE[e.type].writer === 'any' || EVENT_TABLE[e.type].writer === e.writer ? [] : [`${e.type} at revision ${e.revision} stands under ${e.writer}`]));

/** NAT-1: what the provider says about itself is kept for every accepted output, with its provenance. */
export function unobserved(log: readonly EventEnvelope[]): string[] {
  const seen = new Map(dataOf(log, 'provider.observed').map((o) => [o.generation, o]));
  return dataOf(log, 'generation.accepted').flatMap((a) => {
    const o = seen.get(a.generation);
    const said = o?.observation as { responseId?: string; modelServed?: string } | undefined;
    return o !== undefined && said?.responseId && said.modelServed && o.account && o.endpoint && o.adapter ? [] : [`generation ${a.generation} was accepted and its provider's identities were not kept`];
  });
}

/** RES-3: no model call under another route than the one before without a transition that says from, to, why, from which checkpoint, and what the new model was told. */
export function unmarkedChanges(log: readonly EventEnvelope[]): string[] {
  const words: string[] = [];
  let at: unknown = null;
  const routes = new Map(dataOf(log, 'context.compiled').map((c) => [c.generation, c.route]));
  for (const e of log) {
    if (e.type === 'segment.started') {
      if (JSON.stringify(e.data.from) !== JSON.stringify(at)) words.push(`segment ${e.data.segment} says it comes from another route than it does`);
      if (at !== null && (e.data.reason === '' || e.data.checkpoint === null || e.data.manifest === null)) words.push(`segment ${e.data.segment} does not say why, or from where`);
      at = e.data.to;
    }
    if (e.type === 'generation.started' && JSON.stringify(routes.get(e.data.generation)) !== JSON.stringify(at)) words.push(`generation ${e.data.generation} went out on a route that no segment names`);
  }
  return words;
}

/** The base64 of `secret` as it looks inside the base64 of a longer text, at each of the three alignments; the edges, which depend on the neighbours, are cut off. */
const encodings = (secret: string): string[] => [0, 1, 2].map((shift) => {
  const bytes = Buffer.concat([Buffer.alloc(shift), Buffer.from(secret)]);
  return bytes.subarray(0, bytes.length - (bytes.length % 3)).toString('base64').slice(shift === 0 ? 0 : 4);
});
/** RUN-5: texts that hold the secret, as it is or encoded. */
export const foundIn = (texts: readonly string[], secret: string): number => { const forms = [secret, ...encodings(secret)]; return texts.filter((t) => forms.some((f) => t.includes(f))).length; };

/** RUN-2: the run can be told from what the store has: goal, outputs, results, end. */
export function untellable(log: readonly EventEnvelope[], contents: ReadonlyMap<string, string>): string[] {
  const cited: [string, string][] = [
    ...dataOf(log, 'run.created').map((r): [string, string] => ['the goal', r.goal.commitment]), ...dataOf(log, 'generation.accepted').map((g): [string, string] => [`output ${g.generation}`, g.output.commitment]),
    ...dataOf(log, 'effect.observed').map((o): [string, string] => [`result of ${o.effect}`, o.text.commitment]),
  ];
  const missing = cited.filter(([, c]) => !contents.get(c)).map(([what]) => `${what} is not in the store`);
  return log.some((e) => e.type === 'run.created') ? missing : ['there is no beginning', ...missing];
}

/** SEAL-1, by its own list: what a checkpoint of version 1 holds. */
export const SEALED_PARTS = ['task', 'plan', 'evidence', 'constraints', 'registry', 'requests', 'effects', 'approvals', 'world', 'artifacts', 'policy', 'budget', 'workspace', 'schedules', 'configuration'] as const;
export const lacking = (sections: ReadonlyMap<string, string>): string[] => SEALED_PARTS.filter((p) => { const body = sections.get(p); return body === undefined || body === ''; }).map((p) => `there is no ${p}`);
