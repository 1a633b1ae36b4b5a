import { parseExactly } from "../../base/exact_json.ts";
import { changeMembers, splice, topLevelMembers } from "../../base/json_text.ts";
import { finish } from "../../base/steps.ts";
import type { Dialect } from "./dialect.ts";
import type { BodyAndText } from "./json.ts";
import { asRecord, isRecord } from "./json.ts";
import { textWithoutTags } from "./tag_blocks.ts";

/**
 * A stored request, prepared to be sent again: to another model, without its tag lines, for a whole
 * answer. Everything else stays as its caller wrote it. Throws a Fault if it can't be read, and a
 * SyntaxError if the text isn't JSON.
 */
export function askAgain(dialect: Dialect, storedText: string, model: string): BodyAndText {
  const { resendRules } = dialect;
  const members = topLevelMembers(storedText);
  if (!members || !isRecord(parseExactly(storedText))) throw new SyntaxError("no JSON object");
  const set = resendRules.modelInPath ? [] : [["model", JSON.stringify(model)] as const];
  const plain = splice(
    storedText,
    changeMembers(storedText, members.range, {
      remove: [...set.map(([key]) => key), ...resendRules.streaming, ...resendRules.drop],
      insert: [...set, ...resendRules.set],
    }),
  );
  const asked = (text: string) => ({ ...asRecord(parseExactly(text)), model, stream: false });
  const { tagBlocks } = dialect.readRequest(asked(plain));
  const bodyText = finish(textWithoutTags(plain, tagBlocks));
  const body = resendRules.modelInPath ? asked(bodyText) : parseExactly(bodyText) as unknown;
  return { body, bodyText };
}
