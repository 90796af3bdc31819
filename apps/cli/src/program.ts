import { Command } from 'commander';
import { stackCommands } from './commands/stack.js';
import { productVersion } from './stack/supervisor.js';

export function program(): Command {
  const n17q = new Command('n17q')
    .description('Durable runs for AI agents: a run survives the loss of any process, session or model.')
    .version(productVersion(), '-V, --version')
    .option('--json', 'answer with JSON')
    .showHelpAfterError('(./n17q --help lists the commands)')
    .showSuggestionAfterError(true)
    .exitOverride()
    .action(() => { n17q.outputHelp(); });
  stackCommands(n17q);
  return n17q;
}
