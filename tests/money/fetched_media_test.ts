/** Media at an address is fetched only for calls that their account can pay. */
import assert from "@std/assert";
import { smallPicture } from "../../contracts/examples/media.ts";
import { startSimulatedService } from "../support/service.ts";

const env = { FETCH_ALLOW_HOSTS: "127.0.0.1" };

/** Calls whose pictures the service fetches itself. */
function callsWith(url: string): readonly (readonly [string, Record<string, unknown>])[] {
  const content = [{ type: "image_url", image_url: { url } }];
  const chat = { messages: [{ role: "user", content }], max_tokens: 1000 };
  const model = "vendor-d/gemini-2.5-flash";
  return [
    ["/chat/v1/chat/completions", { ...chat, model }],
    ["/chat/v1/chat/completions", { ...chat, model, models: ["vendor-b/gpt-5-mini"] }],
    ["/imagen/v1/generate", { model: "vendor-b/gpt-image-1.5", prompt: "By night", images: [url] }],
  ];
}

for (
  const [credit, status, fetches] of [["0", 402, 0], ["0.002", 402, 0], ["1", 200, 3]] as const
) {
  Deno.test(`with ${credit} USD of credit ${fetches} pictures are fetched`, async () => {
    let asked = 0;
    await using files = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, () => {
      asked++;
      return new Response(Uint8Array.fromBase64(smallPicture), {
        headers: { "content-type": "image/png" },
      });
    });
    await using service = await startSimulatedService({ ...env, STARTING_CREDIT_USD: credit });
    for (const [path, body] of callsWith(`http://127.0.0.1:${files.addr.port}/a.png`)) {
      const response = await service.post(path, body);
      const text = await response.text();
      assert.equal(response.status, status, text.slice(0, 500));
    }
    assert.equal(asked, fetches);
  });
}
