/**
 * What has to exist on a NATS server, as data: the stream, the consumers, and who may do what.
 * Provisioning, the server's configuration and the tests all read this one table; nothing here connects anywhere.
 *
 * 1. Only the event store publishes run events and answers store requests; a caller's last subject token is its own name.
 * 2. Services bind to consumers, they never make them: who makes a consumer chooses its filter.
 * 3. Every bound is written down: age, bytes, pending acks, ack wait, deliveries. Only fields that 2.10 knows.
 *
 * Rows: SVC-1, SVC-4.
 */
import {
  AckPolicy, DeliverPolicy, DiscardPolicy, ReplayPolicy, RetentionPolicy, StorageType, nanos,
  type ConsumerConfig, type StreamConfig,
} from 'nats';
import type { ServiceName } from '@n17q/domain';
import { REACTORS, RUN_EVENTS_STREAM, RUN_EVENTS_SUBJECTS, inboxPrefix, type BusUser, type ReactorName } from './names.js';

/**
 * How long the server waits for an ack before it gives the message to somebody else: what a killed process costs its triggers.
 * Living ones vouch for what they hold three times as often (intake.ts).
 */
export const ACK_WAIT_MS = 10_000;
/** The server's last word on deliveries. Handlers give up (and record a dead letter) long before, unless the trouble is transient. */
export const SERVER_DELIVERIES_MAX = 32;
/** The server's `max_payload`, headers included, and what this library lets a body have of it. */
export const SERVER_PAYLOAD_BYTES_MAX = 1_048_576;
export const BODY_BYTES_MAX = 1_000_000;

export const STREAM = {
  name: RUN_EVENTS_STREAM,
  subjects: [RUN_EVENTS_SUBJECTS],
  retention: RetentionPolicy.Limits,
  storage: StorageType.File,
  // A full stream forgets its oldest triggers, which sweeps repair; refusing new ones would stop everybody behind the slowest.
  discard: DiscardPolicy.Old,
  max_age: nanos(24 * 60 * 60 * 1000),
  max_bytes: 512 * 1024 * 1024,
  max_msg_size: SERVER_PAYLOAD_BYTES_MAX,
  duplicate_window: nanos(2 * 60 * 1000),
  num_replicas: 1,
} as const satisfies Partial<StreamConfig> & { readonly subjects: readonly string[] };

type DesiredConsumer = Partial<ConsumerConfig> & { readonly durable_name: string };

const bounded = {
  ack_policy: AckPolicy.Explicit,
  // A consumer that was deleted and made again sees what it missed; repeats are harmless.
  deliver_policy: DeliverPolicy.All,
  replay_policy: ReplayPolicy.Instant,
  ack_wait: nanos(ACK_WAIT_MS),
  max_ack_pending: 256,
  max_deliver: SERVER_DELIVERIES_MAX,
  max_waiting: 128,
} as const;

/**
 * A reactor reads two consumers, what wakes it alone and what wakes several, since each has one filter: with two filters on one
 * consumer nats-server 2.10 delivers a backlog at 100 to 200 messages a second, with one at 9,000 (2.15: 19,000 either way).
 */
export const SHARED_CONSUMER_SUFFIX = '-several';
const reactorConsumers = (service: ReactorName): readonly DesiredConsumer[] => [
  { durable_name: service, ...bounded, filter_subject: `run.v1.*.*.${service}` },
  { durable_name: `${service}${SHARED_CONSUMER_SUFFIX}`, ...bounded, filter_subject: 'run.v1.*.*.several' },
];

export const CONSUMERS: readonly DesiredConsumer[] = [
  ...REACTORS.flatMap(reactorConsumers),
  { durable_name: 'api', ...bounded, filter_subject: RUN_EVENTS_SUBJECTS },
];

/** The durable consumers that feed one service. */
export const durablesOf = (service: ConsumingService): readonly string[] =>
  service === 'api' ? ['api'] : [service, `${service}${SHARED_CONSUMER_SUFFIX}`];

/** Services that run events reach. */
export type ConsumingService = ReactorName | 'api';

export interface Rights { readonly publish: readonly string[]; readonly subscribe: readonly string[] }

const stream = RUN_EVENTS_STREAM;

/** Reading one's own durables: bind, pull, and acknowledge in both forms of the ack subject. */
const consuming = (service: ConsumingService): readonly string[] => durablesOf(service).flatMap((durable) => [
  `$JS.API.CONSUMER.INFO.${stream}.${durable}`,
  `$JS.API.CONSUMER.MSG.NEXT.${stream}.${durable}`,
  `$JS.ACK.${stream}.${durable}.>`,
  `$JS.ACK.*.*.${stream}.${durable}.>`,
]);

const discovery = (service: ServiceName): readonly string[] =>
  ['PING', 'STATS', 'INFO'].flatMap((verb) => [`$SRV.${verb}`, `$SRV.${verb}.${service}`, `$SRV.${verb}.${service}.*`]);

// A reply goes to the inbox of whoever may ask, and to nobody else's: `allow_responses` would let a responder publish to any
// subject that a request names as its reply. Inboxes carry random tokens that only their owner may subscribe to.
const replyTo = (askers: readonly BusUser[]): readonly string[] => askers.map((asker) => `${inboxPrefix(asker)}.>`);

function reactorRights(service: ReactorName): Rights {
  return {
    publish: [`n17q.v1.store.*.${service}`, ...consuming(service), ...replyTo(['api', 'provisioner'])],
    subscribe: [`${inboxPrefix(service)}.>`, `n17q.v1.${service}.>`, ...discovery(service)],
  };
}

/** Everything that a user may publish and subscribe to; all else is refused by the server. */
export const RIGHTS: Readonly<Record<BusUser, Rights>> = {
  'event-store': {
    publish: [
      RUN_EVENTS_SUBJECTS, `$JS.API.STREAM.INFO.${stream}`, `$JS.API.STREAM.MSG.GET.${stream}`,
      ...replyTo([...REACTORS, 'api', 'provisioner']),
    ],
    subscribe: [`${inboxPrefix('event-store')}.>`, 'n17q.v1.store.>', ...discovery('event-store')],
  },
  'checkpoint-sealer': reactorRights('checkpoint-sealer'),
  'context-compiler': reactorRights('context-compiler'),
  'policy-gate': reactorRights('policy-gate'),
  'effect-reconciler': reactorRights('effect-reconciler'),
  'provider-gateway': reactorRights('provider-gateway'),
  api: {
    publish: ['n17q.v1.store.*.api', ...REACTORS.map((r) => `n17q.v1.${r}.>`), ...consuming('api'), ...replyTo(['provisioner'])],
    subscribe: [`${inboxPrefix('api')}.>`, ...discovery('api')],
  },
  provisioner: {
    publish: [
      '$JS.API.INFO', `$JS.API.STREAM.CREATE.${stream}`, `$JS.API.STREAM.UPDATE.${stream}`, `$JS.API.STREAM.INFO.${stream}`,
      `$JS.API.CONSUMER.CREATE.${stream}.>`, `$JS.API.CONSUMER.DURABLE.CREATE.${stream}.*`, `$JS.API.CONSUMER.INFO.${stream}.*`,
      `$JS.API.CONSUMER.DELETE.${stream}.*`, `$JS.API.CONSUMER.LIST.${stream}`, '$SRV.>',
    ],
    subscribe: [`${inboxPrefix('provisioner')}.>`],
  },
};
