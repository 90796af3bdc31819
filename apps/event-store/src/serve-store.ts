/** The verbs that the event store answers on the bus. The caller is known by the subject's last token, which its credentials enforce. Rows: SVC-1, RUN-1, EFF-6. */
import { z } from 'zod';
import { refuse, storeEndpoint, type Endpoint, type RequestContext } from '@n17q/bus';
import { contentRefSchema } from '@n17q/contracts';
import type { ServiceName, StreamId } from '@n17q/domain';
import { contentToWire, type EventStorePort, type GuardedStore, type NeedAt } from '@n17q/event-log';
import { failpoint } from '@n17q/platform';

const tenant = z.string().min(1).max(63);
const stream = z.string().min(1).max(100);
const bodies = {
  load: z.strictObject({ tenant, stream, afterRevision: z.int().min(0).optional() }),
  view: z.strictObject({ tenant, stream, afterRevision: z.int().min(0).optional(), targets: z.union([z.literal('all'), z.array(z.string()).max(1000)]), tenantSeen: z.record(z.string(), z.int()).optional() }),
  contents: z.strictObject({ tenant, commitments: z.array(z.string()).max(64) }),
  needs: z.strictObject({ olderThanMs: z.int().min(0), limit: z.int().min(1).max(1000), after: z.strictObject({ dueAt: z.int(), tenant, stream, reason: z.string().max(500) }).optional() }),
  artifact: z.strictObject({ tenant, stream: stream.nullable(), ref: contentRefSchema, state: z.enum(['pending', 'complete']) }),
  events: z.strictObject({ tenant, stream, afterRevision: z.int().min(0), limit: z.int().min(1).max(1000) }),
  runs: z.strictObject({ tenant, afterStream: z.string().max(100), limit: z.int().min(1).max(1000) }),
  checkpoint: z.strictObject({ tenant, stream }),
};

export function storeEndpoints(guarded: GuardedStore, store: EventStorePort): readonly Endpoint[] {
  const callerIn = (ctx: RequestContext): ServiceName => {
    if (ctx.caller === undefined) throw new Error('a store request without a caller');
    return ctx.caller;
  };
  const verb = <K extends keyof typeof bodies>(name: K, answer: (body: z.infer<(typeof bodies)[K]>, caller: ServiceName) => Promise<unknown>): Endpoint => ({
    name, subject: storeEndpoint(name),
    handler: (body, ctx) => {
      const parsed = bodies[name].safeParse(body);
      return parsed.success ? answer(parsed.data as z.infer<(typeof bodies)[K]>, callerIn(ctx)) : refuse({ code: 'MALFORMED', message: `${name}: ${z.prettifyError(parsed.error).slice(0, 500)}` });
    },
  });
  return [
    {
      name: 'append', subject: storeEndpoint('append'),
      handler: async (body, ctx) => {
        const outcome = await guarded.append(body, callerIn(ctx), ctx.bytes);
        failpoint('store.after-reply');
        return outcome;
      },
    },
    verb('load', (b) => store.loadRun(b.tenant, b.stream as StreamId, b.afterRevision)),
    verb('view', (b) => store.decisionView({ tenant: b.tenant, stream: b.stream as StreamId, targets: b.targets, ...(b.afterRevision === undefined ? {} : { afterRevision: b.afterRevision }), ...(b.tenantSeen === undefined ? {} : { tenantSeen: b.tenantSeen }) })),
    verb('contents', async (b, reader) => (await store.contents(b.tenant, b.commitments, { reader })).map(contentToWire)),
    verb('needs', (b, service) => store.needsDue(service, b.olderThanMs, b.limit, b.after as NeedAt | undefined)),
    verb('artifact', (b) => store.registerArtifact({ tenant: b.tenant, stream: b.stream as StreamId | null, ref: b.ref, salt: null, state: b.state })),
    verb('events', (b) => store.readEvents(b.tenant, b.stream as StreamId, b.afterRevision, b.limit)),
    verb('runs', (b) => store.listRuns(b.tenant, b.afterStream as StreamId | '', b.limit)),
    verb('checkpoint', (b) => store.latestCheckpoint(b.tenant, b.stream as StreamId)),
  ];
}
