import { changeMembers, splice, topLevelMembers } from "../../base/json_text.ts";
import type { BackgroundTask } from "../background_task.ts";
import type { TextPlan } from "./text_plan.ts";

/**
 * The plan of a call whose caller does not wait: the answer is only recorded and stored, under the
 * id that its caller has had since before there was an answer.
 */
export function planBackground(plan: TextPlan, task: BackgroundTask): TextPlan {
  return {
    upstream: plan.upstream,
    sameDialect: plan.sameDialect,
    quirks: plan.quirks,
    requestText: plan.requestText,
    plainRequestText: () => plan.plainRequestText(),
    wholeRequestText: () => withoutStream(plan),
    losses: plan.losses,
    hosted: plan.hosted,
    whole(answer) {
      const { text: callersText, ...whole } = plan.whole(answer);
      const text = JSON.stringify(task.answered(JSON.parse(callersText)));
      return { ...whole, body: "", text };
    },
    stream() {
      const stream = plan.stream();
      return {
        contentType: stream.contentType,
        forward: (event, decoded) => ({
          events: stream.forward(event, decoded).events,
          bytes: undefined,
        }),
        end: (rest) => ({ events: stream.end(rest).events, bytes: undefined }),
        fail(fault) {
          task.failed(fault);
          return new Uint8Array();
        },
      };
    },
    encodeFolded: (answer) => task.answered(plan.encodeFolded(answer)),
    retainedReasoning: (answer) => plan.retainedReasoning(answer),
  };
}

function withoutStream({ requestText: text, upstream }: TextPlan): string {
  const members = topLevelMembers(text);
  if (!members) return text;
  return splice(text, changeMembers(text, members.range, { remove: upstream.asking.streaming }));
}
