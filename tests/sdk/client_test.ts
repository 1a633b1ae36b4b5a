/** The client on Deno, from its sources, and as its users get it: packed, installed, compiled. */
import assert from "@std/assert";
import ts from "typescript";
import { chromiumIsThere, startChromium } from "../browser/chromium.ts";
import { ClientProject, nodeIsThere, storySource } from "../support/packed_client.ts";
import { type Environment, shared, startSimulatedService } from "../support/service.ts";
import { story } from "./programs/story.ts";

/** What the story says when all is well, wherever it runs. */
const told: readonly string[] = [
  "models: vendor-a vendor-b vendor-c vendor-d vendor-e vendor-f vendor-g",
  "whole: Hello.",
  "streams: Streams of all dialects.",
  "family: Own family.",
  "media: unfinished 0, picture, speech, transcript",
  "failures: invalid_value",
  "errorsInStreams: upstream_overloaded upstream_stream_truncated",
  "leaving: after 3 chunks",
  "retried: At last.",
  "lostAnswer: 1 row",
  "figures: 3 calls",
  "exported: the same rows",
];

const startService = (env: Environment = {}) => startSimulatedService(env, { database: "any" });

Deno.test("the client does on Deno what it promises", async () => {
  await using service = await startService();
  assert.deepEqual(await story({ baseUrl: service.baseUrl, apiKey: service.key }), told);
});

const node = nodeIsThere();
const packed = shared(async () => {
  const project = node ? await ClientProject.create() : undefined;
  const files = [["story.ts", storySource()], ["wrong.ts", wrongProgram]] as const;
  const paths = files.map(([name, text]) => project?.write(name, text) ?? "");
  // Written as JavaScript beside them, which the other tests run.
  const problems = project?.compile(paths) ?? [];
  return { project, paths, problems, stop: async () => await project?.[Symbol.asyncDispose]() };
});

function test(
  name: string,
  run: (project: ClientProject) => Promise<void> | void,
  needed: Readonly<Record<string, boolean>> = {},
): void {
  const missing = Object.entries({ "node and npm": node, ...needed })
    .flatMap(([what, isThere]) => isThere ? [] : [what]);
  Deno.test({
    name: missing.length === 0 ? name : `${name} (skipped: no ${missing.join(", ")})`,
    ignore: missing.length > 0,
    fn: () => run(packed().project!),
  });
}

test("the packed client does on Node what it promises", async (project) => {
  await using service = await startService();
  const at = JSON.stringify({ baseUrl: service.baseUrl, apiKey: service.key });
  project.write(
    "run.js",
    `import { story } from "./story.js"; console.log(JSON.stringify(await story(${at})));`,
  );
  assert.deepEqual(JSON.parse(await project.run("node", ["run.js"])), told);
});

test(
  "it does so in a browser, on a page of another origin, as CORS_ORIGINS allows",
  async (project) => {
    await using site = serveFolder(project.folder);
    await using service = await startService({ CORS_ORIGINS: site.origin });
    const browser = await startChromium();
    try {
      const page = await browser.newPage();
      const blocked: string[] = [];
      page.on("console", (message) => {
        if (/CORS|blocked/i.test(message.text())) blocked.push(message.text());
      });
      await page.goto(`${site.origin}/`);
      const said = await page.evaluate(
        `import("/story.js").then(({ story }) => story(${
          JSON.stringify({ baseUrl: service.baseUrl, apiKey: service.key })
        }))`,
      );
      assert.deepEqual(said, told);
      assert.deepEqual(blocked, []);
      await using closed = await startService();
      const refused = await page.evaluate(
        `import("@demeter-gateway/client").then(({ createGateway, getStatus }) => getStatus({
          client: createGateway({
            ...${JSON.stringify({ baseUrl: closed.baseUrl, apiKey: closed.key })},
            retry: { attempts: 1 },
          }),
        })).then(() => "answered", ({ code, message }) => code + ": " + message)`,
      );
      const hint = `This page's origin is ${site.origin}: is it one of the service's CORS_ORIGINS?`;
      assert.match(String(refused), /^connection_failed: No answer: Failed to fetch/);
      assert.ok(String(refused).endsWith(hint), String(refused));
    } finally {
      await browser.close();
    }
  },
  { Chromium: chromiumIsThere() },
);

/** The story is right in each of its lines, the other program wrong where it says so. */
function assertProblems(problems: readonly string[]): void {
  const lines = problems.map((each) => each.split(" ")[0]);
  const wanted = wrongProgram.split("\n").flatMap((line, at) =>
    line.includes("// wrong") ? [`wrong.ts:${at + 1}`] : []
  );
  assert.deepEqual([...new Set(lines)], wanted, problems.join("\n"));
}

test("its types hold for moduleResolution node16, and refuse what is wrong", () => {
  assertProblems(packed().problems);
});

if (Deno.env.get("MATRIX") === "all") {
  test("its types hold for moduleResolution bundler, and refuse what is wrong", (project) => {
    assertProblems(project.compile(packed().paths, {
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      noEmit: true,
    }));
  });
}

test("it asks for nothing at run time, and lets bundlers leave things out", (project) => {
  const path = `${project.folder}/node_modules/@demeter-gateway/client/package.json`;
  const { dependencies, peerDependencies, sideEffects, type } = JSON.parse(
    Deno.readTextFileSync(path),
  );
  assert.deepEqual([dependencies, peerDependencies, sideEffects, type], [
    undefined,
    undefined,
    false,
    "module",
  ]);
});

const page = `<!doctype html><title>Somebody's page</title><script type="importmap">
{"imports": {"@demeter-gateway/client": "/node_modules/@demeter-gateway/client/mod.js"}}
</script>`;

/** A web server of somebody else's: the page, and the folder's scripts. */
function serveFolder(folder: string): { origin: string } & AsyncDisposable {
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/") return new Response(page, { headers: { "content-type": "text/html" } });
    const text = await Deno.readTextFile(`${folder}${pathname}`).catch(() => null);
    if (text === null) return new Response(null, { status: 404 });
    return new Response(text, { headers: { "content-type": "text/javascript" } });
  });
  return {
    origin: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Each line that says so is an error, and no other. */
const wrongProgram = `
import * as gateway from "@demeter-gateway/client";
const client = gateway.createGateway({ baseUrl: "http://x", apiKey: "k" });
export async function run() {
  const messages = [{ role: "user" as const, content: "hi" }];
  await gateway.createChatCompletion({ client, body: { model: 1, messages } }); // wrong
  await gateway.createChatCompletion({ client, body: { model: "m" } }); // wrong
  await gateway.createChatCompletion({ body: { model: "m", messages } }); // wrong
  await gateway.streamExport({ client, path: {} }); // wrong
  const { data } = await gateway.createMessage({ client, body: { model: "m", max_tokens: 1, messages } });
  data.role satisfies "user"; // wrong
  for await (const event of await gateway.streamMessage({ client, body: { model: "m", max_tokens: 1, messages } })) {
    if (event.type === "no_such_event") continue; // wrong
    if (event.type === "content_block_delta" && event.delta.type === "text_delta") event.delta.text satisfies string;
  }
  for await (const row of gateway.exportRows({ client, table: "eval_runs" })) row.eval_run_id satisfies string;
  for await (const _ of gateway.exportRows({ client, table: "accounts" })) continue; // wrong
  for await (const row of gateway.exportRows({ client, columns: ["model", "cost_usd"] })) {
    row.model satisfies string;
    row.request; // wrong
  }
  for await (const _ of gateway.exportRows({ client, columns: ["colour"] })) continue; // wrong
  const whole = await gateway.createChatCompletion({ client, body: { model: "m", messages } });
  for (const call of whole.data.choices[0]?.message.tool_calls ?? []) {
    if (call.type === "function") call.function.name satisfies string;
    if (call.type === "custom") call.function.name; // wrong
  }
  const usage = await gateway.getUsage({ client, query: { group_by: "app" } });
  usage.data.total.cost_usd satisfies string;
  usage.data.total.cost_usd satisfies number; // wrong
}
export function fails(thrown: unknown) {
  if (gateway.isGatewayError(thrown, "no_such_code")) return; // wrong
  if (gateway.isGatewayError(thrown, "insufficient_credits")) thrown.code satisfies "insufficient_credits";
}
`;
