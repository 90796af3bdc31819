import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put, Res } from '@nestjs/common';
import type { Response } from 'express';
import { http } from '@n17q/contracts';
import { Ask, type Asking } from './http/caller.js';
import type { Answer } from './requests/run-requests.js';
import { Delegations } from './tenant/delegations.js';
import { TenantDocuments } from './tenant/documents.js';

const topicOf = (a: Answer): string => a.stream.slice('tenant/'.length);
function published(res: Response, a: Answer): http.Published {
  if (a.repeated) res.setHeader('Idempotent-Replayed', 'true');
  res.setHeader('ETag', `"${a.revision}"`);
  return { topic: topicOf(a), revision: a.revision };
}

@Controller('v1/tenant')
export class TenantController {
  constructor(private readonly documents: TenantDocuments, private readonly delegations: Delegations) {}

  @Get('policy') policy(@Ask() a: Asking, @Res({ passthrough: true }) res: Response): Promise<http.TenantDocumentView> { return this.show(a, 'policy', res); }
  @Get('registry') registry(@Ask() a: Asking, @Res({ passthrough: true }) res: Response): Promise<http.TenantDocumentView> { return this.show(a, 'registry', res); }
  @Get('profiles') profiles(@Ask() a: Asking, @Res({ passthrough: true }) res: Response): Promise<http.TenantDocumentView> { return this.show(a, 'profiles', res); }
  @Get('roles') roles(@Ask() a: Asking, @Res({ passthrough: true }) res: Response): Promise<http.TenantDocumentView> { return this.show(a, 'roles', res); }

  @Put('policy') async putPolicy(@Ask() a: Asking, @Body({ schema: http.TENANT_DOCUMENTS.policy }) d: unknown, @Res({ passthrough: true }) res: Response): Promise<http.Published> { return published(res, await this.documents.publish(a, 'policy', d)); }
  @Put('registry') async putRegistry(@Ask() a: Asking, @Body({ schema: http.TENANT_DOCUMENTS.registry }) d: unknown, @Res({ passthrough: true }) res: Response): Promise<http.Published> { return published(res, await this.documents.publish(a, 'registry', d)); }
  @Put('profiles') async putProfiles(@Ask() a: Asking, @Body({ schema: http.TENANT_DOCUMENTS.profiles }) d: unknown, @Res({ passthrough: true }) res: Response): Promise<http.Published> { return published(res, await this.documents.publish(a, 'profiles', d)); }
  @Put('roles') async putRoles(@Ask() a: Asking, @Body({ schema: http.TENANT_DOCUMENTS.roles }) d: unknown, @Res({ passthrough: true }) res: Response): Promise<http.Published> { return published(res, await this.documents.publish(a, 'roles', d)); }

  @Delete('profiles/accounts/:account')
  async removeAccount(@Ask() a: Asking, @Param('account') account: string, @Res({ passthrough: true }) res: Response): Promise<http.Published> { return published(res, await this.documents.removeAccount(a, account)); }

  @Get('delegations')
  async listDelegations(@Ask() a: Asking, @Res({ passthrough: true }) res: Response): Promise<http.DelegationsView> {
    const d = await this.delegations.list(a.tenant);
    res.setHeader('ETag', `"${d.revision}"`);
    return d;
  }
  @Post('delegations') @HttpCode(201)
  async delegate(@Ask() a: Asking, @Body({ schema: http.newDelegation }) body: http.NewDelegation, @Res({ passthrough: true }) res: Response): Promise<http.Delegated> {
    const given = await this.delegations.give(a, body);
    return { ...published(res, given), delegation: given.delegation };
  }
  @Delete('delegations/:delegation')
  async takeBack(@Ask() a: Asking, @Param('delegation') delegation: string, @Res({ passthrough: true }) res: Response): Promise<http.Published> { return published(res, await this.delegations.takeBack(a, delegation)); }

  @Get('allowance') allowance(@Ask() a: Asking): Promise<http.AllowanceView> { return this.documents.allowance(a.tenant); }
  @Post('allowance') @HttpCode(201)
  async grant(@Ask() a: Asking, @Body({ schema: http.newAllowance }) body: http.NewAllowance, @Res({ passthrough: true }) res: Response): Promise<http.Published> { return published(res, await this.documents.grant(a, body)); }
  @Put('allowance/limits')
  async limit(@Ask() a: Asking, @Body({ schema: http.newAllowanceLimits }) body: http.NewAllowanceLimits, @Res({ passthrough: true }) res: Response): Promise<http.Published> { return published(res, await this.documents.limit(a, body)); }

  private async show(a: Asking, topic: http.DocumentTopic, res: Response): Promise<http.TenantDocumentView> {
    const d = await this.documents.show(a.tenant, topic);
    res.setHeader('ETag', `"${d.revision}"`);
    return d;
  }
}
