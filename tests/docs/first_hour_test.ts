/**
 * The README's promise to somebody new: two commands lead from a clone to a dashboard with a call of
 * one's own, without an account anywhere. The clone has what is committed.
 */
import assert from "@std/assert";
import { hiddenFields, signIn } from "../dashboard/world.ts";
import { BrowserClient } from "../support/browser_client.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { snippetsOf } from "./snippets.ts";

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname).replace(/\/$/, "");
const directory = temporaryDirectory("first-hour");
const [home, clone] = [`${directory}/home`, `${directory}/demeter`];

/** What a machine has that has run this before (npm's packages and Deno's), and the gate's flags. */
async function caches(): Promise<Record<string, string>> {
  const flags = Deno.env.get("DENO_V8_FLAGS");
  const { denoDir } = JSON.parse(await output(Deno.execPath(), ["info", "--json"]));
  const npm = (await output("npm", ["config", "get", "cache"])).trim();
  const npmSettings = { npm_config_cache: npm, npm_config_prefer_offline: "true" };
  return { DENO_DIR: denoDir, ...(flags ? { DENO_V8_FLAGS: flags } : {}), ...npmSettings };
}

/** The commands under "Try it", as they stand there. */
async function commands(): Promise<[start: string, call: string]> {
  const readme = await Deno.readTextFile(`${clone}/README.md`);
  const [block] = snippetsOf(readme.slice(readme.indexOf("\n## Try it\n")));
  const [start = "", ...call] = block!.text.split("\n");
  assert.match(start, /^npx --yes deno@[\d.]+ task demo$/);
  assert.match(call.join("\n"), /^curl (\S+|-H '[^']*'|-d '[^']*'|\\\n|\s)+$/);
  return [start, call.join("\n")];
}

const missing: string[] = [];
for (const program of ["git", "npx"]) {
  if (!await output(program, ["--version"]).then(() => true, () => false)) missing.push(program);
}

Deno.test({
  name: `two commands lead from a clone to a dashboard with one's own call${
    missing.length === 0 ? "" : ` (skipped: no ${missing.join(", ")})`
  }`,
  ignore: missing.length > 0,
  async fn() {
    const begunMs = performance.now();
    await Deno.mkdir(home);
    // Git asks whose a repository is, which says nothing here.
    await Deno.writeTextFile(`${directory}/gitconfig`, "[safe]\n\tdirectory = *\n");
    const GIT_CONFIG_GLOBAL = `${directory}/gitconfig`;
    await output("git", ["clone", "--quiet", root, clone], { GIT_CONFIG_GLOBAL });
    const [start, call] = await commands();
    const { PATH = "" } = Deno.env.toObject();
    // No file of the machine's user, nor its settings; any port, since the usual one may be taken.
    const env = { PATH, HOME: home, PORT: "0", NO_COLOR: "1", ...await caches() };
    await using demo = startInGroup(start, { cwd: clone, env });
    const [, key = ""] = await demo.printed(/API key +(dmt_\w+)/);
    const [, base = ""] = await demo.printed(/Base URL +(\S+)/);
    const [, printedCall = ""] = await demo.printed(/^ +(curl .*)$/m);
    const own = call.replace("http://127.0.0.1:8787", base).replace("dmt_…", key);
    const [answer, printedAnswer] = [await ask(own), await ask(printedCall)];
    const [, link = ""] = await demo.printed(/^ +(http\S+token=\S+)$/m);
    const browser = new BrowserClient(base);
    const arrived = await signIn(browser, new URL(link).search.replace("?token=", "claim="));
    assert.equal(arrived.status, 200, arrived.text);
    for (const text of [answer, printedAnswer]) await findCall(browser, text);
    console.log(`from the clone to the call on the dashboard: ${seconds(begunMs)} s`);
    assert.ok(performance.now() - begunMs < 300_000);
    const again = await new BrowserClient(base).get(link);
    assert.doesNotMatch(again.text, /hello/);
    assert.equal(Object.keys(hiddenFields(again.text)).includes("claim"), false, "it works once");
    // Commands are shown as this person can type them, who has no `deno`.
    assert.match(demo.text(), /New key +DATA_DIR=\S+ npx --yes deno@[\d.]+ task admin key create/);
    assert.deepEqual([...Deno.readDirSync(home)].map(({ name }) => name), []);
  },
});

/** Runs the line, or sends its request where there is no curl. Returns the model's text. */
async function ask(line: string): Promise<string> {
  const hasCurl = await output("curl", ["--version"]).then(() => true, () => false);
  const answer = JSON.parse(
    hasCurl
      ? await output("sh", ["-c", line.replace("curl ", "curl -sS ")])
      : await (await fetch(...requestOf(line))).text(),
  );
  assert.equal(typeof answer.choices?.[0]?.message?.content, "string", JSON.stringify(answer));
  return answer.choices[0].message.content;
}

/** The request of a curl line that has an address, `-H` and `-d`. */
function requestOf(line: string): [string, RequestInit] {
  const quoted = (flag: string) =>
    [...line.matchAll(new RegExp(`${flag} '([^']*)'`, "g"))].map(([, text]) => text!);
  const headers = quoted("-H").map((header) => header.split(": ", 2) as [string, string]);
  return [/https?:[^\s']+/.exec(line)![0], { method: "POST", headers, body: quoted("-d")[0]! }];
}

/** Among the newest, beside those of the demo's evaluation, is a call with question and answer. */
async function findCall(browser: BrowserClient, answer: string): Promise<void> {
  const list = await browser.get("/dashboard/interactions");
  for (const [, href] of list.text.matchAll(/class="row-link" href="([^"]+)"/g)) {
    const { text } = await browser.get(href!);
    if (text.includes("Say hello.") && text.includes(answer.slice(0, 20))) return;
  }
  throw new Error("The call isn't on the first page of Interactions.");
}

function seconds(sinceMs: number): string {
  return ((performance.now() - sinceMs) / 1000).toFixed(1);
}

/** A command line with all that it starts, which ends as in a terminal: by Ctrl-C. */
function startInGroup(
  line: string,
  { cwd, env }: { cwd: string; env: Record<string, string> },
): AsyncDisposable & {
  text(): string;
  printed(pattern: RegExp): Promise<RegExpExecArray>;
} {
  const child = new Deno.Command("sh", {
    args: ["-c", line],
    ...{ cwd, env, clearEnv: true, detached: true },
    ...{ stdin: "null", stdout: "piped", stderr: "piped" } as const,
  }).spawn();
  let text = "";
  const read = Promise.all([child.stdout, child.stderr].map(async (stream) => {
    for await (const part of stream.pipeThrough(new TextDecoderStream())) text += part;
  }));
  const ended = child.status.then(() => true);
  const stop = (signal: string) =>
    new Deno.Command("kill", { args: [`-${signal}`, "--", `-${child.pid}`], stderr: "null" })
      .outputSync();
  const killAtExit = () => void stop("KILL");
  globalThis.addEventListener("unload", killAtExit);
  return {
    text: () => text,
    async printed(pattern) {
      for (const until = performance.now() + 240_000; performance.now() < until;) {
        const found = pattern.exec(text);
        if (found !== null) return found;
        const pause = new Promise<false>((resolve) => setTimeout(resolve, 50, false));
        if (await Promise.race([ended, pause])) break;
      }
      throw new Error(`${pattern} was not printed:\n${text.replaceAll(/dmt_\w+/g, "dmt_****")}`);
    },
    async [Symbol.asyncDispose]() {
      stop("INT");
      await child.status;
      stop("KILL");
      await read;
      globalThis.removeEventListener("unload", killAtExit);
    },
  };
}

async function output(
  program: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args, env }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}
