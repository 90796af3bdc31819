export { startMcpWorld, type HttpMcpMode, type McpWorld } from './http.js';
export { TICKET_SCHEMA } from './listing.js';
export { KEY_META, MCP_REPLIES, NORMAL_MCP, TicketServer, type McpMode, type McpReply } from './ticket-server.js';
