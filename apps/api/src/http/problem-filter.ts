import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { Request, Response } from 'express';
import type { Log } from '@n17q/reactor';
import { http } from '@n17q/contracts';
import { problemOf, sendProblem } from './problem.js';

@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly logger: Log) {}
  catch(e: unknown, host: ArgumentsHost): void {
    const res = host.switchToHttp().getResponse<Response>();
    const p = problemOf(e, ['GET', 'HEAD'].includes(host.switchToHttp().getRequest<Request>().method));
    if (http.PROBLEMS[p.code].status >= 500) this.logger.error({ code: p.code, cause: e instanceof Error ? { name: e.name, message: e.message.slice(0, 500), stack: p.code === 'DEFECT' ? e.stack?.slice(0, 2000) : undefined } : String(e).slice(0, 200) }, 'request');
    if (res.headersSent) { res.destroy(); return; } // the caller must see a cut answer, not a complete one
    sendProblem(res, p);
  }
}
