/**
 * Where tools hand in receipts without a token of the API: the capability that went out with the call says for which effect, and the body cannot say another.
 *
 * Rows: EFF-5, SEC-1.
 */
import { Body, Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { Response } from 'express';
import { canonical, http } from '@n17q/contracts';
import { fact, type Json } from '@n17q/domain';
import { Ask, type Asking } from './http/caller.js';
import type { KnownRequest } from './http/intake.js';
import { Problem } from './http/problem.js';
import { RunIndex } from './reading/run-index.js';
import { RunRequests, uploads } from './requests/run-requests.js';
import { acceptedAs } from './runs.controller.js';

/** Receipts of one effect: a tool that repeats itself fills no log. */
export const RECEIPTS_MAX = 20;

@Controller('v1/receipts')
export class ReceiptsController {
  constructor(private readonly requests: RunRequests, private readonly index: RunIndex) {}

  @Post() @HttpCode(202)
  async deposit(@Ask() a: Asking, @Req() req: KnownRequest, @Body({ schema: http.toolReceipt }) body: { receipt: unknown }, @Res({ passthrough: true }) res: Response): Promise<http.Accepted> {
    const known = req.receiptFor;
    if (known === undefined) throw new Problem('UNAUTHENTICATED', 'Send the capability that came with the call.');
    return acceptedAs(res, await this.requests.ask(a, known.run, async (s) => {
      const { tools, receipts } = await this.index.of(s);
      const tool = tools.get(known.effect);
      if (tool === undefined) throw new Problem('NOT_FOUND', 'This run has no such effect.');
      if ((receipts.get(known.effect) ?? 0) >= RECEIPTS_MAX) throw new Problem('TOO_MANY_RECEIPTS', `${RECEIPTS_MAX} receipts of this effect are kept already: no more are taken.`);
      const receipt = await this.requests.kept(a, s.run, canonical(body.receipt as Json), 'receipt', 'application/json');
      return { facts: [fact('receipt.received', { effect: known.effect, receipt: receipt.ref, from: `${tool}, by callback` })], contents: uploads(receipt) };
    }));
  }
}
