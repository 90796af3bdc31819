import type { ServiceLog } from '@n17q/event-log';
import type { Keep, Register } from '@n17q/artifacts';
import type { Json, TenantId, ToolMapping, Validated } from '@n17q/domain';
import type { Connector, ReceiptFor, ReceiptTo } from '@n17q/tools';

/** What the reconciler has besides the log. */
export interface ReconcilerPorts {
  readonly log: ServiceLog;
  /** Identifies this process for as long as it lives; an attempt of another incarnation is never dispatched here. */
  readonly incarnation: string;
  /** The connector that a mapping names, configured; undefined: this process has none for it. */
  connector(tool: ToolMapping): Connector | undefined;
  /** Large results go outside the log; returns when they are stored and registered. */
  readonly keep: Keep;
  /** Says that bytes stored outside are complete, before an event names them. */
  readonly register: Register;
  validate(tool: ToolMapping, args: Json): Validated;
  /** Where, and with what right, a tool may hand in a receipt for this effect; undefined: nowhere. */
  receiptTo?(effect: ReceiptFor): ReceiptTo | undefined;
  scopeSalt(tenant: TenantId): string;
  /** A clock of this process that does not jump, in ms. */
  readonly monotonicMs: () => number;
  /** Something went wrong in the background, after the handler had returned. */
  onTrouble(what: string, e: unknown): void;
}
