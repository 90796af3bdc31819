/** Loads what the permitted context names and puts it together for the adapter. Rows: CTX-4, CTX-8, CON-1, CON-4. */
import { loadEntry, type ContentRef, type GenerationPlan, type LineageEntry, type OfferedTool, type OpaquePiece, type ProviderAccount, type RunState, type StoredEntry, type StoredOutput, refsOfEntry } from '@n17q/domain';
import { ContentGone } from '@n17q/event-log';
import type { GatewayPorts } from './ports.js';

export interface Assembled { readonly plan: GenerationPlan; readonly pieces: ReadonlyMap<string, readonly OpaquePiece[]> }
export interface Missing { readonly code: string; readonly reason: string; readonly facts: { readonly [k: string]: string | number } }

export async function assemble(p: GatewayPorts, s: RunState, account: ProviderAccount): Promise<Assembled | Missing> {
  const l = s.lineage;
  const g = s.generation;
  if (l === null || g === null) return { code: 'NO_CONTEXT', reason: 'there is no compiled context', facts: {} };
  const named = [g.system, g.tools, ...l.items.map((x) => (x.kind === 'said' ? x.entry : x.output))];
  await asked(p, s, [...named, ...l.items.flatMap((x) => (x.kind === 'said' ? [] : x.continuations.map((c) => c.sealed)))]);
  const texts = new Map(await p.log.texts(s.tenant, named));
  const parsed = l.items.map((x) => (x.kind === 'said' ? { kind: 'said' as const, entry: JSON.parse(texts.get(x.entry.commitment) as string) as StoredEntry } : { kind: 'output' as const, item: x, output: JSON.parse(texts.get(x.output.commitment) as string) as StoredOutput }));
  for (const [k, v] of await p.log.texts(s.tenant, parsed.flatMap((x) => (x.kind === 'said' ? refsOfEntry(x.entry) : [])))) texts.set(k, v);

  const entries: LineageEntry[] = [];
  const pieces = new Map<string, OpaquePiece[]>();
  let before: StoredOutput | undefined;
  for (const x of parsed) {
    if (x.kind === 'said') { entries.push(loadEntry(x.entry, texts, before)); continue; }
    entries.push({ kind: 'output', generation: x.item.generation, parts: x.output.parts });
    before = x.output;
    const own: OpaquePiece[] = [];
    for (const c of x.item.continuations) {
      const opened = await openPiece(p, s, account, x.item.generation, c);
      if ('code' in opened) return { ...opened, facts: { ...opened.facts, step: x.item.turn } };
      own.push(opened);
    }
    if (own.length > 0) pieces.set(x.item.generation, own);
  }
  return { plan: { system: texts.get(g.system.commitment) as string, tools: JSON.parse(texts.get(g.tools.commitment) as string) as readonly OfferedTool[], entries, outputTokensMax: g.tokensMax.output }, pieces };
}

/** One question to the store for all that is known to be needed; what is gone is said by whoever needs it. */
async function asked(p: GatewayPorts, s: RunState, refs: readonly ContentRef[]): Promise<void> {
  try { await p.log.bytes(s.tenant, refs); } catch (e) { if (!(e instanceof ContentGone)) throw e; }
}

type Handle = Extract<NonNullable<RunState['lineage']>['items'][number], { kind: 'output' }>['continuations'][number];
async function openPiece(p: GatewayPorts, s: RunState, account: ProviderAccount, generation: string, c: Handle): Promise<OpaquePiece | Missing> {
  const facts = { handle: c.handle, generation, partIndex: c.partIndex };
  try {
    const sealed = (await p.log.bytes(s.tenant, [c.sealed])).get(c.sealed.commitment) as Uint8Array;
    const bytes = p.sealing.open(sealed, { tenant: s.tenant, run: s.run, lineage: s.lineage?.lineage ?? '', generation, partIndex: c.partIndex, placement: c.placement, adapter: account.adapter, account: account.account, accountScope: account.scope, endpoint: account.endpoint });
    if (bytes === undefined || p.sealing.exact(bytes) !== c.exact) return { code: 'CONTINUATION_ALTERED', reason: `continuation ${c.handle} is not the one that was retained for this run, place and account`, facts };
    return { partIndex: c.partIndex, placement: c.placement, bytes };
  } catch (e) {
    if (e instanceof ContentGone) return { code: 'PROTOCOL_STATE_MISSING', reason: `protocol state missing: continuation ${c.handle} of generation ${generation} is ${e.why}; exact recovery is unavailable`, facts };
    throw e;
  }
}
