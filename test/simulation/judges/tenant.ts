/** What the tenant had published at each moment, told from its streams and from what people meant. */
import { of, plainCanonical, str, type Event, type Record } from './record.js';
import { MEANINGS, type Meaning } from '../tenant.js';

export interface Mapping { readonly server: string; readonly schemaDigest: string; readonly mappingRevision: number; readonly target: string; readonly contract: string }
export interface Published {
  readonly revisions: { readonly [topic: string]: number };
  readonly meaning: Meaning;
  readonly tools: ReadonlyMap<string, Mapping>;
  readonly roles: ReadonlyMap<string, readonly string[]>;
  readonly delegations: readonly { readonly from: string; readonly to: string; readonly tools: readonly string[]; readonly until: number }[];
  readonly routes: ReadonlySet<string>;
}
const NOTHING_YET: Published = { revisions: { policy: 0, registry: 0, profiles: 0, roles: 0 }, meaning: MEANINGS[0] as Meaning, tools: new Map(), roles: new Map(), delegations: [], routes: new Set() };

const toolsOf = (data: unknown): ReadonlyMap<string, Mapping> => new Map((of(data, 'tools') as readonly object[]).map((t) => [str(of(t, 'name')), {
  server: str(of(t, 'server')), schemaDigest: str(of(t, 'schemaDigest')), mappingRevision: Number(of(t, 'mappingRevision')), target: str(of(t, 'target')), contract: plainCanonical(of(t, 'contract')),
}]));

function after(p: Published, e: Event, r: Record): Published {
  const topic = e.stream.slice('tenant/'.length);
  const next = { ...p, revisions: { ...p.revisions, [topic]: e.revision } };
  switch (e.type) {
    case 'policy.published': return { ...next, meaning: r.sim.people.meanings.get(str(e.raw['eventId'])) ?? p.meaning };
    case 'registry.published': return { ...next, tools: toolsOf(e.data) };
    case 'roles.published': return { ...next, roles: new Map((e.data['people'] as readonly object[]).map((x) => [str(of(x, 'person')), of(x, 'roles') as readonly string[]])), delegations: (e.data['delegations'] as readonly object[]).map((x) => ({ from: str(of(x, 'from')), to: str(of(x, 'to')), tools: of(x, 'tools') as readonly string[], until: Number(of(x, 'until') ?? Infinity) })) };
    case 'profiles.published': return { ...next, routes: new Set((e.data['accounts'] as readonly object[]).flatMap((a) => (of(a, 'models') as readonly object[]).map((m) => `${str(of(a, 'account'))} ${str(of(m, 'model'))}`))) };
    default: return next;
  }
}

/** Goes through all events in the order in which they were taken in, each with what stood published right before it. */
export function along(r: Record, see: (e: Event, p: Published) => void): void {
  let p = NOTHING_YET;
  for (const e of r.events) {
    see(e, p);
    if (e.stream.startsWith('tenant/')) p = after(p, e, r);
  }
}
export const mappingAt = (r: Record): ReadonlyMap<number, ReadonlyMap<string, Mapping>> => new Map(r.events.filter((e) => e.type === 'registry.published').map((e) => [e.revision, toolsOf(e.data)]));
