import type { ToolMapping } from '@n17q/domain';
import { BUILTIN_ARGUMENTS } from '@n17q/tools';

/** Whether `up` made this mapping. A person's tool that took the place of one of the stack's has its name alone. */
export function isStackTool(t: Pick<ToolMapping, 'name' | 'server' | 'connector'>): boolean {
  if (!Object.hasOwn(BUILTIN_ARGUMENTS, t.name)) return false;
  if (t.name === 'run_tests') return t.server === 'sandbox' && t.connector.kind === 'command';
  if (t.name !== 'file_ticket') return t.server === 'workspace' && t.connector.kind === 'workspace';
  // its address is a setting, so it is known by its form
  const config = t.connector.config as { readonly baseUrl?: unknown; readonly path?: unknown } | null;
  return t.connector.kind === 'http' && config?.baseUrl === t.server && config.path === '/tickets';
}

/** The stack's own tools as `up` publishes them, beside those of people; a person's that took the place of one of them keeps it. */
export function besideOthers(own: readonly ToolMapping[], now: readonly ToolMapping[]): readonly ToolMapping[] {
  const others = now.filter((t) => !isStackTool(t));
  return [...own.filter((t) => !others.some((x) => x.name === t.name)), ...others];
}
