/** Another account's ids, at every path that takes one: nothing is revealed or changed. */
import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { allContracts } from "../../contracts/mod.ts";
import { sha256Hex } from "../../src/base/hash.ts";
import { startSimulatedService, type TestService } from "../support/service.ts";

const secret = "canary-of-the-first-account";
const today = new Date().toISOString().slice(0, 10);
const picture = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(100_000, 7)]);

/** What the first account has, by the name of the path parameter that asks for it. */
async function idsOf({ post }: TestService): Promise<Record<string, string>> {
  const url = `data:image/png;base64,${picture.toString("base64")}`;
  const call = await post("/chat/v1/responses", {
    model: "vendor-b/gpt-4.1",
    user: secret,
    input: [{
      role: "user",
      content: [
        { type: "input_text", text: `/// COHORT ${secret}\n${secret}` },
        { type: "input_image", image_url: url },
      ],
    }],
  });
  const said = await call.json();
  await post("/api/v1/cohort/outcome", {
    cohort_id: secret,
    conversions: [{ type: "revenue", value: 5 }],
  });
  const run = await (await post("/api/v1/evals", {
    name: secret,
    model: "vendor-c/claude-sonnet-4-6",
    filters: {},
    graders: [{ type: "contains", value: secret }],
  })).json();
  const file = await (await post("/api/v1/exports", { range: { start: today, end: today } }))
    .json();
  const erasure = await (await post("/api/v1/data", { user_id: "nobody", reason: secret })).json();
  const ids = {
    deletion_id: erasure.request_id,
    response_id: said.id,
    transaction_id: call.headers.get("x-transaction-id"),
    sha256: sha256Hex(picture),
    cohort_id: secret,
    eval_run_id: run.eval_run_id,
    request_id: file.request_id,
  };
  for (const [name, id] of Object.entries(ids)) assert.equal(typeof id, "string", name);
  return ids as Record<string, string>;
}

Deno.test("no endpoint reveals or changes anything of another account", async () => {
  await using service = await startSimulatedService();
  const { admin, post, rows } = service;
  await admin("account", "create", "--name", "others");
  const { key } = await service.createKey("--account", "others");
  const other = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const ids = await idsOf(service);
  const before = await rows({ user_id: secret });
  assert.ok(before.length > 0, "there is something to see");

  const tried: string[] = [];
  for (const { method, path } of allContracts()) {
    if (path.startsWith("/api/v1/admin/")) {
      const at = path.replace(/\{\w+\}/, "1");
      const answer = await service.fetch(at, { method: method.toUpperCase(), headers: other });
      assert.equal(answer.status, 403, `${method} ${path}: ${await answer.text()}`);
      continue;
    }
    const [, name] = /\{(\w+)\}/.exec(path) ?? [];
    // Models belong to nobody.
    if (
      name === "model" ||
      name === undefined && !/^\/api\/v1\/(exports|evals|interactions|usage|credits)$/.test(path)
    ) {
      continue;
    }
    if (name === undefined && method !== "get") continue;
    const asked = path.startsWith("/api/v1/data/") ? "deletion_id" : name;
    if (asked !== undefined) assert.ok(ids[asked], `${path}: the walk has no ${asked} to ask for`);
    const at = asked === undefined ? path : path.replace(`{${name}}`, ids[asked]!);
    const answer = await service.fetch(at, { method: method.toUpperCase(), headers: other });
    const text = await answer.text();
    const isOpen = name === undefined || name === "cohort_id";
    assert.equal(answer.status, isOpen ? 200 : 404, `${method} ${path}: ${text}`);
    const told = name === "cohort_id" ? text.replaceAll(`"${secret}"`, "") : text;
    assert.ok(!told.includes(secret), `${method} ${path}`);
    if (name === "cohort_id") assert.equal(JSON.parse(text).interactions, 0);
    tried.push(`${method} ${path}`);
  }
  assert.ok(tried.length >= 20, tried.join(", "));

  const transaction_ids = before.map((row) => row.transaction_id);
  const erased = await service.fetch("/api/v1/data", {
    method: "DELETE",
    headers: other,
    body: JSON.stringify({ transaction_ids, confirm: true }),
  });
  assert.equal((await erased.json()).deleted_count, 0);
  assert.deepEqual(await rows({}, key), []);
  const continued = await post("/chat/v1/responses", {
    model: "vendor-b/gpt-4.1",
    input: "And then?",
    previous_response_id: ids.response_id,
  }, other);
  assert.deepEqual([continued.status, (await continued.json()).error.code], [
    400,
    "previous_response_not_found",
  ]);
  assert.deepEqual((await rows({ user_id: secret })).slice(0, before.length), before);
  const file = await service.fetch(`/api/v1/exports/${ids.request_id}/stream`);
  assert.ok((await file.text()).includes(secret), "the export is still there");
});
