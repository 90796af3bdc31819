/** Branded text. A brand costs nothing at run time and keeps an effect's id out of a run's place. */
export type Brand<T, B extends string> = T & { readonly __brand?: B };

export type TenantId = Brand<string, 'TenantId'>;
export type RunId = Brand<string, 'RunId'>;
/** `run/<RunId>` or `tenant/<topic>`. */
export type StreamId = Brand<string, 'StreamId'>;
export type EventId = Brand<string, 'EventId'>;
export type EffectId = Brand<string, 'EffectId'>;
export type AttemptId = Brand<string, 'AttemptId'>;
export type GenerationId = Brand<string, 'GenerationId'>;
export type PermitId = Brand<string, 'PermitId'>;
export type CheckpointId = Brand<string, 'CheckpointId'>;
/** SHA-256 over canonical JSON, lower-case hex. */
export type Digest = Brand<string, 'Digest'>;
/** Milliseconds since 1970 by the store's clock. */
export type StoreTimeMs = Brand<number, 'StoreTimeMs'>;

export const TENANT_TOPICS = ['policy', 'registry', 'profiles', 'roles', 'budget'] as const;
export type TenantTopic = (typeof TENANT_TOPICS)[number];

export const runStream = (run: RunId): StreamId => `run/${run}` as StreamId;
export const tenantStream = (topic: TenantTopic): StreamId => `tenant/${topic}` as StreamId;
/** The run that a stream belongs to, or undefined for a tenant's stream. */
export const runOf = (stream: StreamId): RunId | undefined => (stream.startsWith('run/') ? (stream.slice(4) as RunId) : undefined);

export const SERVICES = ['event-store', 'checkpoint-sealer', 'context-compiler', 'policy-gate', 'effect-reconciler', 'provider-gateway', 'api'] as const;
export type ServiceName = (typeof SERVICES)[number];
export type Reactor = Exclude<ServiceName, 'event-store' | 'api'>;

/** Who stands behind an append: a person, a service of ours, a model's output, a tool's callback. */
export interface Actor {
  readonly kind: 'person' | 'service' | 'tool';
  readonly id: string;
}
