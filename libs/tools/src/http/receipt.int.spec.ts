import { expect, it } from '@jest/globals';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { receiptToken } from '../receipt-capability.js';
import { HttpConnector } from './http-connector.js';

const TARGET = { service: 'tickets' };
const receiptTo = { url: 'http://127.0.0.1:1/v1/receipts', token: receiptToken('k'.repeat(32), { tenant: 'acme', run: 'r', effect: 'e' }) };

it('[EFF-5] [EFF-3] tells the service where it may hand in a receipt, in the header that the mapping names, and sends nothing where it cannot', async () => {
  const heard: (string | string[] | undefined)[] = [];
  const server = createServer((req, res) => { heard.push(req.headers['x-receipt-to']); res.writeHead(200, { 'content-type': 'application/json' }).end('{}'); });
  await new Promise<void>((r) => server.listen(0, '127.0.0.1', r));
  try {
    const config = { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, method: 'POST', path: '/tickets' };
    const sent = (more: object, to?: typeof receiptTo) => new HttpConnector({ ...config, ...more }, TARGET, () => ({})).dispatch({ effect: 'e', attempt: 'a', idempotencyKey: 'k', args: {}, target: TARGET, timeoutMs: 5_000, outputBytesMax: 1_000, beforeFirstByte: () => true, ...(to === undefined ? {} : { receiptTo: to }) });
    const wants = { receipt: { header: 'x-receipt-to' } };
    expect(await sent(wants)).toEqual({ kind: 'not-sent', cause: expect.stringMatching(/^RECEIPTS_OFF: .*N17Q_RECEIPT_KEY/u) });
    expect(heard).toEqual([]);
    expect((await sent(wants, receiptTo)).kind).toBe('observed');
    expect((await sent({}, receiptTo)).kind).toBe('observed'); // a mapping that does not ask for it gets none
    expect(heard).toEqual([`<${receiptTo.url}>; token="${receiptTo.token}"`, undefined]);
  } finally {
    server.closeAllConnections();
    await new Promise((r) => server.close(r));
  }
});
