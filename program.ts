/**
 * The packaged program with all its commands: `start` (the default), `demo`, `admin …`. Each is
 * loaded only when it is run.
 */
const [word = "start", ...rest] = Deno.args;
// `start` needs this permission for workers, and gives it up itself.
if (word !== "start") Deno.permissions.revokeSync({ name: "run" });
if (word === "start") await import("./main.ts");
else if (word === "demo") await import("./demo/main.ts");
else if (word === "admin") await (await import("./src/main/run_admin.ts")).runAdmin(rest);
else await explain();

/** Prints the version or the usage; refuses any other word. */
async function explain(): Promise<never> {
  const { version } = await import("./src/main/version.ts");
  const { usageLines } = await import("./src/main/usage.ts");
  const { readProgram } = await import("./src/main/config.ts");
  const usage = `usage: ${readProgram()} [start | demo [--empty] | admin COMMAND | --version]`;
  if (word === "--version") console.log(`demeter ${version}`);
  else if (["help", "-h", "--help"].includes(word)) {
    console.log([usage, "", ...usageLines].join("\n"));
  } else {
    console.error(`Unknown command '${word}'. ${usage}`);
    Deno.exit(2);
  }
  Deno.exit(0);
}
