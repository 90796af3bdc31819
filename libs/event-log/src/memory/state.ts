/** What the store in memory holds. One of these is one database. */
import type { ContentClass } from '@n17q/domain';
import type { Need } from '@n17q/contracts';
import type { PositionedEvent, StoredCheckpoint, Suspect, TenantOpenEffect } from '../store-port.js';
import type { HeldWindows } from '../windows.js';

export interface HeldAppend { readonly requestDigest: string; readonly first: number; readonly count: number }
export interface HeldStream {
  readonly stream: string;
  readonly createdAt: number;
  readonly events: PositionedEvent[];
  readonly appends: Map<string, HeldAppend>;
  readonly checkpoints: Map<number, StoredCheckpoint>;
  /** Digests of each checkpoint's sections, by cut. */
  readonly sections: Map<number, readonly string[]>;
  readonly needs: Map<string, Need>;
  snapshot: { readonly revision: number; readonly state: string } | undefined;
}
export interface HeldContent { readonly stream: string | null; readonly class: ContentClass; readonly media: string; readonly bytes: number; readonly state: 'pending' | 'complete' | 'erased'; readonly salt: Uint8Array | null; readonly body: Uint8Array | null }
export interface HeldTenant {
  readonly streams: Map<string, HeldStream>;
  readonly contents: Map<string, HeldContent>;
  readonly sections: Map<string, string>;
  readonly openEffects: Map<string, TenantOpenEffect>;
  readonly account: Map<string, number>;
  readonly windows: HeldWindows;
}
export interface HeldStore { readonly incarnation: string; readonly tenants: Map<string, HeldTenant>; readonly suspects: Map<string, Suspect & { readonly clearedBy: string | null }>; readonly lane: HeldStream['events'] }

export const emptyStore = (incarnation: string): HeldStore => ({ incarnation, tenants: new Map(), suspects: new Map(), lane: [] });
export const emptyTenant = (): HeldTenant => ({ streams: new Map(), contents: new Map(), sections: new Map(), openEffects: new Map(), account: new Map(), windows: { rows: [], draws: new Map() } });
export const emptyStream = (stream: string, createdAt: number): HeldStream => ({ stream, createdAt, events: [], appends: new Map(), checkpoints: new Map(), sections: new Map(), needs: new Map(), snapshot: undefined });
export const headOf = (s: HeldStream | undefined): { revision: number; head: string } => ({ revision: s?.events.length ?? 0, head: s?.events.at(-1)?.event.digest ?? '' });
