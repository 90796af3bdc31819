import type { Keep } from '@n17q/artifacts';
import type { ServiceLog } from '@n17q/event-log';
import type { CredentialSource, ProviderAdapter } from '@n17q/providers';
import type { Sealing } from './sealing.js';

/** What the gateway has besides the log. It alone holds provider credentials and the key of the protocol store. */
export interface GatewayPorts {
  readonly log: ServiceLog;
  readonly incarnation: string;
  adapter(name: string): ProviderAdapter | undefined;
  readonly credentials: CredentialSource;
  readonly sealing: Sealing;
  readonly keep: Keep;
  readonly requestTimeoutMs: number;
  /** A clock of this process that does not jump, in ms. */
  readonly monotonicMs: () => number;
  onTrouble(what: string, e: unknown): void;
}
