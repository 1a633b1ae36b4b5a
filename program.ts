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
  const asked = word === "--version" || word === "--help";
  const text = word === "--version"
    ? `demeter ${version}`
    : "usage: demeter [start | demo [--empty] | admin <command> | --version]";
  if (asked) console.log(text);
  else console.error(text);
  Deno.exit(asked ? 0 : 2);
}
