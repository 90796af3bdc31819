/** The HTTP API's description, OpenAPI 3.1, out of the same schemas that the service validates with. Equal inputs give equal text. */
import { z } from 'zod';
import { PROBLEM_MEDIA, PROBLEMS, problemBody } from './http-problems.js';
import { HTTP_ROUTES, type HttpRoute } from './http-routes.js';

type Node = { [key: string]: unknown };
const ANY_JSON = '#/components/schemas/AnyJson';

/** zod writes free JSON as a local recursive definition; in one document it is one shared schema. */
function shared(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(shared);
  if (node === null || typeof node !== 'object') return node;
  const out: Node = {};
  for (const [key, value] of Object.entries(node)) {
    if (key === '$schema' || key === '$defs') continue;
    out[key] = key === '$ref' && typeof value === 'string' && value.startsWith('#/$defs/') ? ANY_JSON : shared(value);
  }
  return out;
}
const schemaOf = (s: z.ZodType, io: 'input' | 'output'): unknown => shared(z.toJSONSchema(s, { io, unrepresentable: 'any' }));

const header = (name: string, description: string, schema: Node): Node => ({ name, in: 'header', required: false, description, schema });
function parametersOf(r: HttpRoute): Node[] {
  const path = [...r.path.matchAll(/\{(\w+)\}/g)].map((m): Node => ({ name: m[1], in: 'path', required: true, schema: { type: 'string' } }));
  const query = r.query === undefined ? { properties: {} as Node, required: [] as string[] } : (schemaOf(r.query, 'input') as { properties: Node; required?: string[] });
  return [
    ...path, ...Object.entries(query.properties).map(([name, schema]): Node => ({ name, in: 'query', required: query.required?.includes(name) ?? false, schema })),
    ...(r.keyed ? [header('Idempotency-Key', 'A repeat with the same key and body gives the first answer.', { type: 'string', minLength: 8, maxLength: 200 })] : []),
    ...(r.matched ? [header('If-Match', 'Revision that the document must have, as its ETag says.', { type: 'string' })] : []),
    ...(r.operation === 'stream_events' ? [header('Last-Event-ID', 'Revision after which to go on.', { type: 'string' })] : []),
  ];
}
function operationOf(r: HttpRoute): Node {
  const parameters = parametersOf(r);
  const content = typeof r.answer === 'string' ? { [r.answer]: { schema: {} } } : { 'application/json': { schema: schemaOf(r.answer, 'output') } };
  return {
    operationId: r.operation, summary: r.summary, ...(r.open ? { security: [] } : r.capability ? { security: [{ capability: [] }] } : {}), ...(parameters.length > 0 ? { parameters } : {}),
    ...(r.body === undefined ? {} : { requestBody: { required: true, content: { 'application/json': { schema: schemaOf(r.body, 'input') } } } }),
    responses: { [r.status]: { description: 'Done.', content }, default: { description: 'A problem, RFC 9457.', content: { [PROBLEM_MEDIA]: { schema: { $ref: '#/components/schemas/Problem' } } } } },
  };
}

export function openApi(): Node {
  const paths: { [path: string]: Node } = {};
  for (const r of HTTP_ROUTES) (paths[r.path] ??= {})[r.method] = operationOf(r);
  return {
    openapi: '3.1.1', info: { title: 'N17Q', version: '1', description: `Durable runs for AI agents. Problem codes: ${Object.entries(PROBLEMS).map(([code, p]) => `${code} (${p.status})`).join(', ')}.` },
    security: [{ token: [] }], paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' }, capability: { type: 'http', scheme: 'bearer', description: 'What came with the call that the receipt is for.' } },
      schemas: { AnyJson: { description: 'Any JSON value.' }, Problem: schemaOf(problemBody, 'output') },
    },
  };
}
/** As it is committed: `docs/openapi.json`. */
export const openApiText = (): string => `${JSON.stringify(openApi(), null, 1)}\n`;
