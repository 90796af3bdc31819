/** What people and systems ask of a run: each operation is one event of its own name. Rows: RES-2, EFF-5, BUD-1, TOOL-3, SRC-1, EFF-8. */
import { Body, Controller, HttpCode, Param, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { v7 as uuidv7 } from 'uuid';
import { http } from '@n17q/contracts';
import { fact, type Amounts, type Fact } from '@n17q/domain';
import { Ask, type Asking } from './http/caller.js';
import { Problem } from './http/problem.js';
import { decided, evidenceBytes, RunRequests, uploads } from './requests/run-requests.js';
import { acceptedAs } from './runs.controller.js';

type Reason = { reason: string };
const TEXT = 'text/plain; charset=utf-8';

@Controller('v1/runs/:run')
export class RunRequestsController {
  constructor(private readonly requests: RunRequests) {}

  @Post('inputs') @HttpCode(202)
  async input(@Ask() a: Asking, @Param('run') run: string, @Body({ schema: http.newInput }) body: { text: string }, @Res({ passthrough: true }) res: Response): Promise<http.Accepted> {
    return acceptedAs(res, await this.requests.ask(a, run, async (s) => {
      const text = await this.requests.kept(a, s.run, body.text, 'input', TEXT);
      return { facts: [fact('input.received', { text: text.ref })], contents: uploads(text) };
    }));
  }

  @Post('pause') @HttpCode(202)
  pause(@Ask() a: Asking, @Param('run') run: string, @Body({ schema: http.withReason }) body: Reason, @Res({ passthrough: true }) res: Response): Promise<http.Accepted> {
    return this.one(a, run, res, fact('run.pause-requested', { reason: body.reason }));
  }

  /** Resume run. Never continues a provider's response: that is the other operation (RES-2). */
  @Post('resume') @HttpCode(202)
  resume(@Ask() a: Asking, @Param('run') run: string, @Body({ schema: http.withReason }) body: Reason, @Res({ passthrough: true }) res: Response): Promise<http.Accepted> {
    return this.one(a, run, res, fact('run.resume-requested', { reason: body.reason })); // keeps RES-2
  }

  /** Continue provider response. Whether it is allowed and possible is judged elsewhere (RES-2). */
  @Post('continue-provider-response') @HttpCode(202)
  continueProviderResponse(@Ask() a: Asking, @Param('run') run: string, @Body({ schema: http.withReason }) body: Reason, @Res({ passthrough: true }) res: Response): Promise<http.Accepted> {
    return this.one(a, run, res, fact('provider-response.continue-requested', { reason: body.reason })); // keeps RES-2
  }

  @Post('end') @HttpCode(202)
  end(@Ask() a: Asking, @Param('run') run: string, @Body({ schema: http.withReason }) body: Reason, @Res({ passthrough: true }) res: Response): Promise<http.Accepted> {
    return this.one(a, run, res, fact('run.end-requested', { reason: body.reason }));
  }

  @Post('notes') @HttpCode(202)
  async note(@Ask() a: Asking, @Param('run') run: string, @Body({ schema: http.newNote }) body: { text: string; visibility: 'run' | 'people' }, @Res({ passthrough: true }) res: Response): Promise<http.Accepted> {
    return acceptedAs(res, await this.requests.ask(a, run, async (s) => {
      const text = await this.requests.kept(a, s.run, body.text, 'note', TEXT);
      return { facts: [fact('note.added', { text: text.ref, visibility: body.visibility })], contents: uploads(text) };
    }));
  }

  @Post('plan') @HttpCode(202)
  plan(@Ask() a: Asking, @Param('run') run: string, @Body({ schema: http.newPlan }) body: { steps: string[] }, @Res({ passthrough: true }) res: Response): Promise<http.Accepted> {
    return this.one(a, run, res, fact('plan.changed', { steps: body.steps }));
  }

  @Post('approvals/:approval') @HttpCode(202)
  decide(@Ask() a: Asking, @Param('run') run: string, @Param('approval') approval: string, @Body({ schema: http.approvalDecision }) body: http.ApprovalDecision, @Res({ passthrough: true }) res: Response): Promise<http.Accepted> {
    return this.one(a, run, res, decided(approval, body));
  }

  @Post('approvals/:approval/revoke') @HttpCode(202)
  revoke(@Ask() a: Asking, @Param('run') run: string, @Param('approval') approval: string, @Body({ schema: http.withReason }) body: Reason, @Res({ passthrough: true }) res: Response): Promise<http.Accepted> {
    return this.one(a, run, res, fact('approval.revoked', { approval, reason: body.reason }));
  }

  /** Evidence for the gate, which judges it; an effect is settled elsewhere. */
  @Post('effects/:effect/finding') @HttpCode(202)
  async finding(@Ask() a: Asking, @Param('run') run: string, @Param('effect') effect: string, @Body({ schema: http.newFinding }) body: http.NewFinding, @Res({ passthrough: true }) res: Response): Promise<http.Accepted> {
    return acceptedAs(res, await this.requests.ask(a, run, async (s) => {
      await this.requests.requireEffect(s, effect);
      const { bytes, media } = evidenceBytes(body.evidence);
      const evidence = await this.requests.kept(a, s.run, bytes, 'evidence', media);
      return { facts: [fact('effect.finding-submitted', { finding: `finding-${uuidv7()}`, effect, verdict: body.verdict, evidence: evidence.ref })], contents: uploads(evidence) };
    }));
  }

  @Post('effects/:effect/migration') @HttpCode(202)
  async migration(@Ask() a: Asking, @Param('run') run: string, @Param('effect') effect: string, @Body({ schema: http.newMigration }) body: { tool: string; reason: string }, @Res({ passthrough: true }) res: Response): Promise<http.Accepted> {
    return acceptedAs(res, await this.requests.ask(a, run, async (s) => {
      await this.requests.requireEffect(s, effect);
      return { facts: [fact('effect.migration-requested', { migration: `migration-${uuidv7()}`, effect, tool: body.tool, reason: body.reason })], contents: [] };
    }));
  }

  @Post('budget/raise') @HttpCode(202)
  raise(@Ask() a: Asking, @Param('run') run: string, @Body({ schema: http.newRaise }) body: { amounts: Amounts; wallMs: number; reason: string }, @Res({ passthrough: true }) res: Response): Promise<http.Accepted> {
    return this.one(a, run, res, fact('budget.raise-requested', { raise: `raise-${uuidv7()}`, amounts: body.amounts, wallMs: body.wallMs, reason: body.reason }));
  }

  @Post('sources/:source/review') @HttpCode(202)
  async review(@Ask() a: Asking, @Param('run') run: string, @Param('source') source: string, @Body({ schema: http.sourceReview }) body: { decision: 'approved' | 'rejected'; note: string }, @Res({ passthrough: true }) res: Response): Promise<http.Accepted> {
    return acceptedAs(res, await this.requests.ask(a, run, (s) => {
      if (!s.sources.some((x) => x.source === source)) throw new Problem('NOT_FOUND', 'This run has no source of this name, or a newer observation took its place: look at the sources of the run.');
      return { facts: [fact('source.reviewed', { source, decision: body.decision, note: body.note })], contents: [] };
    }));
  }

  @Post('erasure') @HttpCode(202)
  async erase(@Ask() a: Asking, @Param('run') run: string, @Body({ schema: http.newErasure }) body: Reason, @Res({ passthrough: true }) res: Response): Promise<http.Accepted> {
    return acceptedAs(res, await this.requests.ask(a, run, (s) => {
      if (s.contentErased) throw new Problem('ILLEGAL', 'The contents of this run were erased already: there is nothing more to ask. Look at the run for who asked, when and why.');
      return { facts: [fact('run.erasure-requested', { reason: body.reason })], contents: [] };
    }));
  }

  private async one(a: Asking, run: string, res: Response, f: Fact): Promise<http.Accepted> { return acceptedAs(res, await this.requests.ask(a, run, () => ({ facts: [f], contents: [] }))); }
}
