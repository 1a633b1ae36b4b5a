import assert from "@std/assert";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import { RowChecks } from "../support/row_checks.ts";
import { shared } from "../support/service.ts";
import { type Loss, losses } from "./loss_rows.ts";
import { dialectNames, rawRequest } from "./raw_calls.ts";
import { scriptedLabel, scriptedModel, startScriptedVendors } from "./scripted_vendors.ts";
import { vendorWords } from "./vendor_words.ts";

const service = shared(() => startScriptedVendors());
const rows = new RowChecks();

for (const { caller, more, path, hint = [], meaning = [] } of losses) {
  for (const vendor of [...hint, ...meaning]) {
    const isHint = hint.includes(vendor);
    const name = `${caller} ${path} ${JSON.stringify(more)} on ${vendor}`;
    Deno.test(`${isHint ? "reported" : "refused"}: ${name}`, async () => {
      await expectRefused(await send(caller, vendor, more, "strict"), path);
      const usual = await send(caller, vendor, more);
      if (isHint) await expectReported(usual, path);
      else await expectRefused(usual, path);
      await expectReported(await send(caller, vendor, more, "lenient"), path);
    });
  }
}

/** Values that change nothing, or that the service carries out, are no loss for strict callers. */
const noLosses: readonly Pick<Loss, "caller" | "more">[] = [
  {
    caller: "chat",
    more: {
      n: 1,
      stop: null,
      logit_bias: {},
      logprobs: false,
      frequency_penalty: 0,
      presence_penalty: 0,
      modalities: ["text"],
      store: false,
      tools: [],
      response_format: { type: "text" },
    },
  },
  {
    caller: "responses",
    more: {
      ...{ truncation: "disabled", background: false, store: true, include: [], tools: [] },
      metadata: { k: "v" },
    },
  },
  { caller: "messages", more: { mcp_servers: [], stop_sequences: [], tools: [] } },
  {
    caller: "generate",
    more: { generationConfig: { candidateCount: 1, stopSequences: [] }, tools: [] },
  },
];

for (const { caller, more } of noLosses) {
  for (const vendor of dialectNames) {
    Deno.test(`no loss: ${caller} fields without effect on ${vendor}`, async () => {
      const answer = await send(caller, vendor, more, "strict");
      assert.equal(answer.status, 200, await answer.text());
      assert.equal(answer.headers.get("x-translation-loss"), null);
      rows.expect(answer, `${caller} on ${vendor}`, (row) => {
        assert.deepEqual(row.translation_loss, []);
      });
    });
  }
}

for (const { caller, more } of losses) {
  Deno.test(`nothing is lost where both sides speak ${caller}: ${JSON.stringify(more)}`, async () => {
    const answer = await send(caller, caller, more, "strict");
    assert.equal(answer.status, 200, await answer.text());
    assert.equal(answer.headers.get("x-translation-loss"), null);
  });
}

Deno.test("several losses are all named, in a stream's header too", async () => {
  const more = { seed: 7, prediction: { type: "content", content: "x" }, metadata: { k: "v" } };
  const answer = await send("chat", "messages", { ...more, stream: true });
  assert.equal(answer.status, 200);
  const named = (answer.headers.get("x-translation-loss") ?? "").split(",").sort();
  assert.deepEqual(named, ["metadata", "prediction", "seed"]);
  await answer.text();
  rows.expect(answer, "several losses, streamed", (row) => {
    assert.deepEqual((row.translation_loss as string[]).toSorted(), named);
  });
});

Deno.test("a key's own mode holds where the request names none", async () => {
  for (const mode of ["strict", "lenient"]) {
    const { key } = await service().createKey("--translation-mode", mode);
    const authorization = { authorization: `Bearer ${key}` };
    const hint = await send("chat", "messages", { seed: 7 }, undefined, authorization);
    const meaning = await send("chat", "messages", { n: 2 }, undefined, authorization);
    if (mode === "strict") {
      await expectRefused(hint, "seed");
      await expectRefused(meaning, "n");
      await expectReported(await send("chat", "messages", { n: 2 }, "lenient", authorization), "n");
    } else {
      for (const [answer, path] of [[hint, "seed"], [meaning, "n"]] as const) {
        assert.equal(answer.status, 200, await answer.clone().text());
        assert.equal(answer.headers.get("x-translation-loss"), path);
      }
      await expectRefused(await send("chat", "messages", { n: 2 }, "strict", authorization), "n");
    }
  }
});

for (const vendor of dialectNames.filter((name) => name !== "generate")) {
  Deno.test(`a number of candidates that no vendor takes is refused by its name on ${vendor}`, async () => {
    for (const candidateCount of [0, -1, 1.5]) {
      const more = { generationConfig: { candidateCount } };
      const answer = await send("generate", vendor, more, "lenient");
      assert.equal(answer.status, 400, await answer.clone().text());
      const { error } = await answer.json();
      assert.match(error.message, /^generationConfig\.candidateCount: expected a whole number/);
      assert.equal(answer.headers.get("x-transaction-id"), null, "no vendor was called");
    }
  });
}

Deno.test("a mode that there isn't is refused", async () => {
  const answer = await send("chat", "messages", {}, "sloppy");
  assert.equal(answer.status, 400);
  const { error } = await answer.json();
  assert.deepEqual([error.code, error.param], ["invalid_value", "X-Translation-Mode"]);
});

Deno.test("a mode that there isn't is refused of a count, too", async () => {
  const answer = await service().post("/chat/v1/messages/count_tokens", {
    model: `${scriptedLabel("messages")}/${scriptedModel}`,
    messages: [{ role: "user", content: "Hi" }],
  }, { "x-translation-mode": "sloppy" });
  assert.equal(answer.status, 400);
  const { error } = await answer.json();
  assert.deepEqual([error.type, error.message.split(":")[0]], [
    "invalid_request_error",
    "X-Translation-Mode",
  ]);
});

rows.register(service);

async function send(
  caller: DialectName,
  vendor: DialectName,
  more: Readonly<Record<string, unknown>>,
  mode?: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  const stream = more.stream === true;
  const script = service().script((exchange) => {
    const { whole, begin, end } = vendorWords[vendor];
    return stream ? exchange.stream([...begin, ...end]) : exchange.answer(200, whole);
  });
  const { path, body } = rawRequest(caller, {
    model: `${scriptedLabel(vendor)}/${scriptedModel}`,
    prompt: "Hello",
    stream,
    more,
  });
  const named = JSON.stringify(body).replace("Hello", `Hello ${script}`);
  return await service().post(path, named, {
    // With the service's own key state and hosted tools are refused before they could get lost.
    authorization: `Bearer ${service().key};own-key-of-the-caller`,
    ...(mode === undefined ? {} : { "x-translation-mode": mode }),
    ...headers,
  });
}

async function expectReported(answer: Response, path: string): Promise<void> {
  const body = await answer.text();
  assert.equal(answer.status, 200, body);
  const named = (answer.headers.get("x-translation-loss") ?? "").split(",");
  assert.ok(named.includes(path), `${path} is not in ${named}`);
  rows.expect(answer, `the loss of ${path}`, (row) => {
    assert.deepEqual(row.translation_loss, named);
  });
}

async function expectRefused(answer: Response, path: string): Promise<void> {
  const text = await answer.text();
  assert.equal(answer.status, 400, text);
  const { error } = JSON.parse(text);
  assert.equal(error.code, "unsupported_parameter", text);
  assert.ok(error.message.startsWith(`${path}:`), `${path} does not begin ${error.message}`);
  assert.equal(answer.headers.get("x-transaction-id"), null, "no vendor was called");
}
