import type { Dialect, RequestFacts, StreamReframer } from "../dialects/dialect.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";
import type { Vendor } from "../vendors/registry.ts";
import type { Lane, StreamLane } from "./lane.ts";
import { shownModel } from "./shown_model.ts";

/**
 * Same dialect on both sides: bytes go on as they are and a decoder listens. In the request only
 * the model's name, the usage flag and the tag lines are exchanged, in its own text; in the answer
 * only the model's name, where the dialect's clients compare it.
 */
export function passThrough(
  call: {
    dialect: Dialect;
    bodyText: string;
    facts: RequestFacts;
    target: ResolvedModel;
    vendor?: Vendor | undefined;
    jsonArray: boolean;
  },
): Lane {
  // The lane lives as long as the call: it holds no more of the request than it needs.
  const { dialect, bodyText, facts, target, jsonArray } = call;
  const splice = (askStreamUsage: boolean) =>
    dialect.spliceRequest(bodyText, facts, { model: target.model, askStreamUsage });
  const shown = shownModel(call);
  // What the vendor itself repeats as the whole is truer than the fold of its pieces.
  let repeated: unknown;
  return {
    upstream: dialect,
    sameDialect: true,
    quirks: target.vendor.quirks,
    requestText: splice(facts.stream),
    plainRequestText: () => splice(false),
    losses: [],
    whole({ bytes, text, events }) {
      const said = shown === undefined ? undefined : dialect.naming?.whole(text, shown);
      return { body: said ?? bytes, text: said ?? text, contentType: undefined, events };
    },
    stream: () =>
      jsonArray && dialect.reframe ? reframed(dialect.reframe()) : ({
        contentType: undefined,
        forward(event, { events, usageOnly }) {
          repeated ??= dialect.wholeOf?.(event);
          // Who didn't ask for usage doesn't see the event that holds nothing else.
          const hidden = usageOnly && !facts.wantsStreamUsage;
          const bytes = shown === undefined ? event.bytes : dialect.naming!.event(event, shown);
          return { events, bytes: hidden ? undefined : bytes };
        },
        end: (rest) => ({ events: rest, bytes: undefined }),
        fail: (fault) => new TextEncoder().encode(dialect.errorFrame(fault)),
      }),
    encodeFolded: (answer) =>
      repeated ?? dialect.encodeAnswer(shown === undefined ? answer : { ...answer, model: shown }),
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
