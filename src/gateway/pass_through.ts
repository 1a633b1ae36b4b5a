import type { Steps } from "../base/steps.ts";
import type { Dialect, RequestFacts, StreamReframer } from "../dialects/dialect.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";
import type { Lane, StreamLane } from "./lane.ts";

/**
 * Same dialect on both sides: bytes go on as they are and a decoder listens. In the request only
 * the model's name, the usage flag and the tag lines are exchanged, in its own text.
 */
export function* passThrough(
  call: {
    dialect: Dialect;
    bodyText: string;
    facts: RequestFacts;
    target: ResolvedModel;
    jsonArray: boolean;
  },
): Steps<Lane> {
  // The lane lives as long as the call: it holds no more of the request than it needs.
  const { dialect, bodyText, facts, target, jsonArray } = call;
  const changes = { model: target.model, askStreamUsage: facts.stream };
  const requestText = yield* dialect.spliceSteps(bodyText, facts, changes);
  // What the vendor itself repeats as the whole is truer than the fold of its pieces.
  let repeated: unknown;
  return {
    upstream: dialect,
    sameDialect: true,
    quirks: target.vendor.quirks,
    requestText,
    plainRequestText: () =>
      dialect.spliceRequest(bodyText, facts, { ...changes, askStreamUsage: false }),
    losses: [],
    whole: ({ bytes, text, events }) => ({ body: bytes, text, contentType: undefined, events }),
    stream: () =>
      jsonArray && dialect.reframe ? reframed(dialect.reframe()) : ({
        contentType: undefined,
        forward(event, { events, usageOnly }) {
          repeated ??= dialect.wholeOf?.(event);
          // Who didn't ask for usage doesn't see the event that holds nothing else.
          const hidden = usageOnly && !facts.wantsStreamUsage;
          return { events, bytes: hidden ? undefined : event.bytes };
        },
        end: (rest) => ({ events: rest, bytes: undefined }),
        fail: (fault) => new TextEncoder().encode(dialect.errorFrame(fault)),
      }),
    encodeFolded: (answer) => repeated ?? dialect.encodeAnswer(answer),
    // A client that speaks the vendor's dialect carries its reasoning itself.
    keptReasoning: () => [],
  };
}

/** The vendor's events in the other form that the caller asked for. */
function reframed(reframer: StreamReframer): StreamLane {
  const encoder = new TextEncoder();
  const bytesOf = (text: string) => text === "" ? undefined : encoder.encode(text);
  return {
    contentType: "application/json",
    forward: (event, { events }) => ({ events, bytes: bytesOf(reframer.event(event)) }),
    end: (rest) => ({ events: rest, bytes: bytesOf(reframer.end()) }),
    fail: (fault) => encoder.encode(reframer.fail(fault)),
  };
}
