/** Laws about spending. Rows: BUD-1, BUD-2, BUD-3, BUD-5. */
import { num, of, plainCanonical, str, unresolvedAlong, type Judge } from './record.js';

const DIMENSIONS = ['usd_micros', 'tokens', 'calls'] as const;

export const spending: Judge = (r, say) => {
  for (const d of DIMENSIONS) {
    let account = 0;
    const runs = new Map<string, { ended: boolean; granted: number; drawn: number; used: number; overrun: number; charged: number; held: Map<string, number> }>();
    for (const e of r.events) {
      if (e.type === 'allowance.granted') account += num(of(e.data['amounts'], d));
      if (e.type === 'run.created') runs.set(e.stream, { ended: false, granted: num(of(e.data['budget'], d)), drawn: 0, used: 0, overrun: 0, charged: 0, held: new Map() });
      const run = runs.get(e.stream);
      if (run === undefined) continue;
      if (e.type === 'budget.raised') run.granted += num(of(e.data['amounts'], d));
      const charge = (amounts: unknown): void => {
        if (amounts === undefined) return;
        const charged = num(of(amounts, d));
        const due = run.used + [...run.held.values()].reduce((a, b) => a + b, 0) - run.drawn - run.charged;
        if (charged > Math.max(0, due)) say('BUD-5', `${e.stream} ${e.revision}: charges ${charged} of ${d}, ${due} is owed`);
        account -= charged;
        run.charged += charged;
      };
      if (e.type === 'budget.reserved') {
        account -= num(of(e.data['drawn'], d));
        run.drawn += num(of(e.data['drawn'], d));
        run.held.set(str(e.data['reservation']), num(of(e.data['amounts'], d)));
      }
      if (e.type === 'budget.settled') {
        const held = run.held.get(str(e.data['reservation']));
        if (held === undefined) say('BUD-2', `${e.stream} ${e.revision}: settles what was not reserved`);
        run.held.delete(str(e.data['reservation']));
        run.used += num(of(e.data['used'], d));
        run.overrun += Math.max(0, num(of(e.data['used'], d)) - (held ?? 0));
        // after the end, what is still owed is charged, and what is freed goes back as it is freed: of both what was drawn and what was charged
        charge(e.data['charged']);
        const freed = run.ended ? Math.max(0, run.drawn + run.charged - run.used - [...run.held.values()].reduce((a, b) => a + b, 0)) : 0;
        account += freed;
        run.drawn -= freed - Math.min(run.charged, freed);
        run.charged -= Math.min(run.charged, freed);
      }
      if (e.type === 'run.ended') { run.ended = true; account += num(of(e.data['returned'], d)); run.drawn -= num(of(e.data['returned'], d)); charge(e.data['charged']); }
      const committed = run.used + [...run.held.values()].reduce((a, b) => a + b, 0);
      if (committed > run.granted + run.overrun) say('BUD-2', `${e.stream} ${e.revision}: ${committed} of ${d} used or reserved, ${run.granted} granted`);
      if (committed > run.drawn + run.overrun) say('BUD-2', `${e.stream} ${e.revision}: ${committed} of ${d} used or reserved, ${run.drawn} drawn`);
      if (account < 0) say('BUD-5', `${e.stream} ${e.revision}: the tenant's account stands at ${account} of ${d}`);
    }
    const kept = [...r.held.tenants.values()][0]?.account.get(d) ?? 0;
    if (kept !== account) say('BUD-5', `the store says ${kept} of ${d}, the events say ${account}`);
  }
};

/** A run that ended holds nothing back but what an outcome that is still unknown may cost. */
export const nothingKept: Judge = (r, say) => {
  for (const [stream, events] of r.runs) {
    const end = events.findIndex((e) => e.type === 'run.ended');
    if (end < 0) continue;
    const upTo = events.slice(0, end + 1);
    const held = new Map(upTo.filter((e) => e.type === 'budget.reserved').map((e) => [str(e.data['reservation']), e]));
    for (const e of upTo) if (e.type === 'budget.settled') held.delete(str(e.data['reservation']));
    const open = unresolvedAlong(events)[end] ?? new Set<string>();
    for (const id of held.keys()) {
      const p = upTo.findLast((e) => (e.type === 'effect.permitted' || e.type === 'generation.permitted') && e.data['reservation'] === id);
      const uncertain = p?.type === 'effect.permitted' ? open.has(str(p.data['effect'])) : upTo.some((e) => e.type === 'generation.started' && e.data['generation'] === p?.data['generation']);
      if (!uncertain) say('BUD-5', `${stream}: ended and still holds ${id} of ${p?.type}`);
    }
  }
};

/** Every attempt and every generation was reserved before. */
export const reservedFirst: Judge = (r, say) => {
  const reserved = new Set<string>();
  for (const e of r.events) {
    if (e.type === 'budget.reserved') reserved.add(str(e.data['reservation']));
    if ((e.type === 'effect.permitted' || e.type === 'generation.permitted') && !reserved.has(str(e.data['reservation']))) say('BUD-2', `${e.stream} ${e.revision}: a permit without a reservation`);
  }
};

/** What nobody knows the cost of stays reserved, or is paid for in full; what is settled otherwise is what was told. */
export const unknownKept: Judge = (r, say) => {
  for (const [stream, events] of r.runs) {
    const held = new Map<string, string>(); // of what, its reservation
    const unknown = new Map<string, string>();
    const spent = new Map<string, string>();
    const reserved = new Map(events.filter((e) => e.type === 'budget.reserved').map((e) => [str(e.data['reservation']), plainCanonical(e.data['amounts'])]));
    for (const e of events) {
      const about = str(e.data['effect'] ?? e.data['generation']);
      const reservation = held.get(about) ?? '';
      switch (e.type) {
        case 'effect.permitted': case 'generation.permitted': held.set(about, str(e.data['reservation'])); break;
        case 'effect.outcome-unknown': case 'generation.outcome-unknown': unknown.set(reservation, about); break;
        case 'effect.reconciled': case 'effect.observed': unknown.delete(reservation); break;
        case 'generation.refused': case 'generation.accepted':
          if (e.data['spent'] === null) unknown.set(reservation, about);
          else spent.set(reservation, plainCanonical(e.data['spent']));
          if (e.type === 'generation.accepted' && of(e.data['usage'], 'native') === undefined) say('BUD-3', `${stream} ${e.revision}: the provider's own count is not kept`);
          break;
        case 'budget.settled': {
          const settles = str(e.data['reservation']);
          if (unknown.has(settles) && plainCanonical(e.data['used']) !== reserved.get(settles)) say('BUD-3', `${stream} ${e.revision}: settles what ${unknown.get(settles)} may have cost, and nobody knows`);
          const told = spent.get(settles);
          if (told !== undefined && told !== plainCanonical(e.data['used'])) say('BUD-3', `${stream} ${e.revision}: settles ${plainCanonical(e.data['used'])}, and ${told} was told`);
          break;
        }
        default: break;
      }
    }
  }
};
