/** Whether an error says that the database is out of reach for the moment: it is starting, stopping, killed, or the connection to it broke. */

const STATES = /^(08\w{3}|57P0[1-3]|53300)$/u; // connection exceptions; shutdown, crash, still starting; too many connections
const SYSTEM = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EHOSTUNREACH']);
/** What the driver throws without a code. */
const WORDS = /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Client was closed)/u;

interface DatabaseError { readonly code?: unknown; readonly syscall?: unknown; readonly message?: unknown; readonly driverError?: unknown; readonly errors?: unknown }

export function databaseIsAway(e: unknown): boolean {
  if (typeof e !== 'object' || e === null) return false;
  const { code, message, driverError, errors } = e as DatabaseError;
  if (typeof code === 'string' && (STATES.test(code) || SYSTEM.has(code))) return true;
  if (typeof message === 'string' && WORDS.test(message)) return true;
  if (Array.isArray(errors) && errors.some((x) => x !== e && databaseIsAway(x))) return true; // both addresses of a name were tried
  return driverError !== e && databaseIsAway(driverError);
}
