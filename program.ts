/**
 * The program as it is packaged, in one: `start` (also without a word), `demo`, `admin …`. Each
 * part is loaded only when it is asked for.
 */
const [word = "start", ...rest] = Deno.args;
// `start` needs it for workers, and gives it up itself.
if (word !== "start") Deno.permissions.revokeSync({ name: "run" });
if (word === "start" && rest.length === 0) await import("./main.ts");
else if (word === "demo" && ["", "--empty"].includes(rest.join(" "))) {
  await import("./demo/main.ts");
} else if (word === "admin") await (await import("./src/main/run_admin.ts")).runAdmin(rest);
else await refuse();

async function refuse(): Promise<never> {
  const { version } = await import("./src/main/version.ts");
  const usage = "usage: demeter [start | demo [--empty] | admin <command> | --version]";
  if (word === "--version") console.log(`demeter ${version}`);
  else if (["help", "-h", "--help"].includes(word)) console.log(usage);
  else {
    console.error(`Unknown command '${[word, ...rest].join(" ")}'. ${usage}`);
    Deno.exit(2);
  }
  Deno.exit(0);
}
