/** The client as Node's users get it: packed, installed into an empty folder, compiled against. */
import assert from "@std/assert";
import ts from "typescript";
import { ClientProject, nodeIsThere, storySource } from "../support/packed_client.ts";
import { shared, startSimulatedService } from "../support/service.ts";
import { told } from "./told.ts";

const node = nodeIsThere();
const project = shared(async () => {
  const made = node ? await ClientProject.create() : undefined;
  return { made, stop: async () => await made?.[Symbol.asyncDispose]() };
});

function test(name: string, run: (project: ClientProject) => Promise<void> | void): void {
  Deno.test({
    name: node ? name : `${name} (skipped: no node and npm)`,
    ignore: !node,
    fn: () => run(project().made!),
  });
}

const resolutions = {
  node16: {},
  bundler: {
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
  },
} satisfies Record<string, ts.CompilerOptions>;

test("the packed client does on Node what it promises", async (project) => {
  assert.deepEqual(project.compile(project.write("story.ts", storySource())), []);
  await using service = await startSimulatedService();
  const at = JSON.stringify({ baseUrl: service.baseUrl, apiKey: service.key });
  project.write(
    "run.js",
    `import { story } from "./story.js"; console.log(JSON.stringify(await story(${at})));`,
  );
  assert.deepEqual(JSON.parse(await project.run("node", ["run.js"])), told);
});

for (const [name, settings] of Object.entries(resolutions)) {
  test(`its types hold for moduleResolution ${name}, and refuse what is wrong`, (project) => {
    const right = project.write("right.ts", storySource());
    assert.deepEqual(project.compile(right, settings), []);
    const wrong = project.write("wrong.ts", wrongProgram);
    const lines = project.compile(wrong, settings).map((each) => each.split(" ")[0]);
    const wanted = wrongProgram.split("\n").flatMap((line, at) =>
      line.includes("// wrong") ? [`wrong.ts:${at + 1}`] : []
    );
    assert.deepEqual([...new Set(lines)], wanted);
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
}
export function fails(thrown: unknown) {
  if (gateway.isGatewayError(thrown, "no_such_code")) return; // wrong
  if (gateway.isGatewayError(thrown, "insufficient_credits")) thrown.code satisfies "insufficient_credits";
}
`;
