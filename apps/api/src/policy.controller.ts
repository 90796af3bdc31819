import { Body, Controller, Get, Header, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import { http } from '@n17q/contracts';
import type { PolicyDocument } from '@n17q/domain';
import { Ask, type Asking } from './http/caller.js';
import { Policies } from './tenant/policies.js';

const POLICY = { schema: http.TENANT_DOCUMENTS.policy };

@Controller('v1/tenant/policy')
export class PolicyController {
  constructor(private readonly policies: Policies) {}

  @Get('schema') @Header('Content-Type', 'text/plain; charset=utf-8') schema(@Ask() a: Asking): Promise<string> { return this.policies.schema(a.tenant); }
  @Get('revisions') revisions(@Ask() a: Asking, @Query({ schema: http.revisionsQuery }) q: { readonly before?: number; readonly limit: number }): Promise<http.DocumentRevisions> { return this.policies.revisions(a.tenant, q.before, q.limit); }
  @Get('revisions/:revision') async revision(@Ask() a: Asking, @Param('revision') n: string, @Res({ passthrough: true }) res: Response): Promise<http.TenantDocumentView> {
    const d = await this.policies.revision(a.tenant, n);
    res.setHeader('ETag', `"${d.revision}"`);
    return d;
  }
  @Post('diff') @HttpCode(200) diff(@Ask() a: Asking, @Body(POLICY) d: PolicyDocument): Promise<http.PolicyDiff> { return this.policies.diff(a.tenant, d); }
  @Post('dry-run') @HttpCode(200) dryRun(@Ask() a: Asking, @Body(POLICY) d: PolicyDocument): Promise<http.PolicyTrial> { return this.policies.dryRun(a.tenant, d); }
}
