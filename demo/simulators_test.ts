import assert from "@std/assert";
import { type Label, LABELS, type Simulators, startSimulators } from "./simulators.ts";

/** A plain request in each vendor's dialect, streamed or not. */
function request(
  { vendors }: Simulators,
  label: Label,
  text: string,
  isStream: boolean,
  more: { headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Response> {
  const { baseUrl, apiKey } = vendors[label];
  const messages = [{ role: "user", content: text }];
  const generate = isStream ? "streamGenerateContent?alt=sse" : "generateContent";
  const google = {
    path: `/models/gemini-3.8-flash:${generate}`,
    headers: { "x-goog-api-key": apiKey },
    body: { contents: [{ role: "user", parts: [{ text }] }] },
  };
  const chat = (model: string) => ({
    path: "/chat/completions",
    headers: { authorization: `Bearer ${apiKey}` },
    body: { model, messages, stream: isStream },
  });
  const calls: Record<Label, { path: string; headers: Record<string, string>; body: object }> = {
    "vendor-a": chat("moonshotai/Kimi-K2.6"),
    "vendor-b": chat("gpt-5-mini"),
    "vendor-c": {
      path: "/messages",
      headers: { "x-api-key": apiKey, "anthropic-version": "2023-06-01" },
      body: { model: "claude-haiku-4-5", max_tokens: 4000, messages, stream: isStream },
    },
    "vendor-d": google,
    "vendor-e": google,
    "vendor-f": chat("openai/gpt-5-mini"),
    "vendor-g": chat("grok-4.3"),
  };
  const call = calls[label];
  return fetch(baseUrl + call.path, {
    method: "POST",
    headers: { "content-type": "application/json", ...call.headers, ...more.headers },
    body: JSON.stringify(call.body),
    ...(more.signal ? { signal: more.signal } : {}),
  });
}

async function withSimulators(body: (simulators: Simulators) => Promise<void>): Promise<void> {
  const simulators = await startSimulators();
  try {
    await body(simulators);
  } finally {
    await simulators.close();
  }
}

/** Turns of the event loop until the condition holds; fails after half a minute. */
async function eventually(condition: () => boolean): Promise<void> {
  const end = performance.now() + 30_000;
  while (!condition()) {
    assert.ok(performance.now() < end, "the condition did not come true");
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

const TERMINAL: Record<Label, RegExp> = {
  "vendor-a": /data: \[DONE\]/,
  "vendor-b": /data: \[DONE\]/,
  "vendor-c": /event: message_stop/,
  "vendor-d": /"finishReason":"STOP"/,
  "vendor-e": /"finishReason":"STOP"/,
  "vendor-f": /data: \[DONE\]/,
  "vendor-g": /data: \[DONE\]/,
};

/** What only a finished answer has: missing wherever a stream did not end well. */
const FINISHED = /"finish_reason":"stop"|event: message_delta|"finishReason":"STOP"/;

Deno.test("each vendor answers whole and streamed, ends its stream and quotes the question", async () => {
  await withSimulators(async (simulators) => {
    for (const label of LABELS) {
      const whole = await (await request(simulators, label, "Where is Kyōto?", false)).text();
      assert.match(whole, /Where is Kyōto\?/);
      const stream = await (await request(simulators, label, "Where is Kyōto?", true)).text();
      assert.match(stream, TERMINAL[label]);
      assert.match(stream, FINISHED);
    }
  });
});

Deno.test("a wrong, missing or foreign credential is refused on every vendor", async () => {
  await withSimulators(async (simulators) => {
    const expected: Partial<Record<Label, number>> = { "vendor-d": 400, "vendor-e": 400 };
    for (const label of LABELS) {
      const name = label === "vendor-c"
        ? "x-api-key"
        : label === "vendor-d" || label === "vendor-e"
        ? "x-goog-api-key"
        : "authorization";
      const status = async (headers: Record<string, string>) => {
        const response = await request(simulators, label, "Hi", false, { headers });
        await response.body?.cancel();
        return response.status;
      };
      assert.equal(await status({ [name]: "Bearer wrong" }), expected[label] ?? 401);
      assert.equal(await status({ "x-note": "dmt_leaked" }), 400);
      const other = name === "x-api-key" ? "x-goog-api-key" : "x-api-key";
      assert.equal(await status({ [other]: "anything" }), 400);
      assert.equal(await status({}), 200);
    }
  });
});

Deno.test("errors come in the vendor's own shape, with Retry-After where it is usual", async () => {
  await withSimulators(async (simulators) => {
    for (const label of LABELS) {
      for (const status of [400, 429, 500, 503, 529]) {
        const response = await request(simulators, label, `[error:${status}]`, true);
        const body = await response.json();
        assert.equal(response.status, status);
        assert.ok(body.error);
        if (label === "vendor-c") assert.equal(body.type, "error");
        if (label === "vendor-d") assert.equal(body.error.code, status);
        if (label === "vendor-g") assert.equal(typeof body.error, "string");
        const isGenerate = label === "vendor-d" || label === "vendor-e";
        if (status === 429 && isGenerate) assert.match(JSON.stringify(body), /"retryDelay":"1s"/);
        if (status === 429 && !isGenerate) assert.equal(response.headers.get("retry-after"), "1");
      }
    }
  });
});

Deno.test("an error with a count fails that many times, then succeeds, then starts over", async () => {
  await withSimulators(async (simulators) => {
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 6; attempt++) {
      const response = await request(simulators, "vendor-b", "[error:503x2] again", false);
      await response.body?.cancel();
      statuses.push(response.status);
    }
    assert.deepEqual(statuses, [503, 503, 200, 503, 503, 200]);
  });
});

Deno.test("a failure that is meant for one vendor happens at no other", async () => {
  await withSimulators(async (simulators) => {
    const status = async (label: Label, text: string) => {
      const response = await request(simulators, label, text, true);
      await response.text().catch(() => {});
      return response.status;
    };
    for (const label of LABELS) {
      const own = label === "vendor-e" ? "vendor-d" : label;
      assert.equal(await status(label, `[error:503][at:${own}] Hello`), 503);
      assert.equal(await status(label, "[error:503][at:vendor-z] Hello"), 200);
    }
    const cut = await request(simulators, "vendor-c", "[at:vendor-b] [cut] Tell me", true);
    const whole = await cut.text();
    assert.match(whole, /message_stop/);
    assert.ok(!whole.includes("[at:"), "what it heard is told without the word");
  });
});

Deno.test("a cut breaks the connection, a clean cut ends without the terminal event", async () => {
  await withSimulators(async (simulators) => {
    for (const label of LABELS) {
      const cut = await request(simulators, label, "[cut] Tell me", true);
      assert.equal(cut.status, 200);
      await assert.rejects(cut.text());
      const clean = await (await request(simulators, label, "[cut:clean] Tell me", true)).text();
      assert.ok(clean.length > 100);
      assert.doesNotMatch(clean, TERMINAL[label]);
      assert.doesNotMatch(clean, FINISHED);
      const whole = await request(simulators, label, "[cut] Tell me", false);
      await assert.rejects(whole.text());
      assert.equal(simulators.active(label), 0);
    }
  });
});

Deno.test("an error in the middle is in-band and ends the stream", async () => {
  await withSimulators(async (simulators) => {
    for (const label of LABELS) {
      const stream = await (await request(simulators, label, "[midstream-error] Hi", true)).text();
      assert.match(stream, /"error"/);
      assert.doesNotMatch(stream, TERMINAL[label]);
      assert.doesNotMatch(stream, FINISHED);
      const whole = await request(simulators, label, "[midstream-error] Hi", false);
      assert.ok((await whole.json()).error);
      assert.equal(whole.status === 200, label === "vendor-f");
    }
  });
});

Deno.test("a client that leaves is counted, while waiting, dripping and hanging", async () => {
  await withSimulators(async (simulators) => {
    for (const label of ["vendor-b", "vendor-c", "vendor-d"] as const) {
      for (const [index, word] of ["[slow:60000]", "[drip:60000]", "[hang]"].entries()) {
        const leave = new AbortController();
        const pending = request(simulators, label, `${word} Hi`, true, { signal: leave.signal });
        const reading = pending.then(async (response) => await response.text());
        await eventually(() => simulators.active(label) === 1);
        assert.equal(simulators.aborted(label), index);
        leave.abort();
        await assert.rejects(reading);
        await eventually(() => simulators.aborted(label) === index + 1);
        assert.equal(simulators.active(label), 0);
      }
    }
  });
});

Deno.test("closing ends hanging streams", async () => {
  const simulators = await startSimulators();
  const response = await request(simulators, "vendor-a", "[hang]", true);
  const reading = response.text().catch(() => "broken");
  await simulators.close();
  await reading;
});

Deno.test("long answers have the requested number of chunks, and header names are listed", async () => {
  await withSimulators(async (simulators) => {
    const stream = await (await request(simulators, "vendor-g", "[long:500]", true)).text();
    assert.equal(stream.match(/"content":"Zeile/g)?.length, 500);
    const echo = await request(simulators, "vendor-b", "[echo-headers]", false, {
      headers: { "x-marked": "secret" },
    });
    const text = (await echo.json()).choices[0].message.content;
    assert.match(text, /authorization.*x-marked/);
    assert.doesNotMatch(text, /secret/);
  });
});

Deno.test("the last 200 received requests are available with path, headers and body", async () => {
  await withSimulators(async (simulators) => {
    const { baseUrl, apiKey } = simulators.vendors["vendor-f"];
    for (let index = 0; index < 203; index++) {
      const response = await fetch(`${baseUrl}/models?i=${index}`, {
        headers: { authorization: `Bearer ${apiKey}` },
      });
      await response.body?.cancel();
    }
    const kept = simulators.requests("vendor-f");
    assert.equal(kept.length, 200);
    assert.equal(kept[0]?.path, "/api/v1/models?i=3");
    assert.equal(kept[0]?.headers.authorization, `Bearer ${apiKey}`);
    await (await request(simulators, "vendor-d", "Hi", false)).body?.cancel();
    assert.deepEqual(simulators.requests("vendor-e").at(-1)?.body, {
      contents: [{ role: "user", parts: [{ text: "Hi" }] }],
    });
  });
});

Deno.test("several rounds of tool calls can be asked for", async () => {
  await withSimulators(async ({ vendors }) => {
    const { baseUrl, apiKey } = vendors["vendor-b"];
    const messages: unknown[] = [{ role: "user", content: "[steps:2] call the clock" }];
    const tools = [{ type: "function", function: { name: "clock" } }];
    const finishes: string[] = [];
    for (let round = 0; round < 3; round++) {
      const response = await fetch(`${baseUrl}/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "gpt-4.1", messages, tools }),
      });
      const { choices: [{ message, finish_reason }] } = await response.json();
      finishes.push(finish_reason);
      const [call] = message.tool_calls ?? [];
      messages.push(message, { role: "tool", tool_call_id: call?.id, content: "noon" });
    }
    assert.deepEqual(finishes, ["tool_calls", "tool_calls", "stop"]);
  });
});
