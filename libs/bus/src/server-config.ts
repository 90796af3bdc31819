/**
 * Text for a nats-server's configuration file: one user per service with the rights of the topology, and the payload bound.
 * Ports, the JetStream folder and its limits, TLS and sync settings are the launcher's; this text can be included in its file.
 *
 * Rows: SVC-4.
 */
import { BUS_USERS, type BusUser } from './names.js';
import { RIGHTS, SERVER_PAYLOAD_BYTES_MAX, type Rights } from './topology.js';

// No quote, backslash or space: the text goes between quotes as it is. A leading "$2" would be read as a bcrypt digest.
const PASSWORD = /^(?!\$2)[\x21\x23-\x5b\x5d-\x7e]{16,256}$/;

function checkPasswords(passwords: Readonly<Record<BusUser, string>>): void {
  for (const user of BUS_USERS) {
    if (!PASSWORD.test(passwords[user] ?? '')) {
      throw new TypeError(`The bus password of ${user} must be 16 to 256 printable characters without quotes or backslashes; generate one.`);
    }
  }
  if (new Set(BUS_USERS.map((user) => passwords[user])).size !== BUS_USERS.length) {
    throw new TypeError('Two bus users share a password: each needs its own, since the password is what tells services apart.');
  }
}

const list = (subjects: readonly string[]): string => subjects.map((s) => `"${s}"`).join(', ');

function userBlock(user: BusUser, password: string, rights: Rights): string {
  return `    {
      user: "${user}", password: "${password}"
      permissions {
        publish { allow: [${list(rights.publish)}] }
        subscribe { allow: [${list(rights.subscribe)}] }
      }
    }`;
}

/** Throws TypeError for a missing, weak or shared password; there are no defaults. The same input gives the same text. */
export function natsConfig({ passwords }: { readonly passwords: Readonly<Record<BusUser, string>> }): string {
  checkPasswords(passwords);
  return `max_payload: ${SERVER_PAYLOAD_BYTES_MAX}
authorization {
  users: [
${BUS_USERS.map((user) => userBlock(user, passwords[user], RIGHTS[user])).join('\n')}
  ]
}
`;
}
