/** What the suites' tenant has for rules: the one place that knows how rules are written. */
import type { PolicyDocument } from '@n17q/domain';
import { ALLOW_ALL, literal } from '@n17q/rules';
import { SCENE_POLICY } from './scene.js';

export interface Rules { /** Somebody is asked before these tools. */ readonly ask?: readonly string[]; readonly forbid?: readonly string[] }
export const RULE_WORDS = { ask: 'somebody looks first', forbid: 'not here' } as const;

/** By the tool's name, not by its action: a rule stays right when the tool is withdrawn. */
const against = (id: keyof Rules, tools: readonly string[], unless: string): string =>
  `@id(${literal(id)}) @reason(${literal(RULE_WORDS[id])}) forbid (principal, action in N17Q::Action::"call", resource) when { [${tools.map(literal).join(', ')}].contains(resource.name) }${unless};\n`;
const rulesFor = (r: Rules): string => [ALLOW_ALL, ...(r.ask ? [against('ask', r.ask, ' unless { context.approved }')] : []), ...(r.forbid ? [against('forbid', r.forbid, '')] : [])].join('');
export const policyWith = (rules: Rules, change: Partial<PolicyDocument> = {}): PolicyDocument => ({ ...SCENE_POLICY, ...change, rules: rulesFor(rules) });
