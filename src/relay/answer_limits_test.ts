import assert from "@std/assert";
import type { Fault } from "../shared/fault.ts";
import { checkAnswerLimits } from "./answer_limits.ts";

Deno.test("an answer may have a few long member names, which a model repeated itself in", () => {
  const answer = (names: number) =>
    JSON.stringify(
      Object.fromEntries(Array.from({ length: names }, (_, at) => [at + "n".repeat(16_000), 0])),
    );
  checkAnswerLimits(answer(100));
  assert.throws(
    () => checkAnswerLimits(answer(101)),
    (fault: Fault) => fault.code === "upstream_invalid_response",
  );
});
