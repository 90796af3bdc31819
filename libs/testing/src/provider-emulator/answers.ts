/** Errors as the provider words them: the sentences that clients meet, in both of its dialects. */
export interface ApiError { readonly code: number; readonly status: string; readonly message: string; readonly details?: readonly unknown[] }

/** `developer`: the Gemini API. `cloud`: the same model behind the cloud platform. */
export type Phrasing = 'developer' | 'cloud';

const invalid = (message: string, details?: readonly unknown[]): ApiError => ({ code: 400, status: 'INVALID_ARGUMENT', message, ...(details === undefined ? {} : { details }) });
const errorInfo = (reason: string): readonly unknown[] => [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'googleapis.com' }];

export const ERRORS = {
  malformedJson: (): ApiError => invalid('Invalid JSON payload received. Unexpected token.'),
  unknownName: (name: string, at: string): ApiError => invalid(`Invalid JSON payload received. Unknown name "${name}"${at === '' ? '' : ` at '${at}'`}: Cannot find field.`),
  invalidValue: (at: string): ApiError => invalid(`Invalid value at '${at}'.`),
  noContents: (): ApiError => invalid('* GenerateContentRequest.contents: contents is not specified'),
  noParts: (at: string): ApiError => invalid(`* GenerateContentRequest.${at}.parts: contents.parts must not be empty.`),
  noData: (at: string): ApiError => invalid(`* GenerateContentRequest.${at}.data: required oneof field 'data' must have one initialized field`),
  role: (): ApiError => invalid('Please use a valid role: user, model.'),
  endsWithModel: (): ApiError => invalid('Please ensure that single turn requests end with a user role or the role field is empty.'),
  responseCount: (): ApiError => invalid('Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.'),
  turnOrder: (): ApiError => invalid('Please ensure that function call turn comes immediately after a user turn or after a function response turn.'),
  functionName: (at: string): ApiError => invalid(`* GenerateContentRequest.${at}.name: Invalid function name. Must start with a letter or an underscore.`),
  schemaTwice: (at: string): ApiError => invalid(`* GenerateContentRequest.${at}: only one of parameters and parametersJsonSchema may be set`),
  tooManyTokens: (count: number, max: number): ApiError => invalid(`The input token count (${count}) exceeds the maximum number of tokens allowed (${max}).`),
  signatureMissing: (phrasing: Phrasing, name: string, position: number): ApiError => invalid(phrasing === 'developer'
    ? `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly. Additional data, function call \`default_api:${name}\` , position ${position}. See the documentation on thought signatures.`
    : `Unable to submit request because function call \`default_api:${name}\` in the ${position}. content block is missing a \`thought_signature\`. See the documentation on thought signatures.`),
  signatureCorrupted: (phrasing: Phrasing): ApiError => invalid(phrasing === 'developer' ? 'Corrupted thought signature.' : 'Unable to submit request: Thought signature is not valid.'),
  signatureEncoding: (content: number, part: number): ApiError => invalid(`Invalid value at 'contents[${content}].parts[${part}].thought_signature' (TYPE_BYTES), Base64 decoding failed`),
  modelUnknown: (model: string): ApiError => ({ code: 404, status: 'NOT_FOUND', message: `models/${model} is not found for API version v1beta, or is not supported for generateContent.` }),
  pathUnknown: (): ApiError => ({ code: 404, status: 'NOT_FOUND', message: 'The requested URL was not found on this server.' }),
  keyAbsent: (): ApiError => ({ code: 403, status: 'PERMISSION_DENIED', message: 'Method doesn\'t allow unregistered callers. Please use an API key or other form of credential.' }),
  keyInvalid: (): ApiError => invalid('API key not valid. Please pass a valid API key.', errorInfo('API_KEY_INVALID')),
  accountRemoved: (): ApiError => ({ code: 403, status: 'PERMISSION_DENIED', message: 'Permission denied: Consumer has been suspended.', details: errorInfo('CONSUMER_SUSPENDED') }),
  tooLarge: (): ApiError => ({ code: 413, status: 'INVALID_ARGUMENT', message: 'Request payload size exceeds the limit.' }),
  scenario: (message: string): ApiError => ({ code: 500, status: 'INTERNAL', message }),
} as const;
