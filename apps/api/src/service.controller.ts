import { Controller, Get, Header, Inject, Res } from '@nestjs/common';
import type { Response } from 'express';
import { http } from '@n17q/contracts';

/** Names and how each stands: `ok`, or what is wrong. */
export type Checks = () => Promise<{ readonly [name: string]: string }>;
export const CHECKS = Symbol('checks');

@Controller('v1')
export class ServiceController {
  private readonly description = http.openApiText();
  constructor(@Inject(CHECKS) private readonly checks: Checks) {}

  @Get('health/live') live(): http.Health { return { status: 'ok' }; }

  @Get('health/ready')
  async ready(@Res({ passthrough: true }) res: Response): Promise<http.Health> {
    const checks = await this.checks();
    const ok = Object.values(checks).every((c) => c === 'ok');
    if (!ok) res.status(503);
    return { status: ok ? 'ok' : 'not-ready', checks };
  }

  @Get('openapi.json') @Header('Content-Type', 'application/json')
  openapi(): string { return this.description; }
}
