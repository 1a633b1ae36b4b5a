/** The client as a Deno program uses it, from its sources. */
import assert from "@std/assert";
import { startSimulatedService } from "../support/service.ts";
import { story } from "./programs/story.ts";
import { told } from "./told.ts";

Deno.test("the client does on Deno what it promises", async () => {
  await using service = await startSimulatedService();
  assert.deepEqual(await story({ baseUrl: service.baseUrl, apiKey: service.key }), told);
});
