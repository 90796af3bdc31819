/** Laws about which tool a name means. Rows: TOOL-1, TOOL-4, TOOL-5. */
import { of, plainCanonical, str, type Event, type Judge } from './record.js';
import { along, mappingAt, type Mapping } from './tenant.js';

const same = (m: Mapping, intent: Event): boolean => m.server === of(intent.data['mapping'], 'server') && m.schemaDigest === of(intent.data['mapping'], 'schemaDigest') && m.mappingRevision === of(intent.data['mapping'], 'mappingRevision')
  && m.target === of(intent.data['scope'], 'target') && m.contract === plainCanonical(intent.data['contract']);

/** An intent names a revision of the registry in which its tool is what the intent says. */
export const pinned: Judge = (r, say) => {
  const at = mappingAt(r);
  for (const e of r.events) {
    if (e.type !== 'effect.intended') continue;
    const m = at.get(Number(of(e.data['mapping'], 'registryRevision')))?.get(str(e.data['tool']));
    if (m === undefined || !same(m, e)) say('TOOL-1', `${e.stream} ${e.revision}: ${str(e.data['tool'])} is not in registry ${str(of(e.data['mapping'], 'registryRevision'))} as it was pinned`);
  }
};

/** What starts, and what leaves, is the tool for which the intent was made. */
export const stillTheSame: Judge = (r, say) => {
  const intents = new Map(r.events.filter((e) => e.type === 'effect.intended').map((e) => [str(e.data['effect']), e]));
  along(r, (e, p) => {
    if (e.type !== 'effect.attempt-started') return;
    const intent = intents.get(str(e.data['effect']));
    const now = p.tools.get(str(intent?.data['tool']));
    if (now === undefined) say('TOOL-5', `${e.stream} ${e.revision}: ${str(intent?.data['tool'])} started, and the registry has it no more`);
    else if (intent !== undefined && !same(now, intent)) say('TOOL-4', `${e.stream} ${e.revision}: ${str(intent.data['tool'])} started, and its name means another tool now`);
  });
  for (const s of r.sim.world.ledger.sends) {
    const pin = intents.get(s.effect)?.data['mapping'];
    if (of(pin, 'server') !== s.server || of(pin, 'schemaDigest') !== s.schemaDigest) say('TOOL-4', `${s.tool} (${s.effect}) went to ${s.server}, and was meant for ${str(of(pin, 'server'))}, or by another schema`);
  }
};
