import { expect, it } from '@jest/globals';
import type { Json } from '@n17q/domain';
import { HttpConnector } from './http-connector.js';

const TARGET = { service: 'pages' };
/** Nobody listens there: whatever gets as far as a connection says so with another cause. */
const put = new HttpConnector({ baseUrl: 'http://127.0.0.1:1', method: 'PUT', path: '/documents/{name}', precondition: { header: 'if-match', argument: 'version' } }, TARGET, () => ({}));
const dispatched = (args: Json) => put.dispatch({ effect: 'e', attempt: 'a', idempotencyKey: 'k', args, target: TARGET, timeoutMs: 1_000, outputBytesMax: 1_000, beforeFirstByte: () => true });
const MISSING = { kind: 'not-sent', cause: 'PRECONDITION_MISSING' };

it.each([undefined, '', '*', null, true, '"v0","v1"', 'v 0', {}, ['v0'], '"v0"\r\nx: y', 'ä', 'v'.repeat(201)])('[EFF-4] [EFF-3] sends nothing without exactly one value to compare with: %j', async (version) => {
  expect(await dispatched({ name: 'plan', ...(version === undefined ? {} : { version }) })).toEqual(MISSING);
});
it('[EFF-4] sends nothing for arguments that are no object', async () => expect(await dispatched(['plan'])).toMatchObject({ kind: 'not-sent' }));
it.each(['"v0"', 'W/"v0"', 7])('[EFF-4] goes on with %j', async (version) => {
  expect(await dispatched({ name: 'plan', version })).not.toEqual(MISSING);
});
