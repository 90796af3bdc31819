import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { HTTP_ROUTES } from './http-routes.js';
import { openApi, openApiText } from './http-openapi.js';

describe('the description of the HTTP API', () => {
  it('is the committed docs/openapi.json; node scripts/openapi.mjs writes it anew', () => {
    expect(openApiText()).toBe(readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8'));
  });

  it('has one operation of its own name for each route, and every reference leads somewhere', () => {
    const text = JSON.stringify(openApi());
    expect(new Set(HTTP_ROUTES.map((r) => r.operation)).size).toBe(HTTP_ROUTES.length);
    expect(new Set(HTTP_ROUTES.map((r) => `${r.method} ${r.path}`)).size).toBe(HTTP_ROUTES.length);
    for (const [, name] of text.matchAll(/"\$ref":"([^"]+)"/g)) expect(['#/components/schemas/AnyJson', '#/components/schemas/Problem']).toContain(name);
  });
});
