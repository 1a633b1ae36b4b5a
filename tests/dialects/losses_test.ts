/** Nothing that a request says disappears in silence: it arrives, or a loss names it. */
import assert from "@std/assert";
import { finish } from "../../src/base/steps.ts";
import { Fault } from "../../src/shared/fault.ts";
import { everything } from "./abilities.ts";
import { dialects, type Name, names } from "./translated.ts";
import { Random } from "./random.ts";
import { sampleRequest } from "./sample_requests.ts";
import { vanished } from "./vanished.ts";

const rounds = 400;

const models: Readonly<Record<Name, readonly string[]>> = {
  chat: ["gpt-4.1"],
  responses: ["gpt-4.1"],
  messages: ["claude-sonnet-4-6", "claude-opus-5-5", "claude-3-5-sonnet", "claude-opus-4-8"],
  generate: [
    "gemini-3-flash",
    "gemini-2.5-pro",
    "gemini-2.0-flash",
    "gemini-2.5-flash-image",
    "gemma-3-27b-it",
  ],
};

for (const name of names) {
  Deno.test(`${rounds} requests of everything: what ${name} can't carry is named`, () => {
    let carried = 0;
    for (let seed = 1; seed <= rounds; seed++) {
      const random = new Random(seed);
      const request = sampleRequest(random, everything);
      const model = random.pick(models[name]);
      const target = { model, maxOutputTokens: undefined };
      let encoded;
      try {
        encoded = finish(dialects[name].encodeRequest(request, target));
      } catch (thrown) {
        // Refused is not silent either, as long as the field is named.
        if (!(thrown instanceof Fault)) throw thrown;
        assert.match(thrown.param ?? "", /^(turns|settings|tools)/);
        continue;
      }
      carried++;
      const wire: Record<string, unknown> = JSON.parse(JSON.stringify(encoded.body));
      const again = finish(
        dialects[name].decodeRequest({ ...wire, model, stream: request.stream }),
      );
      const losses = encoded.losses.map(({ path }) => path);
      const silent = vanished(request, again, encoded).filter((path) =>
        !losses.some((loss) => path === loss || path.startsWith(`${loss}.`))
      );
      assert.deepEqual(silent, [], `seed ${seed} on ${model}`);
      for (const loss of losses) assert.match(loss, /^(turns|settings|tools|system)/);
    }
    assert.ok(carried > rounds / 2, `only ${carried} were carried`);
  });
}
