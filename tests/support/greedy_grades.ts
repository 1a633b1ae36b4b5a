import type { CallersRule } from "../../src/evals/grade_protocol.ts";
import { GradeThread } from "../../src/evals/grade_thread.ts";

/** The output of this program, which runs graders that try to take much memory. */
export interface GreedySight {
  /** The most bytes by which the process grew. */
  maxBytes: number;
  /** The verdicts on two more answers after that: a text that is too long, and an ordinary one. */
  kinds: string[];
}

// Each level fails twice, each time with the errors of all levels below it.
const $defs = Object.fromEntries(Array.from({ length: 60 }, (_, at) => {
  const below = { $ref: `#/$defs/a${at - 1}` };
  return [`a${at}`, at === 0 ? { type: "null" } : { anyOf: [below, below] }];
}));
const greedy: readonly [CallersRule, string][] = [
  [{ type: "json_schema", schema: { $defs, $ref: "#/$defs/a59" } }, "1"],
  [{ type: "json_schema", schema: { type: "array" } }, `[${"{},".repeat(349_000)}{}]`],
  [{ type: "json_schema", schema: { items: { $ref: "#" } } }, "[".repeat(5e5) + "]".repeat(5e5)],
  [{ type: "regex", pattern: "(\\p{L}{1,999}){999}".repeat(100) }, "a".repeat(1e6)],
  [{ type: "regex", pattern: "(?:a|b|ab)*(?:\\p{L}*)*$" }, `${"a".repeat(1e6)}!`],
];

const thread = new GradeThread(1_500);
await thread.grade({ type: "json_schema", schema: true }, "1");
const before = Deno.memoryUsage().rss;
let maxBytes = 0;
const watch = setInterval(() => {
  maxBytes = Math.max(maxBytes, Deno.memoryUsage().rss - before);
}, 5);
for (const [rule, text] of greedy) await thread.grade(rule, text);
clearInterval(watch);
const tooLong = await thread.grade({ type: "regex", pattern: "a" }, "a".repeat(2 ** 20 + 1));
const next = await thread.grade({ type: "regex", pattern: "a" }, "a");
thread.close();
const sight: GreedySight = { maxBytes, kinds: [tooLong.kind, next.kind] };
console.log(JSON.stringify(sight));
