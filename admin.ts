import { callControl } from "./src/admin/control.ts";
import { type CommandResult, runCommand, usage } from "./src/admin/commands.ts";
import { adminPartsOf } from "./src/admin/parts.ts";
import { systemClock } from "./src/base/clock.ts";
import { type Config, readConfig } from "./src/config.ts";
import { messageOf } from "./src/domain/fault.ts";
import { createAccounts } from "./src/store/accounts.ts";
import { createApiKeys } from "./src/store/api_keys.ts";
import { claimDataDir } from "./src/store/data_dir.ts";
import { openDatabase } from "./src/store/open.ts";
import { registryOf } from "./src/services.ts";

/** `deno task admin …`: the operator's command line (interface.md §1). */
const argv = Deno.args;
const asJson = argv.includes("--json");
try {
  const result = argv.length === 0
    ? { exitCode: 2 as const, json: { error: "no command" }, lines: [usage()] }
    : await run(readConfig(), argv);
  print(result);
  Deno.exit(result.exitCode);
} catch (thrown) {
  const message = messageOf(thrown).split("\n")[0]!;
  print({ exitCode: 1, json: { error: message }, lines: [`error: ${message}`] });
  Deno.exit(1);
}

/**
 * A running server that owns the embedded database takes the command; else the store is opened
 * here, PostgreSQL at its address or the embedded one in its directory.
 */
async function run(config: Config, words: readonly string[]): Promise<CommandResult> {
  if (config.databaseUrl) return await runHere(config, words);
  const answered = await callControl(config.dataDir, words);
  if (answered) return answered;
  const claim = await claimDataDir(config.dataDir);
  try {
    return await runHere(config, words);
  } finally {
    await claim.release();
  }
}

async function runHere(config: Config, words: readonly string[]): Promise<CommandResult> {
  const database = await openDatabase(config.databaseUrl, config.dataDir);
  try {
    if (words[0] === "migrate") {
      // Opening has applied what was missing.
      return { exitCode: 0, json: { migrated: true }, lines: ["The database is up to date."] };
    }
    return await runCommand(
      adminPartsOf({
        accounts: createAccounts(database),
        apiKeys: createApiKeys(database),
        registry: registryOf(config),
        clock: systemClock,
      }),
      words,
    );
  } finally {
    await database.close();
  }
}

function print(result: CommandResult): void {
  if (asJson) console.log(JSON.stringify(result.json));
  else if (result.exitCode === 0) result.lines.forEach((line) => console.log(line));
  else result.lines.forEach((line) => console.error(line));
}
