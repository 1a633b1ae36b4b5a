import { changeMembers, splice, topLevelMembers } from "../../base/json_text.ts";
import type { BackgroundTask } from "../background_task.ts";
import type { CallPlan } from "./call_plan.ts";

/**
 * A lane at whose end nobody reads: the answer is only recorded and kept, under the id that its
 * caller was given before there was one.
 */
export function planBackground(plan: CallPlan, task: BackgroundTask): CallPlan {
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
      const { text: told, ...whole } = plan.whole(answer);
      const text = JSON.stringify(task.answered(JSON.parse(told)));
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

function withoutStream({ requestText: text, upstream }: CallPlan): string {
  const members = topLevelMembers(text);
  if (!members) return text;
  return splice(text, changeMembers(text, members.range, { remove: upstream.asking.streaming }));
}
