import assert from "@std/assert";
import { LABELS } from "../../demo/simulators.ts";
import { callControl } from "../../src/admin/control.ts";
import { startFakeVendor } from "../support/fake_vendor.ts";
import { play, testScenarios } from "../support/scenarios.ts";
import { shared, startSimulatedService, startTestService } from "../support/service.ts";

/** vendor-g is dead, vendor-a has no key, vendor-f answers nonsense; the others are well. */
const service = shared(async () => {
  const odd = await startFakeVendor((exchange) =>
    exchange.answer(500, "<html>no models today</html>", { "content-type": "text/html" })
  );
  const started = await startSimulatedService({
    VENDOR_A_API_KEY: "",
    VENDOR_F_BASE_URL: `${odd.url}/v1`,
    VENDOR_G_BASE_URL: "http://127.0.0.1:9/v1",
    CONNECT_TIMEOUT_MS: "1000",
  });
  const stop = async () => {
    await started.stop();
    await odd.close();
  };
  return { ...started, odd, stop };
});

interface ModelList {
  object: string;
  data: {
    id: string;
    object: string;
    owned_by: string;
    created: number;
    [more: string]: unknown;
  }[];
  [more: string]: unknown;
}

testScenarios(service, [
  ...["vendor-b", "openai"].map((family) => ({
    name: `GET /${family}/v1/models is the specification's list with the vendor's own names`,
    path: `/${family}/v1/models`,
    status: 200,
    check({ json }: { json: unknown }) {
      const { object, data, ...more } = json as ModelList;
      assert.equal(object, "list");
      assert.deepEqual(more, {});
      const model = data.find((one) => one.id === "gpt-5-mini");
      assert.deepEqual(model, {
        id: "gpt-5-mini",
        object: "model",
        created: 1_767_225_600,
        owned_by: "vendor-b",
      });
    },
  })),
  {
    name: "the messages family lists what its own client needs beside it",
    path: "/anthropic/v1/models",
    status: 200,
    check({ json }) {
      const { object, data, has_more, first_id, last_id } = json as ModelList;
      assert.deepEqual(
        { object, has_more, first_id, last_id },
        { object: "list", has_more: false, first_id: data[0]?.id, last_id: data.at(-1)?.id },
      );
      const { id, type, display_name, created_at, owned_by } = data[0]!;
      assert.deepEqual(
        { id, object: data[0]!.object, type, display_name, created_at, owned_by },
        {
          id: "claude-opus-5-5",
          object: "model",
          type: "model",
          display_name: "Claude Opus 5.5",
          created_at: "2026-09-15T00:00:00.000Z",
          owned_by: "vendor-c",
        },
      );
    },
  },
  ...["/vendor-d/v1/models", "/google/v1beta/models"].map((path) => ({
    name: `GET ${path} has the native list beside the specification's`,
    path,
    status: 200,
    check({ json }: { json: unknown }) {
      const { object, data, models, nextPageToken } = json as ModelList;
      assert.equal(object, "list");
      assert.equal(nextPageToken, undefined);
      assert.deepEqual(
        (models as { name: string }[]).map((one) => one.name),
        data.map((one) => `models/${one.id}`),
      );
      assert.ok(data.every((one) => one.owned_by === "vendor-d" && one.object === "model"));
    },
  })),
  {
    name: "vendor-e lists vendor-d's models under its own name",
    path: "/gemini/v1/models",
    status: 200,
    check({ json }) {
      const { data } = json as ModelList;
      assert.ok(data.some((one) => one.id.startsWith("gemini-")));
      assert.ok(data.every((one) => one.owned_by === "vendor-e"));
    },
  },
  {
    name: "the list of a dead vendor is 502 in the error shape",
    path: "/xai/v1/models",
    status: 502,
    error: { type: "upstream_error", code: "upstream_unreachable" },
    unexpected: ["127.0.0.1:9"],
  },
  {
    name: "the list of a vendor that fails is 502, without its words",
    path: "/vendor-f/v1/models",
    status: 502,
    error: { type: "upstream_error", code: "upstream_error" },
    unexpected: ["no models today", "html"],
  },
  {
    name: "the list of a vendor without a key is 404, and says what to do",
    path: "/vendor-a/v1/models",
    status: 404,
    error: { type: "not_found_error", code: "vendor_not_configured", message: /has no key/ },
  },
  {
    name: "a call to a vendor without a key is 404, names the dual-key form, and is no interaction",
    path: "/chat/v1/chat/completions",
    body: {
      model: "huggingface/deepseek-ai/DeepSeek-V4-Flash",
      messages: [{ role: "user", content: "hello" }],
    },
    status: 404,
    error: {
      type: "not_found_error",
      code: "vendor_not_configured",
      message: /^vendor-a has no key on this service.*<API_KEY>;<VENDOR_KEY>.*VENDOR_A_API_KEY/,
    },
    answerHeaders: { "x-transaction-id": null },
  },
  {
    name: "dead, failing and unconfigured vendors don't take the unified list down",
    path: "/chat/v1/models",
    status: 200,
    check({ json }) {
      const { object, data } = json as ModelList;
      assert.equal(object, "list");
      const owners = [...new Set(data.map((one) => one.owned_by))].sort();
      assert.deepEqual(owners, ["vendor-b", "vendor-c", "vendor-d", "vendor-e"]);
      assert.ok(data.every((one) => one.id.startsWith(`${one.owned_by}/`)));
      for (const one of data) {
        assert.deepEqual(Object.keys(one).sort(), ["created", "id", "object", "owned_by"]);
        assert.equal(one.object, "model");
        assert.ok(Number.isInteger(one.created));
      }
      assert.ok(data.some((one) => one.id === "vendor-b/gpt-5-mini"));
    },
  },
]);

Deno.test("model lists are cached: the vendor is asked once, however often we are", async () => {
  const asked = () => service().simulators.requests("vendor-b").length;
  await service().fetch("/vendor-b/v1/models").then((answer) => answer.body?.cancel());
  const before = asked();
  for (const path of ["/vendor-b/v1/models", "/chat/v1/models", "/openai/v1/models"]) {
    await play(service(), { name: path, path, status: 200 });
  }
  assert.equal(asked(), before);
});

Deno.test("health is 200 whatever it finds, under all its paths, and says why", async () => {
  const wanted: Readonly<Record<string, { status: string; reason?: string }>> = {
    "vendor-a": { status: "down", reason: "vendor_not_configured" },
    "vendor-b": { status: "ok" },
    "vendor-c": { status: "ok" },
    "vendor-d": { status: "ok" },
    "vendor-e": { status: "ok" },
    "vendor-f": { status: "degraded", reason: "upstream_error" },
    "vendor-g": { status: "down", reason: "upstream_unreachable" },
  };
  const look = ({ checked_at, latency_ms, ...rest }: Record<string, unknown>) => {
    assert.ok(Math.abs(Date.now() - Date.parse(String(checked_at))) < 60_000);
    const asked = rest.reason !== "vendor_not_configured";
    assert.equal(Number.isInteger(latency_ms), asked, "latency_ms where a vendor was asked");
    return rest;
  };
  for (const [label, found] of Object.entries(wanted)) {
    for (const path of [`/${label}/health`, `/${label}/${label}/health`]) {
      const { json } = await play(service(), { name: path, path, status: 200 });
      assert.deepEqual(look(json as Record<string, unknown>), { vendor: label, ...found });
    }
  }
  const { json } = await play(service(), { name: "all", path: "/chat/v1/health", status: 200 });
  const { status, checked_at, vendors, ...more } = json as Record<string, unknown>;
  assert.deepEqual({ status, more }, { status: "degraded", more: {} });
  assert.ok(Math.abs(Date.now() - Date.parse(String(checked_at))) < 60_000);
  assert.deepEqual(
    (vendors as Record<string, unknown>[]).map(look),
    LABELS.map((label) => ({ vendor: label, ...wanted[label] })),
  );
});

Deno.test("health under an alias is the family's", async () => {
  for (const path of ["/openai/health", "/openai/openai/health", "/gemini/health"]) {
    await play(service(), {
      name: path,
      path,
      status: 200,
      expected: [/"vendor":"vendor-[be]"/],
    });
  }
});

Deno.test("health spends no tokens: vendors are asked for nothing but lists", () => {
  for (const label of LABELS) {
    for (const { method, path } of service().simulators.requests(label)) {
      assert.equal(method, "GET", path);
      assert.match(path, /\/models(\?|$)/);
    }
  }
});

Deno.test("with no vendor key at all, lists are empty and health is down", async () => {
  await using bare = await startTestService();
  const models = await bare.fetch("/chat/v1/models");
  assert.deepEqual([models.status, await models.json()], [200, { object: "list", data: [] }]);
  const health = await bare.fetch("/chat/v1/health");
  assert.deepEqual([health.status, (await health.json()).status], [200, "down"]);
});

Deno.test("a list that was read is still served when its vendor has gone", async () => {
  const vendor = await startFakeVendor((exchange) =>
    exchange.answer(200, { object: "list", data: [{ id: "one", object: "model", created: 1 }] })
  );
  await using one = await startTestService({
    env: { VENDOR_B_BASE_URL: `${vendor.url}/v1`, VENDOR_B_API_KEY: "sk-of-b" },
  });
  const list = async () => await (await one.fetch("/vendor-b/v1/models")).json();
  const first = await list();
  assert.deepEqual(first.data.map((model: { id: string }) => model.id), ["one"]);
  await vendor.close();
  assert.deepEqual(await list(), first);
});

Deno.test("where the service has no key, lists are those of the caller's own, for no other account", async () => {
  const { admin, createKey, dataDir, fetch, simulators } = service();
  const { apiKey } = simulators.vendors["vendor-a"];
  await admin("account", "create", "--name", "own keys");
  const { key } = await createKey("--account", "own keys");
  const ask = async (path: string, credential: string) => {
    const headers = { authorization: `Bearer ${credential}` };
    const answer = await fetch(path, { headers });
    const { data = [], id, error } = await answer.json() as ModelList & Record<string, unknown>;
    return [answer.status, (error as { code?: string })?.code ?? id ?? data.map(({ id }) => id)];
  };
  const ofVendor = async (path: string, credential: string) => {
    const [, ids] = await ask(path, credential);
    return (ids as string[]).filter((id) => id.startsWith("vendor-a/")).length;
  };
  const [status, ids] = await ask("/vendor-a/v1/models", `${key};${apiKey}`);
  const [first] = ids as string[];
  assert.equal(status, 200);
  assert.equal(typeof first, "string");
  const one = `/chat/v1/models/vendor-a/${first}`;
  assert.deepEqual(await ask(one, key), [404, "vendor_not_configured"]);
  assert.equal(await ofVendor("/chat/v1/models", `${key};${apiKey}`), 0, "it names no vendor");
  const wrong = await ask("/vendor-a/v1/models", `${key};hf_wrong0123456789`);
  assert.deepEqual(wrong, [401, "invalid_vendor_api_key"]);
  const stored = await callControl(
    ...[dataDir, ["vendor-key", "set", "--vendor", "vendor-a", "--account", "own keys"]] as const,
    apiKey,
  );
  assert.equal(stored!.exitCode, 0, stored!.lines.join());
  assert.deepEqual(await ask("/vendor-a/v1/models", key), [200, ids]);
  assert.deepEqual(await ask(one, key), [200, `vendor-a/${first}`]);
  assert.equal(await ofVendor("/chat/v1/models", key), (ids as string[]).length);
  await callControl(
    ...[dataDir, ["vendor-key", "set", "--vendor", "vendor-a", "--account", "own keys"]] as const,
    "hf_wrong0123456789",
  );
  assert.equal(await ofVendor("/chat/v1/models", key), 0);
  const warnings = service().log.filter((line) =>
    line.includes("model list is unavailable and left out")
  );
  assert.ok(
    !warnings.some((line) => line.includes("vendor-a")),
    "an account's key is its own matter",
  );
  assert.deepEqual(await ask("/vendor-a/v1/models", service().key), [404, "vendor_not_configured"]);
  assert.equal(await ofVendor("/chat/v1/models", service().key), 0);
});

Deno.test("a key finds models by its own names, and is shown those that it may call", async () => {
  const { createKey, fetch } = service();
  const allowed = "openai/gpt-4.1";
  const { key: mapped } = await createKey("--name", "maps", "--map", `fast=${allowed}`);
  const { key: narrow } = await createKey("--name", "narrow", "--models", allowed);
  const ask = async (path: string, key: string) => {
    const answer = await fetch(path, { headers: { authorization: `Bearer ${key}` } });
    const { data, id, error } = await answer.json() as ModelList & Record<string, unknown>;
    return data?.map(({ id }) => id) ?? id ?? (error as { code: string }).code;
  };
  for (const path of ["/chat/v1/models/fast", "/v1beta/models/fast"]) {
    assert.equal(await ask(path, mapped), "vendor-b/gpt-4.1");
    assert.equal(await ask(path, narrow), "model_not_found");
  }
  const found: Readonly<Record<string, unknown>> = {
    "/chat/v1/models": ["vendor-b/gpt-4.1"],
    "/chat/v1beta/models": ["vendor-b/gpt-4.1"],
    "/openai/v1/models": ["gpt-4.1"],
    "/anthropic/v1/models": [],
    "/chat/v1/models/openai/gpt-4.1": "vendor-b/gpt-4.1",
    "/openai/v1/models/gpt-4.1": "gpt-4.1",
    "/chat/v1/models/gpt-5-mini": "permission_denied",
    "/openai/v1/models/gpt-5-mini": "permission_denied",
  };
  for (const [path, expected] of Object.entries(found)) {
    assert.deepEqual(await ask(path, narrow), expected, path);
  }
});

Deno.test("a name with a line end is an unknown model, and no unknown endpoint", async () => {
  for (const family of ["/chat/v1", "/chat/v1beta", "/openai/v1", "/google/v1beta"]) {
    const answer = await service().fetch(`${family}/models/a%0Db%0Ac`);
    assert.equal((await answer.json()).error.code, "model_not_found", family);
  }
});

Deno.test("GET of a model's method is an unknown endpoint, and says which one is meant", async () => {
  for (const family of ["/chat/v1", "/v1beta", "/google/v1beta"]) {
    const path = `${family}/models/google/gemini-2.5-flash:generateContent`;
    const { error } = await (await service().fetch(path)).json();
    assert.equal(error.code, "endpoint_not_found", family);
    assert.match(error.message, /Did you mean POST \S+:generateContent\?$/);
  }
});
