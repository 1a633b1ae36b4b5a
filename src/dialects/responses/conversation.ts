import { type Edit, insertMember, locate, removeMember, splice } from "../../base/json_text.ts";
import type { Conversation } from "../dialect.ts";
import { isRecord, type JsonRecord, words } from "../json.ts";
import { continueFrom, inputItems, type Item, storedOutput } from "./state.ts";

/** State between calls, kept on our side for every vendor (responses.md §7). */
export const conversation: Conversation = {
  previousId: (body) => isRecord(body) ? words(body.previous_response_id) : undefined,
  wantsKept: (body) => isRecord(body) && body.store !== false,
  inputItems,
  answerId: (answer) => storedOutput(answer)?.id,
  continueFrom({ body, bodyText, inputItems: earlier, answer }) {
    const turn = { input: earlier.filter(isRecord), output: storedOutput(answer)?.output ?? [] };
    const continued = continueFrom([turn], body as JsonRecord);
    return { body: continued, bodyText: spliceInput(bodyText, continued.input as Item[]) };
  },
};

/** The same in the request's own text: the input exchanged, the reference to what is kept gone. */
function spliceInput(bodyText: string, items: readonly Item[]): string {
  const input = locate(bodyText, ["input"]);
  const whole = locate(bodyText, [])!;
  const text = JSON.stringify(items);
  const edits: Edit[] = [
    ...removeMember(bodyText, whole, "previous_response_id"),
    input ? { ...input, text } : insertMember(bodyText, whole, "input", text),
  ];
  return splice(bodyText, edits);
}
