import assert from "@std/assert";
import type { ImageBody } from "../dialects/media/images/request.ts";
import type { CallContext } from "../relay/call_context.ts";
import { maxImageTokens } from "../shared/token_estimate.ts";
import type { PublicFetch } from "../vendors/public_fetch.ts";
import { createRegistry } from "../vendors/registry.ts";
import { createImages } from "./images.ts";
import type { OperationCall, Operations } from "./operations.ts";

/** The call that is made for a body. */
async function callOf(body: Partial<ImageBody>): Promise<OperationCall> {
  let made: OperationCall | undefined;
  const operations = {
    run(call: OperationCall) {
      made = call;
      return Promise.resolve({ status: 200, headers: {}, body: null });
    },
  } as unknown as Operations;
  const fetches = {} as PublicFetch;
  await createImages(
    {
      ...{
        registry: createRegistry({}, []),
        operations,
        publicFetch: fetches,
        vendorFetch: fetches,
      },
      mediaInlineBytes: 0,
    },
    {
      caller: { header: () => undefined, principal: { key: {} } } as unknown as CallContext,
      body: { prompt: "A boat", ...body } as ImageBody,
      ...{ bodyText: "", addressOf: String },
    },
  );
  return made!;
}

Deno.test("all pictures of a call are in its bound, and all prompts and references that are sent", async () => {
  const at = { model: "vendor-d/gemini-2.5-flash-image" };
  const [one, four] = [await callOf(at), await callOf({ ...at, n: 4 })];
  assert.deepEqual([one.bound.requests, four.bound.requests], [undefined, 4]);
  assert.deepEqual([one.bound.choices, four.bound.choices], [1, 4]);
  assert.deepEqual(four.bound.images!.map(({ count }) => count), [4]);
  assert.equal(four.bound.inputTokens, 4 * one.bound.inputTokens);
  assert.equal(four.bound.believedInputTokens, 4 * one.bound.believedInputTokens!);
  const images = Array(2).fill("data:image/png;base64,iVBORw0KGgo=");
  const { bound } = await callOf({ ...at, images });
  assert.equal(bound.inputTokens, one.bound.inputTokens + 2 * maxImageTokens);
  assert.equal(bound.believedInputTokens, one.bound.believedInputTokens! + 2 * maxImageTokens);
});
