/** Rules to begin with, as Cedar text. Every set needs one that permits: without any, nothing is permitted. */

/** Everything that the invariants allow. To be narrowed by further rules. */
export const ALLOW_ALL = '@id("allow")\npermit (principal, action, resource);\n';

/** A Cedar string literal. */
export const literal = (text: string): string =>
  `"${text.replace(/["\\]/g, '\\$&').replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`)}"`;

const calls = (tools: readonly string[]): string =>
  tools.includes('*') ? 'action in N17Q::Action::"call"' : `action in [${tools.map((t) => `N17Q::Action::${literal(`call:${t}`)}`).join(', ')}]`;
const forbid = (id: string, reason: string, tools: readonly string[], unless: string): string =>
  `@id(${literal(id)})\n@reason(${literal(reason)})\nforbid (principal, ${calls(tools)}, resource)${unless};\n`;

/** Calls of these tools (`*`: of any) wait until a person has approved exactly this call. */
export const askFor = (tools: readonly string[], reason: string, id: string): string => forbid(id, reason, tools, ' unless { context.approved }');

/** No call of these tools (`*`: of any), whoever approves it. */
export const forbidTools = (tools: readonly string[], reason: string, id: string): string => forbid(id, reason, tools, '');
