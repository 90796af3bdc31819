/**
 * What every connector to a service must answer, for every behaviour of the world and every place where the line can be cut. Cases without a test
 * runner; the judge is the world's ledger. A saboteur must fail the case of the promise that it breaks.
 *
 * Rows: EFF-2, EFF-3, EFF-5, EFF-9.
 */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { Json } from '@n17q/domain';
import type { Connector, ConnectorOutcome, DispatchRequest, QueryRequest } from '@n17q/tools';
import type { WorldEmulator, WorldMode } from './world-emulator.js';

/** A ticket service that misbehaves on demand, whatever it speaks. */
export type ConformanceWorld = Pick<WorldEmulator, 'url' | 'setMode' | 'ledger'>;
export interface ConnectorUnderTest {
  readonly world: ConformanceWorld;
  /** A connector that files tickets at `baseUrl`, with key and query, and with what `refuseStatus` 422 gives as the only final refusal. */
  connect(baseUrl: string): Connector;
}
export interface ConnectorCase { readonly title: string; readonly run: (under: ConnectorUnderTest) => Promise<void> }

export const TICKET_TARGET = { service: 'tickets' } as const;
let next = 0;

export function dispatchRequest(change: Partial<DispatchRequest> = {}): DispatchRequest {
  const n = ++next;
  return {
    effect: `effect-${n}`, attempt: `attempt-${n}`, idempotencyKey: `key-${n}`, args: { title: `Ticket ${n}`, body: 'cents are lost' }, target: TICKET_TARGET,
    timeoutMs: 5_000, outputBytesMax: 64 * 1024, beforeFirstByte: () => true, ...change,
  };
}
const lookFor = (r: DispatchRequest): QueryRequest => ({
  effect: r.effect, idempotencyKey: r.idempotencyKey, args: r.args, target: r.target, timeoutMs: r.timeoutMs, outputBytesMax: r.outputBytesMax,
});

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => { server.close(() => resolve()); });
  return port;
}

/** The world behaves as `mode` says; the outcome must be of `kind`, and the ledger must then hold `accepted` tickets with the key. */
function underMode(title: string, mode: Partial<WorldMode>, kind: ConnectorOutcome['kind'], accepted: number, change: Partial<DispatchRequest> = {}): ConnectorCase {
  return {
    title,
    run: async ({ world, connect }) => {
      world.setMode(mode);
      let asked = 0;
      const request = dispatchRequest({ ...change, beforeFirstByte: () => { asked++; return true; } });
      const outcome = await connect(world.url).dispatch(request);
      assert.equal(outcome.kind, kind, JSON.stringify(outcome));
      assert.equal(asked, 1, 'beforeFirstByte is asked once');
      assert.equal(world.ledger().acceptedPerKey[request.idempotencyKey] ?? 0, accepted);
    },
  };
}

const BIG: Json = { title: 'big', body: 'x'.repeat(900_000) };

export const CONNECTOR_CONFORMANCE: readonly ConnectorCase[] = [
  underMode('[EFF-3] says observed for a complete answer', {}, 'observed', 1),
  underMode('[EFF-3] says refused for an answer that the contract declares final', { reply: 'refuse', refuseStatus: 422 }, 'refused', 0),
  underMode('[EFF-3] says unknown for a refusal that the contract does not declare final', { reply: 'refuse', refuseStatus: 403 }, 'unknown', 0),
  underMode('[EFF-3] says unknown when the line is cut in the middle of the request', { reply: 'cut-before-reading' }, 'unknown', 0, { args: BIG }),
  underMode('[EFF-3] says unknown when the line is cut after the request, though the world accepted', { reply: 'lose' }, 'unknown', 1),
  underMode('[EFF-3] says unknown when the line is cut in the middle of the reply, though its status was seen', { reply: 'lose-half' }, 'unknown', 1),
  underMode('[EFF-3] says unknown when the reply does not come in time', { reply: 'hold' }, 'unknown', 1, { timeoutMs: 150 }),
  underMode('[EFF-3] says unknown for a server error, though the world accepted', { reply: 'fail-after-accepting' }, 'unknown', 1),
  underMode('[EFF-3] says unknown for a reply that is not what it says it is', { reply: 'garble' }, 'unknown', 1),
  underMode('[EFF-3] says unknown for a reply beyond the bound', { reply: 'huge' }, 'unknown', 1, { outputBytesMax: 16 }),
  {
    title: '[EFF-3] says not-sent when nobody listens',
    run: async ({ connect }) => {
      const outcome = await connect(`http://127.0.0.1:${await closedPort()}`).dispatch(dispatchRequest());
      assert.equal(outcome.kind, 'not-sent');
    },
  },
  {
    title: '[EFF-2] says not-sent, and sends nothing, when the last check before the first byte says no',
    run: async ({ world, connect }) => {
      const outcome = await connect(world.url).dispatch(dispatchRequest({ beforeFirstByte: () => false }));
      assert.equal(outcome.kind, 'not-sent');
      assert.equal(world.ledger().arrived, 0);
    },
  },
  {
    title: '[EFF-3] says not-sent for an abort before the first byte, unknown for one after it',
    run: async ({ world, connect }) => {
      assert.equal((await connect(world.url).dispatch(dispatchRequest({ signal: AbortSignal.abort() }))).kind, 'not-sent');
      assert.equal(world.ledger().arrived, 0);
      world.setMode({ reply: 'hold' });
      const stop = new AbortController();
      const outcome = await connect(world.url).dispatch(dispatchRequest({ signal: stop.signal, beforeFirstByte: () => { setImmediate(() => stop.abort()); return true; } }));
      assert.equal(outcome.kind, 'unknown');
    },
  },
  {
    title: '[EFF-7] sends nothing to another target than the permitted one',
    run: async ({ world, connect }) => {
      const outcome = await connect(world.url).dispatch(dispatchRequest({ target: { service: 'elsewhere' } }));
      assert.equal(outcome.kind, 'not-sent');
      assert.equal(world.ledger().arrived, 0);
    },
  },
  {
    title: '[EFF-1] sends the same key with each attempt, so that a world that knows keys makes one ticket',
    run: async ({ world, connect }) => {
      const request = dispatchRequest();
      const first = await connect(world.url).dispatch(request);
      const second = await connect(world.url).dispatch({ ...request, attempt: 'another' });
      assert.ok(first.kind === 'observed' && second.kind === 'observed');
      assert.deepEqual(second.receipt, first.receipt);
      assert.deepEqual(world.ledger().acceptedPerKey, { [request.idempotencyKey]: 1 });
      assert.equal(world.ledger().arrived, 2);
    },
  },
  {
    title: '[EFF-5] answers a look with the receipt of what happened, also when the reply was lost',
    run: async ({ world, connect }) => {
      world.setMode({ reply: 'lose' });
      const request = dispatchRequest();
      const connector = connect(world.url);
      assert.equal((await connector.dispatch(request)).kind, 'unknown');
      const look = await connector.query?.(lookFor(request));
      assert.ok(look?.kind === 'happened', JSON.stringify(look));
      assert.equal(look.count, 1);
      assert.match(JSON.stringify(look.receipt), /"ticket":"T-1"/);
      assert.equal(world.ledger().accepted, 1);
    },
  },
  {
    title: '[EFF-5] answers a look with not-found only when the world says so, and cannot-tell otherwise',
    run: async ({ world, connect }) => {
      const request = dispatchRequest();
      assert.deepEqual(await connect(world.url).query?.(lookFor(request)), { kind: 'not-found' });
      world.setMode({ query: false });
      assert.equal((await connect(world.url).query?.(lookFor(request)))?.kind, 'cannot-tell');
      assert.equal((await connect(`http://127.0.0.1:${await closedPort()}`).query?.(lookFor(request)))?.kind, 'cannot-tell');
      assert.equal(world.ledger().arrived, 0);
    },
  },
  {
    title: '[EFF-5] does not take the absence of a late acceptance for a refusal: the look says not-found first, happened later',
    run: async ({ world, connect }) => {
      world.setMode({ reply: 'late', lateMs: 400 });
      const request = dispatchRequest({ timeoutMs: 50 });
      const connector = connect(world.url);
      assert.equal((await connector.dispatch(request)).kind, 'unknown');
      const look = lookFor({ ...request, timeoutMs: 2_000 });
      assert.equal((await connector.query?.(look))?.kind, 'not-found');
      const end = performance.now() + 5_000;
      while ((await connector.query?.(look))?.kind !== 'happened') assert.ok(performance.now() < end, 'the late ticket appears');
    },
  },
  {
    title: '[EFF-9] counts what happened twice',
    run: async ({ world, connect }) => {
      world.setMode({ keyAware: false });
      const request = dispatchRequest();
      const connector = connect(world.url);
      await connector.dispatch(request);
      await connector.dispatch(request);
      const look = await connector.query?.(lookFor(request));
      assert.ok(look?.kind === 'happened');
      assert.equal(look.count, 2);
    },
  },
];
