import type { N17qClient } from '@n17q/client';
import type { EventEnvelope } from '@n17q/domain';

const PAGE = 200;
const EVENTS_MAX = 20_000;

/** The run's events from the first on, at most 20,000. */
export async function eventsOf(client: N17qClient, run: string): Promise<readonly EventEnvelope[]> {
  const events: EventEnvelope[] = [];
  for (let after: number | null = 0; after !== null && events.length < EVENTS_MAX; ) {
    const page: { readonly events: readonly EventEnvelope[]; readonly next: number | null } = await client.eventsPage(run, { after, limit: PAGE });
    events.push(...page.events);
    after = page.next;
  }
  return events;
}
