/** What the ticket service says about its tools, truthfully or not. */
import type { Json, ToolHints } from '@n17q/domain';

export interface Listing {
  readonly listing: 'normal' | 'gone' | 'changed' | 'twice' | 'pages' | 'pages-without-end';
  readonly annotations: ToolHints | null;
}

export const TICKET_SCHEMA: Json = {
  type: 'object', properties: { title: { type: 'string' }, body: { type: 'string' } }, required: ['title'], additionalProperties: true,
};
const CHANGED: Json = { ...(TICKET_SCHEMA as object), required: ['title', 'body'] };

export function listedTools(l: Listing, params: { readonly [k: string]: unknown } | undefined): object {
  const tool = (name: string, inputSchema: Json, annotations: ToolHints | null): object => ({ name, description: `${name} of the ticket service`, inputSchema, ...(annotations === null ? {} : { annotations }) });
  const file = tool('file_ticket', l.listing === 'changed' ? CHANGED : TICKET_SCHEMA, l.annotations);
  const find = tool('find_ticket', { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] }, { readOnlyHint: true });
  switch (l.listing) {
    case 'gone': return { tools: [find] };
    case 'twice': return { tools: [file, find, file] };
    case 'pages': return params?.['cursor'] === 'next' ? { tools: [file] } : { tools: [find], nextCursor: 'next' };
    case 'pages-without-end': return { tools: [find], nextCursor: 'next' };
    default: return { tools: [file, find] };
  }
}
