/** Prepared appends for the conformance suite: what a guard would hand over, with every field open to the case. */
import { randomUUID } from 'node:crypto';
import { digestOf, eventDigest } from '@n17q/contracts';
import { runStream, type Digest, type Fact, type OpenEffect, type Scope, type ServiceName, type StreamId, type TenantId } from '@n17q/domain';
import type { EventRow, PreparedAppend } from '../ports.js';
import type { EventStorePort } from '../store-port.js';

export interface Draft extends Partial<Omit<PreparedAppend, 'rows' | 'tenant' | 'stream' | 'expected'>> {
  readonly facts?: readonly Fact[];
  readonly writer?: ServiceName;
  readonly recordedAt?: number;
  /** Expected revision and the head's digest; absent: as the store has them. */
  readonly at?: { readonly revision: number; readonly head: string };
}

export const note = (text: string): Fact => ({ type: 'plan.changed', data: { steps: [text] } });
export const newTenant = (): TenantId => `t-${randomUUID().slice(0, 8)}`;
export const newRun = (): StreamId => runStream(randomUUID());
export const digest = (of: unknown): Digest => digestOf(of);

/** A scope by the words `target` or `target: what`. */
export function scopeNamed(words: string): Scope {
  const [target = '', what] = words.split(': ');
  return { target, fields: what === undefined ? {} : { what: digest(what) } };
}
export const openEffect = (effect: string, scope: string, kind: OpenEffect['kind'] = 'neither', stage: OpenEffect['stage'] = 'in-flight'): OpenEffect => ({ effect, tool: 'pay', scope: scopeNamed(scope), kind, stage, generation: 'g-1' });

export async function draft(store: EventStorePort, tenant: TenantId, stream: StreamId, d: Draft = {}): Promise<PreparedAppend> {
  const at = d.at ?? (await store.head(tenant, stream));
  return prepare(tenant, stream, at, d.recordedAt ?? (await store.now()), d);
}

export function prepare(tenant: TenantId, stream: StreamId, at: { readonly revision: number; readonly head: string }, recordedAt: number, d: Draft = {}): PreparedAppend {
  const { facts = [note('step')], writer = 'api', recordedAt: _, at: __, ...rest } = d;
  const appendId = d.appendId ?? randomUUID();
  let previous = at.head as Digest;
  const rows = facts.map((f, i): EventRow => {
    const bare = { ...f, tenant, stream, revision: at.revision + 1 + i, eventId: randomUUID(), schemaVersion: 1, writer, actor: { kind: 'person' as const, id: 'ann' }, correlation: 'c-1', causation: null, segment: 0, appendId, recordedAt, previous };
    const row = { ...bare, digest: eventDigest(bare as never) } as EventRow;
    previous = row.digest;
    return row;
  });
  return {
    tenant, stream, expected: at.revision, appendId, requestDigest: digestOf({ expected: at.revision, facts, appendId }), contents: [], cites: [], openEffects: { upsert: [], remove: [] }, needs: { upsert: [], remove: [] }, rests: false,
    citedAs: {}, releases: [], requires: [], scopesFree: [], debit: null, eraseContents: false, wake: 'none', ...rest, rows,
  };
}

export const sealing = (cut: number, sections: { readonly [digest: string]: string } = {}, citesSections: readonly Digest[] = []): Pick<Draft, 'facts' | 'checkpoint' | 'writer'> => {
  const manifest = JSON.stringify({ cut, sections: Object.keys(sections) });
  const checkpoint = `cp-${randomUUID()}`;
  const manifestDigest = digestOf(manifest);
  return {
    writer: 'checkpoint-sealer',
    facts: [{ type: 'checkpoint.sealed', data: { checkpoint, version: 1, cut, boundaries: ['decision'], manifest: manifestDigest, previous: null } }],
    checkpoint: { checkpoint, version: 1, cut, manifest, manifestDigest, sections, citesSections },
  };
};
