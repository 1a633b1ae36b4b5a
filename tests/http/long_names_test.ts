/** Names of callers become columns with an index, which holds no text of any length. */
import assert from "@std/assert";
import { eachService } from "../support/each_service.ts";
import type { TestService } from "../support/service.ts";

/** Text that no database makes shorter, three bytes a character. */
function noise(length: number): string {
  const random = crypto.getRandomValues(new Uint16Array(length));
  return String.fromCharCode(...random.map((one) => 0x4e00 + one % 20_000));
}

const messages = [{ role: "user", content: "Hello" }];
const model = "vendor-b/gpt-4.1";
const bodies = {
  "/chat/v1/chat/completions": (user: string) => ({ model, messages, user }),
  "/vendor-b/v1/responses": (user: string) => ({ model, input: "Hello", safety_identifier: user }),
  "/chat/v1/messages": (user: string) => ({
    ...{ model, messages, max_tokens: 10 },
    metadata: { user_id: user },
  }),
  "/chat/v1/embeddings": (user: string) => ({
    ...{ model: "vendor-b/text-embedding-3-small", input: "Hello" },
    user,
  }),
};

const fields = {
  "/chat/v1/chat/completions": "user",
  "/vendor-b/v1/responses": "safety_identifier",
  "/chat/v1/messages": "metadata.user_id",
  "/chat/v1/embeddings": "user",
} satisfies Record<keyof typeof bodies, string>;

async function ask(service: TestService, path: string, body: unknown, vendorKey = "") {
  const answer = await service.post(path, body, {
    authorization: `Bearer ${service.key}${vendorKey}`,
  });
  return { status: answer.status, text: await answer.text() };
}

eachService("an end user is recorded as named, or refused as too long", {}, async (service) => {
  for (const [path, bodyOf] of Object.entries(bodies)) {
    const user = noise(500);
    assert.equal((await ask(service, path, bodyOf(user))).status, 200, path);
    assert.equal((await service.rows({ user_id: user })).length, 1, path);
    const { status, text } = await ask(service, path, bodyOf(noise(501)));
    assert.equal(status, 400, path);
    const field = fields[path as keyof typeof bodies];
    const message = `${field}: the end user has 501 characters; at most 500 are allowed.`;
    assert.ok(text.includes(message), text);
    // The messages dialect's errors have no member for a field.
    assert.equal(JSON.parse(text).error.param, path.endsWith("/messages") ? undefined : field);
  }
  assert.equal((await service.rows()).length, Object.keys(bodies).length);
});

eachService("a call whose model is a text of any length is no call", {}, async (service) => {
  const chat = "/chat/v1/chat/completions";
  const name = noise(500);
  await ask(service, chat, { model: `vendor-b/${name}`, messages }, ";sk-own");
  assert.equal((await service.rows({ model: name })).length, 1);
  for (const [path, prefix] of [[chat, "vendor-b/"], ["/vendor-b/v1/chat/completions", ""]]) {
    const body = { model: `${prefix}${noise(3000)}`, messages };
    assert.equal((await ask(service, path!, body, ";sk-own")).status, 404, path);
  }
  assert.equal((await service.rows()).length, 1);
});
