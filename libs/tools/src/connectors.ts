import type { Json } from '@n17q/domain';
import { CommandConnector } from './command/command-connector.js';
import type { Isolation } from './command/isolation.js';
import type { Connector } from './connector.js';
import { HttpConnector } from './http/http-connector.js';
import { McpConnector, type McpMapping } from './mcp/mcp-connector.js';
import type { McpSurroundings } from './mcp/session.js';
import { WorkspaceConnector } from './workspace/workspace-connector.js';
import type { Workspaces } from './workspace/workspaces.js';

export interface ConnectorSurroundings extends McpSurroundings {
  readonly workspaces: Workspaces;
  readonly isolation: Isolation;
}

/** The connector that a mapping names, bound to the mapping's target. Throws ZodError if its configuration is not what that kind takes: nothing was sent. */
export function connectorFor(tool: McpMapping, around: ConnectorSurroundings): Connector {
  const config: Json = tool.connector.config;
  switch (tool.connector.kind) {
    case 'http': return new HttpConnector(config, tool.target, around.credentials, tool.contract);
    case 'command': return new CommandConnector(config, around.workspaces, around.isolation, tool.contract);
    case 'workspace': return new WorkspaceConnector(config, around.workspaces);
    case 'mcp': return new McpConnector(tool, around);
    default: { const never: never = tool.connector.kind; throw new TypeError(`no connector of kind ${String(never)}`); }
  }
}
