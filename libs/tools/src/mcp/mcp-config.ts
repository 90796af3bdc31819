import * as z from 'zod';

const VARIABLE = z.string().regex(/^[A-Z_][A-Z0-9_]*$/);

const stdio = {
  transport: z.literal('stdio'),
  /** Program and arguments, without a shell. */
  command: z.tuple([z.string().min(1)], z.string()),
  /** Its whole environment besides PATH and LANG. No secret belongs here. */
  env: z.record(VARIABLE, z.string()).default({}),
  /** From a variable to the name of the credential that it holds; resolved by the process that starts the server, never stored. */
  credentials: z.record(VARIABLE, z.string()).default({}),
  /** Where it is started; the system's root by default. */
  cwd: z.string().regex(/^\/[^\0]*$/).default('/'),
};
const http = {
  transport: z.literal('http'),
  url: z.url({ protocol: /^https?$/ }),
  /** Names the headers to add; resolved by the process that dispatches, never stored. */
  credential: z.string().optional(),
};

/** How an MCP server is reached: started as a process of its own, or at an address (streamable HTTP). */
export const McpServerConfig = z.discriminatedUnion('transport', [z.strictObject(stdio), z.strictObject(http)]);
export type McpServerConfig = z.infer<typeof McpServerConfig>;

const call = {
  /** The server's own name of the tool. */
  tool: z.string().min(1).max(256),
  /** Where the idempotency key goes: into an argument that the caller may not give, or into the call's `_meta`. Absent: the server knows no keys. */
  key: z.union([z.strictObject({ argument: z.string().min(1) }), z.strictObject({ meta: z.string().min(1) })]).optional(),
  /** How to ask what became of a key: a tool of the same server that takes it as `keyArgument` and answers with `count` in its structured content. */
  query: z.strictObject({ tool: z.string().min(1).max(256), keyArgument: z.string().min(1) }).optional(),
  /** JSON-RPC error codes after which it is certain that nothing happened. None is, unless somebody who knows the server says so. */
  finalErrors: z.array(z.int()).default([]),
};

/** How one tool is reached at an MCP server. Part of the tool's mapping, so a person with the right to change the registry wrote it; it holds no secret. */
export const McpToolConfig = z.discriminatedUnion('transport', [z.strictObject({ ...stdio, ...call }), z.strictObject({ ...http, ...call })]);
export type McpToolConfig = z.infer<typeof McpToolConfig>;
