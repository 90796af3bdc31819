/**
 * A request body as the provider reads it: camelCase and snake_case alike, unknown names refused, one data field a part.
 * Signatures are judged in `judge.ts`; here is only form, turn order and pairing.
 */
import { ERRORS, type ApiError } from './answers.js';
import { insideOf, memberSource, textBeforeItems } from './raw-json.js';

export interface WirePart {
  readonly text?: string;
  readonly thought?: boolean;
  readonly thoughtSignature?: string;
  readonly functionCall?: { readonly id?: string; readonly name: string; readonly args?: Readonly<Record<string, unknown>> };
  readonly functionResponse?: { readonly id?: string; readonly name: string; readonly response?: Readonly<Record<string, unknown>> };
}
export interface WireContent { readonly role: 'user' | 'model'; readonly parts: readonly WirePart[] }

export interface ReadRequest {
  readonly system: string;
  /** Names of the declared functions. */
  readonly tools: readonly string[];
  readonly contents: readonly WireContent[];
  /** Source text inside the brackets of `contents`. */
  readonly contentsSource: string;
  /** Source text inside the brackets before each content. */
  readonly before: readonly string[];
  /** Source text of the system instruction and the tools. */
  readonly frameSource: string;
}

type Fields = Readonly<Record<string, unknown>>;
const TOP = ['contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig', 'safetySettings', 'cachedContent', 'labels', 'model'];
const DATA = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse', 'executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'];
const FUNCTION_NAME = /^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/;

class Refusal extends Error {
  constructor(readonly error: ApiError) { super(error.message); }
}
const refuse = (error: ApiError): never => { throw new Refusal(error); };

export function readRequest(body: string): ReadRequest | { readonly refused: ApiError } {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return { refused: ERRORS.malformedJson() };
  }
  try {
    return read(body, json);
  } catch (e) {
    if (e instanceof Refusal) return { refused: e.error };
    throw e;
  }
}

function read(body: string, json: unknown): ReadRequest {
  const top = fields(json, TOP, '');
  const list = Array.isArray(top['contents']) ? top['contents'] as unknown[] : refuse(ERRORS.noContents());
  if (list.length === 0) refuse(ERRORS.noContents());
  const contents = list.map((content, i) => readContent(content, `contents[${i}]`));
  pairing(contents);
  const source = memberSource(body, 'contents') ?? '[]';
  const system = top['systemInstruction'] === undefined ? '' : readContent({ role: 'user', ...(top['systemInstruction'] as object) }, 'system_instruction').parts.map((part) => part.text ?? '').join('');
  return {
    system, tools: readTools(top['tools']), contents, contentsSource: insideOf(source), before: textBeforeItems(source),
    frameSource: `${memberSource(body, 'systemInstruction', 'system_instruction') ?? ''}\n${memberSource(body, 'tools') ?? ''}`,
  };
}

const camel = (name: string): string => name.replace(/_([a-z])/g, (_, c: string) => c.toUpperCase());

/** An object's fields under camelCase names; anything that `known` does not list is refused. */
function fields(value: unknown, known: readonly string[], at: string): Fields {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return refuse(at === '' ? ERRORS.malformedJson() : ERRORS.invalidValue(at));
  return Object.fromEntries(Object.entries(value).map(([name, member]) => (known.includes(camel(name)) ? [camel(name), member] : refuse(ERRORS.unknownName(name, at)))));
}

function text(value: unknown, at: string): string | undefined {
  return value === undefined || typeof value === 'string' ? value : refuse(ERRORS.invalidValue(at));
}

function struct(value: unknown, at: string): Fields | undefined {
  if (value === undefined) return undefined;
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? value as Fields : refuse(ERRORS.invalidValue(at));
}

function readContent(value: unknown, at: string): WireContent {
  const content = fields(value, ['role', 'parts'], at);
  const role = content['role'] ?? 'user';
  if (role !== 'user' && role !== 'model') return refuse(ERRORS.role());
  const parts = content['parts'];
  if (!Array.isArray(parts) || parts.length === 0) return refuse(ERRORS.noParts(at));
  return { role, parts: parts.map((part, i) => readPart(part, `${at}.parts[${i}]`)) };
}

function readPart(value: unknown, at: string): WirePart {
  const part = fields(value, [...DATA, 'thought', 'thoughtSignature', 'partMetadata', 'videoMetadata'], at);
  if (DATA.filter((name) => part[name] !== undefined).length !== 1) refuse(ERRORS.noData(at));
  const named = (name: 'functionCall' | 'functionResponse', payload: 'args' | 'response'): object => {
    if (part[name] === undefined) return {};
    const of = fields(part[name], ['id', 'name', payload, 'parts', 'willContinue', 'scheduling'], `${at}.${name}`);
    const [id, called, data] = [text(of['id'], `${at}.${name}.id`), text(of['name'], `${at}.${name}.name`), struct(of[payload], `${at}.${name}.${payload}`)];
    if (called === undefined || called === '') refuse(ERRORS.functionName(`${at}.${name}`));
    return { [name]: { name: called, ...(id === undefined ? {} : { id }), ...(data === undefined ? {} : { [payload]: data }) } };
  };
  const [said, signature] = [text(part['text'], `${at}.text`), text(part['thoughtSignature'], `${at}.thought_signature`)];
  return {
    ...(said === undefined ? {} : { text: said }), ...(part['thought'] === true ? { thought: true } : {}),
    ...(signature === undefined ? {} : { thoughtSignature: signature }), ...named('functionCall', 'args'), ...named('functionResponse', 'response'),
  };
}

function readTools(value: unknown): string[] {
  if (value === undefined) return [];
  const tools = Array.isArray(value) ? value as unknown[] : [value];
  return tools.flatMap((tool, i) => {
    const list = fields(tool, ['functionDeclarations', 'googleSearch', 'codeExecution', 'urlContext'], `tools[${i}]`)['functionDeclarations'];
    return (Array.isArray(list) ? list as unknown[] : []).map((declaration, j) => {
      const at = `tools[${i}].function_declarations[${j}]`;
      const of = fields(declaration, ['name', 'description', 'parameters', 'parametersJsonSchema', 'response', 'responseJsonSchema', 'behavior'], at);
      if (of['parameters'] !== undefined && of['parametersJsonSchema'] !== undefined) refuse(ERRORS.schemaTwice(at));
      const name = text(of['name'], at) ?? '';
      return FUNCTION_NAME.test(name) ? name : refuse(ERRORS.functionName(at));
    });
  });
}

const callsOf = (content: WireContent | undefined) => (content?.parts ?? []).flatMap((part) => (part.functionCall === undefined ? [] : [part.functionCall]));
export const responsesOf = (content: WireContent | undefined) => (content?.parts ?? []).flatMap((part) => (part.functionResponse === undefined ? [] : [part.functionResponse]));

/** A call turn follows a user turn; its responses follow at once, as many as there are calls, in one content. */
function pairing(contents: readonly WireContent[]): void {
  for (const [i, content] of contents.entries()) {
    const before = contents[i - 1];
    const [calls, responses, asked] = [callsOf(content), responsesOf(content), callsOf(before)];
    if (calls.length > 0 && (content.role !== 'model' || before?.role !== 'user')) refuse(ERRORS.turnOrder());
    if (responses.length > 0 && (content.role !== 'user' || asked.length === 0)) refuse(ERRORS.turnOrder());
    if (asked.length !== responses.length) refuse(ERRORS.responseCount());
    const answered = asked.every((call, at) => (call.id === undefined ? responses[at]?.name === call.name : responses.some((response) => response.id === call.id && response.name === call.name)));
    if (!answered) refuse(ERRORS.responseCount());
  }
  if (callsOf(contents.at(-1)).length > 0) refuse(ERRORS.responseCount());
  if (contents.at(-1)?.role === 'model') refuse(ERRORS.endsWithModel());
}
