/** Laws about model calls, their contexts and their opaque pieces. Rows: EFF-2, CON-1, CON-2, CTX-3, RES-3, RES-9. */
import { sealing } from '../processes.js';
import { PIECE_MARK } from '../model.js';
import { CONSEQUENTIAL, contractsOf, of, str, unresolvedAlong, type Judge } from './record.js';

/** Each request on the wire is one started generation, written before it. */
export const oneRequestEach: Judge = (r, say) => {
  const starts = r.events.filter((e) => e.type === 'generation.started');
  const used = new Set<number>();
  for (const q of r.sim.model.ledger.requests) {
    const wire = sealing.exact(q.wire);
    const mine = starts.find((e) => e.data['wire'] === wire && e.position <= q.storePosition && !used.has(e.position));
    if (mine === undefined) say('EFF-2', 'a request went to the model without a generation that was started before');
    else used.add(mine.position);
  }
};

export const pieces: Judge = (r, say) => {
  for (const q of r.sim.model.ledger.requests) if (q.wrong !== null) say('CON-2', `the provider refused a request: ${q.wrong}`);
  for (const t of r.held.tenants.values()) for (const [c, held] of t.contents) if (held.body !== null && Buffer.from(held.body).includes(PIECE_MARK)) say('CON-1', `content ${c} of class ${held.class} holds an opaque piece in the clear`);
  for (const e of r.events) if (JSON.stringify(e.data).includes(PIECE_MARK)) say('CON-1', `${e.type} holds an opaque piece`);
  for (const t of r.held.tenants.values()) for (const body of t.sections.values()) if (body.includes(PIECE_MARK)) say('CON-1', 'a checkpoint holds an opaque piece');
  for (const line of [...r.sim.troubles.map((t) => t.message), ...r.sim.trace]) if (line.includes(PIECE_MARK)) say('CON-1', 'a log line holds an opaque piece');
};

/** Every context says every unresolved effect. */
export const contexts: Judge = (r, say) => {
  const contracts = contractsOf(r);
  for (const [stream, events] of r.runs) {
    const along = unresolvedAlong(events);
    events.forEach((e, i) => {
      if (e.type !== 'context.compiled' || e.data['form'] === 'exact-replay') return;
      const body = r.held.tenants.get(e.tenant)?.contents.get(str(of(e.data['entry'], 'commitment')))?.body;
      if (body === undefined || body === null) return;
      const text = Buffer.from(body).toString('utf8');
      for (const open of along[i] ?? []) if (!text.includes(`unresolved effect ${open}`)) say('CTX-3', `${stream} ${e.revision}: the context does not say that ${open} (${contracts.get(open)?.kind}) is unresolved`);
      for (const open of along[i] ?? []) if (CONSEQUENTIAL.has(contracts.get(open)?.kind ?? '') && !text.includes('prohibited:')) say('CTX-3', `${stream} ${e.revision}: the context does not prohibit repeating ${open}`);
    });
  }
};

const FORMS = new Set(['first', 'continued', 'exact-replay', 'reconstructed']);
/** Form and segment of every attempt, and a transition for every change of route. */
export const configurations: Judge = (r, say) => {
  for (const [stream, events] of r.runs) {
    const compiled = new Map(events.filter((e) => e.type === 'context.compiled').map((e) => [str(e.data['generation']), e]));
    let segment = 0;
    let route = '';
    for (const e of events) {
      if (e.type === 'segment.started') {
        if (Number(e.data['segment']) !== segment + 1) say('RES-3', `${stream} ${e.revision}: segment ${str(e.data['segment'])} after ${segment}`);
        segment += 1;
        route = JSON.stringify(e.data['to']);
      }
      if (e.type !== 'generation.started') continue;
      const c = compiled.get(str(e.data['generation']));
      if (!FORMS.has(str(e.data['form'])) || c?.data['form'] !== e.data['form']) say('RES-9', `${stream} ${e.revision}: form ${str(e.data['form'])}`);
      if (JSON.stringify(c?.data['route']) !== route) say('RES-3', `${stream} ${e.revision}: a generation under another route than its segment's`);
      if (e.segment !== segment && !(e.segment === segment - 1)) say('RES-8', `${stream} ${e.revision}: stands in segment ${e.segment}`);
    }
  }
};
