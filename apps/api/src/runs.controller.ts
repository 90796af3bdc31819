import { Body, Controller, Get, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { http } from '@n17q/contracts';
import type { ContentRef } from '@n17q/domain';
import { Ask, type Asking } from './http/caller.js';
import { EventStreams } from './reading/event-stream.js';
import { RunReader } from './reading/run-reader.js';
import { RunList } from './read-model/run-list.js';
import { CreateRun } from './requests/create-run.js';
import { RunRequests, type Answer } from './requests/run-requests.js';

/** Says whether this is the first answer or its repetition, and where the request stands. */
export function acceptedAs(res: Response, a: Answer): http.Accepted {
  if (a.repeated) res.setHeader('Idempotent-Replayed', 'true');
  return { run: a.stream.slice('run/'.length), revision: a.revision };
}
// only these are shown as what they are; anything else could run in somebody's browser
const SHOWN_AS_IS = /^(text\/plain|application\/json)\b/;

@Controller('v1/runs')
export class RunsController {
  constructor(private readonly creation: CreateRun, private readonly list: RunList, private readonly requests: RunRequests, private readonly reader: RunReader, private readonly streams: EventStreams) {}

  @Post()
  async create(@Ask() a: Asking, @Body({ schema: http.newRun }) body: http.NewRunRead, @Res({ passthrough: true }) res: Response): Promise<http.Accepted> {
    const answer = await this.creation.create(a, body);
    res.setHeader('Location', `/v1/${answer.stream.replace('run/', 'runs/')}`);
    return acceptedAs(res, answer);
  }

  @Get()
  page(@Ask() a: Asking, @Query({ schema: http.runsQuery }) q: { after?: string; limit: number }): Promise<http.RunsPage> { return this.list.page(a.tenant, q.after, q.limit); }

  @Get(':run')
  async show(@Ask() a: Asking, @Param('run') run: string): Promise<http.RunView> { return this.reader.view(await this.requests.state(a.tenant, run)); }

  @Get(':run/events')
  async events(@Ask() a: Asking, @Param('run') run: string, @Query({ schema: http.eventsQuery }) q: { after: number; limit: number }): Promise<object> {
    return this.reader.events(await this.requests.state(a.tenant, run), q.after, q.limit);
  }

  @Get(':run/stream')
  async stream(@Ask() a: Asking, @Param('run') run: string, @Query({ schema: http.streamQuery }) q: { after?: number }, @Req() req: Request, @Res() res: Response): Promise<void> {
    const s = await this.requests.state(a.tenant, run);
    const last = Number(req.headers['last-event-id'] ?? Number.NaN);
    await this.streams.send(res, a.tenant, s.run, Number.isSafeInteger(last) && last >= 0 && last <= 2_147_483_647 ? last : (q.after ?? 0));
  }

  @Get(':run/sources')
  async sources(@Ask() a: Asking, @Param('run') run: string): Promise<http.SourcesView> { return this.reader.sources(await this.requests.state(a.tenant, run)); }

  @Get(':run/sources/:source/recording')
  async recording(@Ask() a: Asking, @Param('run') run: string, @Param('source') source: string, @Res() res: Response): Promise<void> {
    this.hand(res, await this.reader.recording(await this.requests.state(a.tenant, run), source));
  }

  @Get(':run/decisions')
  async decisions(@Ask() a: Asking, @Param('run') run: string, @Query({ schema: http.decisionsQuery }) q: { after: number; limit: number }): Promise<http.DecisionsPage> {
    return this.reader.decisions(await this.requests.state(a.tenant, run), q.after, q.limit);
  }

  @Get(':run/content/:commitment')
  async content(@Ask() a: Asking, @Param('run') run: string, @Param('commitment') commitment: string, @Res() res: Response): Promise<void> {
    this.hand(res, await this.reader.content(await this.requests.state(a.tenant, run), commitment));
  }

  private hand(res: Response, { ref, bytes }: { readonly ref: ContentRef; readonly bytes: Uint8Array }): void {
    res.setHeader('Content-Type', SHOWN_AS_IS.test(ref.media) ? ref.media : 'application/octet-stream');
    res.setHeader('X-Content-Type-Options', 'nosniff');
    res.setHeader('Content-Security-Policy', 'sandbox');
    res.setHeader('Cache-Control', 'no-store');
    res.setHeader('N17Q-Content-Class', ref.class);
    res.end(bytes);
  }

  @Get(':run/diff')
  async diff(@Ask() a: Asking, @Param('run') run: string, @Res() res: Response): Promise<void> {
    const text = await this.reader.diff(await this.requests.state(a.tenant, run));
    res.setHeader('X-Content-Type-Options', 'nosniff');
    res.type('text/plain; charset=utf-8').send(text);
  }
}
