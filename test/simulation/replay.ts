/** What must be the same when a seed is run again: every step, and every event, with random ids renamed in the order in which they appear. */
import type { Simulated } from './simulation.js';

const RANDOM = /c1\.[0-9a-f]{64}|[0-9a-f]{64}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<=eff-|n17q-|src-)[0-9a-f]{32}/g;

export function normalised(s: Simulated): readonly string[] {
  const names = new Map<string, string>();
  const rename = (text: string): string => text.replace(RANDOM, (id) => { if (!names.has(id)) names.set(id, `#${names.size + 1}`); return names.get(id) as string; });
  return [...s.trace.map(rename), ...s.store.held.lane.map(({ event: e }) => rename(`${e.stream} ${e.revision} ${e.recordedAt} ${e.writer} ${e.type} ${JSON.stringify(e.data)}`))];
}
