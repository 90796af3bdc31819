import { Command } from 'commander';
import { demoCommand } from './commands/demo.js';
import { runCommands } from './commands/runs.js';
import { stackCommands } from './commands/stack.js';
import { productVersion } from './stack/supervisor.js';

export function program(): Command {
  const n17q = new Command('n17q')
    .description('Durable runs for AI agents: a run survives the loss of any process, session or model.')
    .version(productVersion(), '-V, --version')
    .option('--json', 'answer with JSON')
    .configureOutput({ outputError: (text, write) => write(`n17q: ${text.replace(/^error: /u, '').trim().replace(/\.?\s*\n\s*/gu, ' ').replace(/\.$/u, '')}; ./n17q --help lists the commands.\n`) })
    .exitOverride();
  stackCommands(n17q);
  runCommands(n17q);
  demoCommand(n17q);
  return n17q;
}
