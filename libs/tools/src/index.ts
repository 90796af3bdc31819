export type { Connector, ConnectorOutcome, DispatchRequest, LookOutcome, QueryRequest, WorkspaceInput } from './connector.js';
export { boundedText, HeadAndTail } from './bounded-text.js';
export { HttpConnector } from './http/http-connector.js';
export { HttpToolConfig, type CredentialHeaders } from './http/http-config.js';
export type { ChangedPath, WorkspaceChange, WorkspaceConflict } from './workspace/workspace-ref.js';
