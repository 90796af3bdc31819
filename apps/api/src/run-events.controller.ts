import { Controller } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import { OnRunEvent, type RunEvent } from '@n17q/bus';
import { EventStreams } from './reading/event-stream.js';
import { RunViews } from './read-model/projection.js';

/** A trigger for the read model and for whoever watches the run. */
@Controller()
export class RunEventsController {
  constructor(private readonly views: RunViews, private readonly streams: EventStreams) {}

  @OnRunEvent()
  async onRunEvent(@Payload() e: RunEvent): Promise<void> {
    if (e.class === 'tenant') return; // a tenant's stream is no run
    this.streams.woke(e.tenant, e.run);
    await this.views.refresh(e.tenant, e.run);
  }
}
