/** Reasoning survives tool rounds: every caller's dialect, every vendor that signs it. */
import assert from "@std/assert";
import { shared, startTestService } from "../support/service.ts";
import { loops } from "./reasoning_clients.ts";
import { rounds, signatureOf, startReasoningVendor } from "./reasoning_vendor.ts";
import type { Json } from "./wire.ts";

/** Models that sign, and under which label they stand; `x-responses` has that endpoint alone. */
const targets = [
  { model: "vendor-c/claude-haiku-4-5", path: "/messages" },
  { model: "vendor-c/claude-opus-5", path: "/messages" },
  { model: "vendor-d/gemini-3.8-flash", path: "GenerateContent?alt=sse" },
  { model: "x-responses/gpt-5.6-sol", path: "/responses" },
] as const;

const world = shared(async () => {
  const vendor = await startReasoningVendor();
  const directory = await Deno.makeTempDir({ prefix: "reasoning-" });
  const write = async (name: string, value: unknown) => {
    await Deno.writeTextFile(`${directory}/${name}`, JSON.stringify(value));
    return `${directory}/${name}`;
  };
  const service = await startTestService({
    database: "any",
    env: {
      VENDOR_C_BASE_URL: `${vendor.url}/c`,
      VENDOR_C_API_KEY: "sk-ant-0123456789",
      VENDOR_D_BASE_URL: `${vendor.url}/d`,
      VENDOR_D_API_KEY: "AIza0123456789",
      VENDORS_FILE: await write("vendors.json", [{
        label: "x-responses",
        base_url: `${vendor.url}/x`,
        api_key_env: "KEY_OF_X",
        dialects: ["responses"],
        auth: "bearer",
      }]),
      PRICES_FILE: await write("prices.json", {
        "x-responses/gpt-5.6-sol": { input: "1", output: "2" },
      }),
      KEY_OF_X: "x-key-0123456789",
    },
  });
  const stop = async () => {
    await service.stop();
    await vendor.close();
    await Deno.remove(directory, { recursive: true });
  };
  return { ...service, vendor, stop, [Symbol.asyncDispose]: stop };
});

const all = Array.from({ length: rounds }, (_, round) => signatureOf(round + 1));

for (const { model, path } of targets) {
  for (const [name, loop] of Object.entries(loops)) {
    Deno.test(`${name} on ${model}: what was signed comes back in each round`, async () => {
      const { vendor, baseUrl, key } = world();
      const before = vendor.requests.length;
      assert.equal(await loop({ url: baseUrl, key }, model), "Done.");
      const asked = vendor.requests.slice(before).filter(({ method }) => method === "POST");
      assert.equal(asked.length, rounds + 1);
      for (const [round, request] of asked.entries()) {
        assert.ok(request.path.endsWith(path), request.path);
        const body = JSON.parse(request.body) as Json;
        // In the vendor's own dialect a client's sentinels go on as it wrote them.
        const isOwn = path.startsWith("Generate") && name.includes("genai");
        const returned = vendor.returned(body).filter((one) => !isOwn || all.includes(one));
        assert.deepEqual(returned, all.slice(0, round), `${round} of ${round}`);
        const { type } = (body.thinking ?? {}) as Json;
        if (path === "/messages") assert.notEqual(type, "disabled", "thinking stays on");
      }
    });
  }
}
