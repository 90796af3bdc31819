/**
 * The words of the command line. What a command does is loaded when it is asked for, so that help and a wrong word cost nothing.
 */
import { Command } from 'commander';
import { outputOf } from './commands/output.js';
import type { DraftWords } from './commands/tools.js';
import type { Decision, RaiseOptions, Verb } from './commands/asks.js';
import type { RunOptions } from './commands/runs.js';
import { errorText } from './trouble.js';
import { productVersion } from './version.js';

const UP_HELP = `
Settings: N17Q_DATA_DIR (default .data), N17Q_API_PORT (7417; 0: any), N17Q_NATS_PORT, N17Q_POSTGRES_PORT,
N17Q_PROVIDERS_FILE (default providers.json of the data folder), N17Q_TICKETS_URL.
N17Q_TEST_CMD: the command that runs the tests of a run's workspace, one for the stack; without it the model gets no tool for that. A program
and its arguments, without a shell (N17Q_TEST_CMD="sh -c 'npm ci && npm test'" asks for one), in a sandbox without network. It is read at the start and kept for the next
ones; set and empty, it is forgotten. A stack that runs already does not go by it: ./n17q down first.
With N17Q_NATS_URL and N17Q_DATABASE_URL (the owner's) those servers are used; bus passwords come from
N17Q_NATS_PASSWORDS_FILE, else from the URL (one user for all services), else they are the stack's own.`;

const STATUS_HELP = `
Exit code: 0 everything runs, 3 nothing runs, 4 something is starting, stopping, gone or silent.`;
const RUN_TESTS_HELP = `
The run works on a clone of the last commit of the repository, whose top folder --repo names; what is not committed is not in it.
Its tests are run by the command of the stack: N17Q_TEST_CMD at ./n17q up (see ./n17q up --help).`;
const RUN_HELP = `
RUN, EFFECT and APPROVAL may be given by their last characters, at least 6 (./n17q show has them), or their first, at least 4, where only one has them.`;

const stack = () => import('./commands/stack.js');
const runs = () => import('./commands/runs.js');
const asks = () => import('./commands/asks.js');
const providers = () => import('./commands/providers.js');
const policies = () => import('./commands/policy.js');
const tools = () => import('./commands/tools.js');

function stackWords(n17q: Command): void {
  n17q.command('up').description('start the local stack and leave it running')
    .option('--separate', 'each service as its own process')
    .option('--foreground', 'stay until Ctrl-C')
    .addHelpText('after', UP_HELP)
    .action(async (o: { separate?: boolean; foreground?: boolean }, c: Command) => (await stack()).upCommand(o, outputOf(c)));
  n17q.command('down').description('stop the local stack').action(async (_o: object, c: Command) => (await stack()).downCommand(outputOf(c)));
  n17q.command('status').description('what runs, since when, and what is wrong').addHelpText('after', STATUS_HELP).action(async (_o: object, c: Command) => (await import('./commands/status.js')).statusCommand(outputOf(c)));
  n17q.command('doctor').description('check the store: chain, digests, checkpoints, what it keeps beside the log; changes nothing').action(async (_o: object, c: Command) => (await import('./commands/doctor.js')).doctorCommand(outputOf(c)));
  n17q.command('migrate').description('bring the database of N17Q_DATABASE_URL up to date, with its run-time roles (up does it by itself)')
    .action(async (_o: object, c: Command) => (await stack()).migrateCommand(outputOf(c)));
}

const VERBS: { readonly [V in Verb]: string } = {
  resume: 'resume run: reconcile unresolved effects, judge anew, go on',
  continue: 'continue provider response: the provider\'s own, if policy and retention allow',
  pause: 'ask a run to pause',
  end: 'ask a run to end',
};

function runWords(n17q: Command): void {
  n17q.command('run <goal>').description('start a run').option('--repo <path>', 'work on a clone of this git repository; the path is only read').option('--title <text>', 'a short name for it')
    .option('--for <person>', 'on behalf of a person who has delegated it to you').option('--budget-usd <dollars>', 'what it may cost, such as 1.50 (else 1.00)').option('--budget-tokens <n>', 'how many tokens it may use (else 500000)')
    .option('--budget-calls <n>', 'how many calls of models and tools it may make (else 100)').option('--work-minutes <n>', 'how long it may be at work, waits for people left out (else without bound)').addHelpText('after', RUN_TESTS_HELP)
    .action(async (goal: string, o: RunOptions, c: Command) => (await runs()).runCommand(goal, o, outputOf(c)));
  n17q.command('runs').description('all runs, newest first').action(async (_o: object, c: Command) => (await runs()).runsCommand(outputOf(c)));
  n17q.command('show <run>').description('what a run does, waits for, and must not repeat').option('--events', 'all of its events')
    .action(async (run: string, o: { events?: boolean }, c: Command) => (await runs()).showCommand(run, o, outputOf(c)));
  n17q.command('diff <run>').description('what a run changed in its workspace, against its start').action(async (run: string, _o: object, c: Command) => (await import('./commands/contents.js')).diffCommand(run, outputOf(c)));
  n17q.command('output <run> [event]').description('what the model and the tools said; with a number of an event, or an effect: that in full')
    .action(async (run: string, event: string | undefined, _o: object, c: Command) => (await import('./commands/contents.js')).outputCommand(run, event, outputOf(c)));
  n17q.command('finding <run> <effect>').description('say what you found about an effect of unknown outcome; the gate judges it')
    .option('--happened', 'it happened').option('--did-not', 'it did not happen').option('--evidence <file>', 'what shows it (always needed)')
    .action(async (run: string, effect: string, o: { happened?: boolean; didNot?: boolean; evidence?: string }, c: Command) => (await asks()).findingCommand(run, effect, o, outputOf(c)));
  n17q.command('input <run> <text>').description('give a run an input').action(async (run: string, text: string, _o: object, c: Command) => (await asks()).inputCommand(run, text, outputOf(c)));
  n17q.command('note <run> <text>').description('leave a note for people, which informs and asks for nothing')
    .action(async (run: string, text: string, _o: object, c: Command) => (await asks()).noteCommand(run, text, outputOf(c)));
  n17q.command('plan <run> <steps...>').description('replace a run\'s plan, one argument a step').action(async (run: string, steps: string[], _o: object, c: Command) => (await asks()).planCommand(run, steps, outputOf(c)));
  n17q.command('raise <run>').description('ask for a larger budget for a run, or more time at work; the gate judges it').option('--usd <dollars>', 'by so much money, such as 1.50').option('--tokens <n>', 'by so many tokens').option('--calls <n>', 'by so many calls')
    .option('--minutes <n>', 'by so much time at work').option('--reason <text>', 'why', 'asked on the command line').action(async (run: string, o: RaiseOptions, c: Command) => (await asks()).raiseCommand(run, o, outputOf(c)));
  n17q.command('migrate-effect <run> <effect>').description('ask that an effect of unknown outcome, whose tool is gone, is looked at as another tool').requiredOption('--to <tool>', 'the tool as it is registered now').requiredOption('--reason <text>', 'why it is the same thing')
    .action(async (run: string, effect: string, o: { to: string; reason: string }, c: Command) => (await asks()).migrateEffectCommand(run, effect, o, outputOf(c)));
  n17q.command('erase <run>').description('erase the contents of an ended run, for ever; its record stays').requiredOption('--reason <text>', 'why (it stays in the record)').action(async (run: string, o: { reason: string }, c: Command) => (await asks()).eraseCommand(run, o, outputOf(c)));
  n17q.command('decisions <run>').description('what the policy gate decided about a run, and what each decision rests on').action(async (run: string, _o: object, c: Command) => (await import('./commands/decisions.js')).decisionsCommand(run, outputOf(c)));
  n17q.command('sources <run>').description('what a run retrieved, and what of it is missing').action(async (run: string, _o: object, c: Command) => (await import('./commands/sources.js')).sourcesCommand(run, outputOf(c)));
  const source = n17q.command('source').description('what was recorded of a source: approve it for replays, or reject it');
  for (const word of ['approve', 'reject'] as const) {
    source.command(`${word} <run> <source>`).description(word === 'approve' ? 'a replay may use what was recorded' : 'nothing may rest on what was recorded').option('--note <text>', 'why')
      .action(async (run: string, id: string, o: { note?: string }, c: Command) => (await import('./commands/sources.js')).reviewCommand(word, run, id, o, outputOf(c)));
  }
  for (const verb of Object.keys(VERBS) as Verb[]) {
    n17q.command(`${verb} <run>`).description(VERBS[verb]).option('--reason <text>', 'why', 'asked on the command line')
      .action(async (run: string, o: { reason: string }, c: Command) => (await asks()).askCommand(verb, run, o, outputOf(c)));
  }
  for (const [word, text] of Object.entries(DECISIONS)) {
    n17q.command(`${word} <run> <approval>`).description(text).option('--note <text>', 'why')
      .action(async (run: string, approval: string, o: { note?: string }, c: Command) => (await asks()).decideCommand(word as Decision, run, approval, o, outputOf(c)));
  }
}

const DECISIONS: { readonly [D in Decision]: string } = { approve: 'approve what a run asks for', reject: 'reject what a run asks for', revoke: 'take an approval back before it is used' };

function delegationWords(n17q: Command): void {
  const delegations = () => import('./commands/delegations.js');
  n17q.command('delegate <person>').description('let somebody act for you').requiredOption('--tool <name...>', 'with these tools ("*": all)').option('--until <time>', 'until then, such as 2030-01-31T18:00:00Z; else until you take it back')
    .action(async (person: string, o: { tool: string[]; until?: string }, c: Command) => (await delegations()).delegateCommand(person, o, outputOf(c)));
  n17q.command('delegations').description('who may act for whom').action(async (_o: object, c: Command) => (await delegations()).delegationsCommand(outputOf(c)));
  n17q.command('undelegate <delegation>').description('take back a delegation that you gave').action(async (id: string, _o: object, c: Command) => (await delegations()).undelegateCommand(id, outputOf(c)));
}

function personWords(n17q: Command): void {
  const person = n17q.command('person').description('other people of the local tenant: add');
  person.command('add <name>').description('give somebody a role and a token of their own').requiredOption('--role <name...>', 'their roles; "operator" may approve, find and raise by the first policy')
    .action(async (name: string, o: { role: string[] }, c: Command) => (await import('./commands/people.js')).addPersonCommand(name, o, outputOf(c)));
}

function allowanceWords(n17q: Command): void {
  const allowance = n17q.command('allowance').description('what all runs of the tenant may draw on: show, grant');
  allowance.command('show').description('what there is, and what runs may draw of it now').action(async (_o: object, c: Command) => (await import('./commands/allowance.js')).showAllowance(outputOf(c)));
  allowance.command('grant').description('give the tenant more').option('--usd <dollars>', 'so much money, such as 10').option('--tokens <n>', 'so many tokens').option('--calls <n>', 'so many calls').option('--reason <text>', 'why', 'asked on the command line')
    .action(async (o: { usd?: string; tokens?: string; calls?: string; reason: string }, c: Command) => (await import('./commands/allowance.js')).grantAllowance(o, outputOf(c)));
}

function providerWords(n17q: Command): void {
  const provider = n17q.command('provider').description('model accounts of the local tenant: list, add, remove');
  provider.command('list').description('accounts, their models, whether their keys are there').action(async (_o: object, c: Command) => (await providers()).listProviders(outputOf(c)));
  provider.command('add [account]').description('describe a model account, or change it; a running stack uses it at once')
    .option('--model <name...>', 'its models, the preferred one first (needed)').option('--endpoint <url>', 'where it is, if not at the provider\'s own address').option('--key-stdin', 'read its key from standard input; else put it into the file that is named then')
    .action(async (account: string | undefined, o: { model?: string[]; endpoint?: string; keyStdin?: boolean }, c: Command) => (await providers()).addProvider(account, o, outputOf(c)));
  provider.command('remove <account>').description('take a model account away; runs go on with another one, if there is one')
    .action(async (account: string, _o: object, c: Command) => (await providers()).removeProvider(account, outputOf(c)));
}

const POLICY_HELP = `
FILE holds rules in Cedar's language, which take the place of those in force; or, with a name that ends in .json, a whole policy.`;
function policyWords(n17q: Command): void {
  const policy = n17q.command('policy').description('what is allowed: show, diff, try, publish').addHelpText('after', POLICY_HELP);
  policy.command('show').description('the policy in force').option('--revision <n>', 'as it was at this revision').option('--history', 'when it was published, and by whom').option('--schema', 'what rules can be about')
    .action(async (o: { revision?: string; history?: boolean; schema?: boolean }, c: Command) => (await policies()).showPolicy(o, outputOf(c)));
  policy.command('diff <file>').description('what a file would change').action(async (file: string, _o: object, c: Command) => (await policies()).diffPolicy(file, outputOf(c)));
  policy.command('try <file>').description('which of the newest decisions a file would have decided otherwise; changes nothing').action(async (file: string, _o: object, c: Command) => (await policies()).tryPolicy(file, outputOf(c)));
  policy.command('publish [file]').description('put a file in force, or an earlier revision again').option('--revision <n>', 'the earlier revision').option('--deny-all', 'also if nothing is permitted any more')
    .action(async (file: string | undefined, o: { revision?: string; denyAll?: boolean }, c: Command) => (await policies()).publishPolicy(file, o, outputOf(c)));
}

function toolWords(n17q: Command): void {
  const tool = n17q.command('tool').description('tools of the local tenant, such as those of an MCP server: list, draft, publish, remove');
  tool.command('draft <name> [command...]').description('ask an MCP server for its tools and write draft mappings; nothing is published')
    .option('--url <url>', 'where the server is; else give after -- the command that starts it').option('--credential <name>', 'the credential for it, by name')
    .option('--env <pair...>', 'a variable of a started server, as NAME=VALUE; nothing secret').option('--secret <pair...>', 'a variable that holds a credential, as NAME=CREDENTIAL')
    .option('--prefix <text>', 'put before the name of each tool').option('--read-only <tool...>', 'your word that these tools change nothing')
    .action(async (name: string, command: string[], o: DraftWords, c: Command) => (await tools()).draftTools(name, command, o, outputOf(c)));
  tool.command('list').description('the tools of the registry: who provides them, and what they promise').action(async (_o: object, c: Command) => (await tools()).listTools(outputOf(c)));
  tool.command('publish <file>').description('add the tools of a file to the registry, or update those of the same server').option('--replace <names>', 'tools that take the place of another server\'s of the same name, separated by commas')
    .action(async (file: string, o: { replace?: string }, c: Command) => (await tools()).publishTools(file, o, outputOf(c)));
  tool.command('remove <name...>').description('take tools out of the registry; what was recorded of them stays').action(async (names: string[], _o: object, c: Command) => (await tools()).removeTools(names, outputOf(c)));
}

export function program(): Command {
  const n17q = new Command('n17q')
    .description('Durable runs for AI agents: a run survives the loss of any process, session or model.')
    .version(productVersion(), '-V, --version')
    .option('--json', 'answer with JSON; an error is JSON on standard error')
    .addHelpText('after', RUN_HELP)
    .exitOverride();
  stackWords(n17q);
  runWords(n17q);
  delegationWords(n17q);
  personWords(n17q);
  allowanceWords(n17q);
  providerWords(n17q);
  policyWords(n17q);
  toolWords(n17q);
  n17q.command('demo').description('the main job before your eyes: a coding run that survives kills, on a stack of its own')
    .option('--repo <path>', 'work on a clone of this git repository instead of the sample; the path is only read')
    .option('--test-cmd <cmd>', 'how its tests are run')
    .action(async (o: { repo?: string; testCmd?: string }, c: Command) => (await import('./commands/demo.js')).demoCommand(o, outputOf(c)));
  sayWrongWords(n17q, '');
  return n17q;
}

/** Each command's own sentence about words that it does not know, with where to look. */
function sayWrongWords(c: Command, above: string): void {
  const name = above === '' ? './n17q' : `${above} ${c.name()}`;
  const usage = [name, ...c.registeredArguments.map((a) => a.name().toUpperCase() + (a.variadic ? '…' : ''))].join(' ');
  c.configureOutput({
    outputError: (text, write) => {
      const said = text.replace(/^error: /u, '').trim().replace(/\.?\s*\n\s*/gu, ' ').replace(/\.$/u, '');
      const where = c.commands.length > 0 ? `${name} --help lists the commands` : `${said.startsWith('missing required argument') ? `as in ${usage}; ` : ''}${name} --help says more`;
      write(errorText(`${said}; ${where}.`, 2));
    },
  });
  for (const sub of c.commands) sayWrongWords(sub, name);
}
