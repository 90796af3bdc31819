/** What can be told from a policy's syntax tree, in Cedar's JSON, without evaluating it. Errs on the side of saying that a name is used. */
import type { PolicyJson } from '@cedar-policy/cedar-wasm/nodejs';
import type { Mentions } from './argument-type.js';

type Node = { readonly [key: string]: unknown };
const isNode = (v: unknown): v is Node => typeof v === 'object' && v !== null && !Array.isArray(v);

/** How deep the tree is. Walks with a list of its own: a deep tree must not use up the stack. */
export function nodeDepth(root: unknown): number {
  let deepest = 0;
  const open: (readonly [unknown, number])[] = [[root, 1]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [node, depth] = next;
    deepest = Math.max(deepest, depth);
    if (typeof node === 'object' && node !== null) for (const child of Object.values(node)) open.push([child, depth + 1]);
  }
  return deepest;
}

const isContext = (v: unknown): boolean => isNode(v) && v['Var'] === 'context';
const isArguments = (v: unknown): boolean => isNode(v) && isNode(v['.']) && v['.']['attr'] === 'args';

export function mentionsOf(policies: readonly PolicyJson[]): Mentions {
  const names = new Set<string>();
  let whole = false;
  /** `within`: the node is what an attribute is taken from, or asked of. */
  const visit = (node: unknown, within: boolean): void => {
    if (Array.isArray(node)) for (const child of node) visit(child, false);
    if (!isNode(node)) return;
    if (!within && (isContext(node) || isArguments(node))) whole = true;
    for (const [key, child] of Object.entries(node)) {
      const takes = (key === '.' || key === 'has') && isNode(child);
      if (takes) {
        for (const name of [child['attr']].flat()) if (typeof name === 'string') names.add(name);
        visit(child['left'], true);
      } else {
        if (key === 'Record' && isNode(child)) for (const name of Object.keys(child)) names.add(name);
        visit(child, false);
      }
    }
  };
  for (const p of policies) visit(p.conditions, false);
  return { names, whole };
}
