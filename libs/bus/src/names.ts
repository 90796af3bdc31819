/**
 * The words of the bus: who speaks on it, which subjects exist, and how they are spelt.
 * A subject is never built by hand anywhere else, since the last token of a store subject *is* the caller's identity.
 */
import { SERVICES, type EventClass as DomainEventClass, type Reactor, type ServiceName } from '@n17q/domain';

/** Services that a run event can wake: each has durable consumers that carry its name. */
export const REACTORS: readonly Reactor[] = ['checkpoint-sealer', 'context-compiler', 'policy-gate', 'effect-reconciler', 'provider-gateway'];
export type ReactorName = Reactor;

/** Everyone who holds a password: the services, and the deploy step that makes streams and consumers. */
export type BusUser = ServiceName | 'provisioner';
export const BUS_USERS: readonly BusUser[] = [...SERVICES, 'provisioner'];

/** The third token of a run event's subject; a message of a tenant's own stream has class `tenant`. */
export type EventClass = DomainEventClass | 'schedule';
export const EVENT_CLASSES: readonly EventClass[] = [
  'run', 'input', 'checkpoint', 'context', 'generation', 'effect', 'budget', 'schedule', 'provider', 'tenant', 'other',
];

/** Who has work next. A hint: a wrong one costs time until the next sweep, never a run. */
export type Wake = ReactorName | 'several' | 'none';
export const WAKES: readonly Wake[] = [...REACTORS, 'several', 'none'];

export const RUN_EVENTS_STREAM = 'RUN_EVENTS';
export const RUN_EVENTS_SUBJECTS = 'run.v1.>';

/** The Nest pattern under which a service handles run events: `@EventPattern(RUN_EVENT)`. */
export const RUN_EVENT = 'run-event';

export interface RunRef { readonly tenant: string; readonly run: string }

const TOKEN = /^[A-Za-z0-9_-]{1,64}$/;

/** Throws a defect for a word that would change the shape of a subject. Tenants are checked long before they get here. */
export function subjectToken(word: string): string {
  if (!TOKEN.test(word)) throw new TypeError(`"${word.slice(0, 80)}" cannot be one token of a subject`);
  return word;
}

/** `run.v1.<tenant>.<class>.<wake>`; few subjects, never one per run. */
export const runEventSubject = (tenant: string, eventClass: EventClass, wake: Wake): string =>
  `run.v1.${subjectToken(tenant)}.${eventClass}.${wake}`;

export interface RunEventSubject { readonly tenant: string; readonly class: EventClass; readonly wake: Wake }

/** The parts of a run event's subject, or undefined when it is not one. */
export function parseRunEventSubject(subject: string): RunEventSubject | undefined {
  const [run, version, tenant, eventClass, wake, ...rest] = subject.split('.');
  if (run !== 'run' || version !== 'v1' || rest.length > 0 || !tenant || !TOKEN.test(tenant)) return undefined;
  if (!(EVENT_CLASSES as readonly string[]).includes(eventClass ?? '') || !(WAKES as readonly string[]).includes(wake ?? '')) return undefined;
  return { tenant, class: eventClass as EventClass, wake: wake as Wake };
}

/** Where `caller` asks the store for `verb`. Its credentials let it publish under its own name only. */
export const storeSubject = (verb: string, caller: ServiceName): string => `n17q.v1.store.${subjectToken(verb)}.${caller}`;

/** Where the store listens for `verb`, whoever calls. */
export const storeEndpoint = (verb: string): string => `n17q.v1.store.${subjectToken(verb)}.*`;

/** Where a reactor listens for a verb of its own; only the api may ask there. */
export const serviceSubject = (service: ReactorName, verb: string): string => `n17q.v1.${service}.${subjectToken(verb)}`;

/** The caller of a store subject, as the server's permissions proved it; undefined for any other subject. */
export function callerOf(subject: string): ServiceName | undefined {
  const [root, version, store, , caller, ...rest] = subject.split('.');
  if (root !== 'n17q' || version !== 'v1' || store !== 'store' || rest.length > 0) return undefined;
  return (SERVICES as readonly string[]).includes(caller ?? '') ? (caller as ServiceName) : undefined;
}

export const inboxPrefix = (user: BusUser): string => `_INBOX_${user}`;
